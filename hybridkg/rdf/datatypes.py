"""The datatypes of XML Schema, by which a misspelt one is recognised."""

from __future__ import annotations

from typing import Final

_XSD_NAMES = """
string boolean decimal integer float double date time dateTime dateTimeStamp gYear gMonth gDay gYearMonth gMonthDay
duration yearMonthDuration dayTimeDuration byte short int long unsignedByte unsignedShort unsignedInt unsignedLong
positiveInteger nonNegativeInteger negativeInteger nonPositiveInteger hexBinary base64Binary anyURI language
normalizedString token NMTOKEN NMTOKENS Name NCName QName NOTATION ID IDREF IDREFS ENTITY ENTITIES
anyType anySimpleType anyAtomicType
"""
XSD_DATATYPES: Final = tuple(_XSD_NAMES.split())
"""Local names of the types that XML Schema 1.1, Part 2, defines."""
