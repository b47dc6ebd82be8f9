"""Well-known namespace prefixes, used in hints and to abbreviate IRIs."""

from __future__ import annotations

import re
from collections.abc import Mapping

WELL_KNOWN = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbp": "http://dbpedia.org/property/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dcterms": "http://purl.org/dc/terms/",
    "fn": "http://www.w3.org/2005/xpath-functions#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.opengis.net/ont/geosparql#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "prov": "http://www.w3.org/ns/prov#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "sh": "http://www.w3.org/ns/shacl#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "void": "http://rdfs.org/ns/void#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

_LOCAL_NAME = re.compile(
    r"(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:(?:[\w.-]|%[0-9A-Fa-f]{2})*(?:[\w-]|%[0-9A-Fa-f]{2}))?", re.ASCII
)
"""Local names that need no escape in SPARQL and in Turtle; names with other letters are shown in full."""


def prefix_lines(prefixes: Mapping[str, str]) -> list[str]:
    """A declaration of each prefix, to be copied into a query."""
    return [f"PREFIX {name}: <{iri}>" for name, iri in prefixes.items()]


def shortened(iri: str, prefixes: Mapping[str, str] = WELL_KNOWN) -> str:
    """The IRI as in a query: with the prefix of its longest namespace, of equal ones the first; else in angle brackets.

    >>> shortened("http://www.w3.org/2000/01/rdf-schema#label"), shortened("urn:x")
    ('rdfs:label', '<urn:x>')
    """
    return abbreviation(iri, prefixes) or f"<{iri}>"


def iri_of_prefixed(text: str, prefixes: Mapping[str, str]) -> str:
    """The IRI that a text names with one of the prefixes; empty for any other text.

    >>> iri_of_prefixed("e:a", {"e": "http://e/"}), iri_of_prefixed("e: a", {"e": "http://e/"})
    ('http://e/a', '')
    """
    prefix, colon, local = text.partition(":")
    is_name = bool(colon) and prefix in prefixes and _LOCAL_NAME.fullmatch(local) is not None
    return prefixes[prefix] + local if is_name else ""


def abbreviation(iri: str, prefixes: Mapping[str, str]) -> str:
    """The prefixed name of an IRI; empty where no prefix fits.

    >>> abbreviation("http://e/films/9", {"e": "http://e/", "f": "http://e/films/"}), abbreviation("urn:x", {})
    ('f:9', '')
    """
    best = ""
    length = 0
    for name, namespace in prefixes.items():
        if len(namespace) > length and iri.startswith(namespace) and _LOCAL_NAME.fullmatch(iri, len(namespace)):
            best, length = name, len(namespace)
    return f"{best}:{iri[length:]}" if length else ""
