"""SPARQL Query Results XML Format (Second Edition, W3C Recommendation 2013, and the draft of 1.2 for triple terms and
base directions), written row by row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.term_texts import BLANK_TAG, IRI_TAG, UNBOUND_TAG, TextForm, language_of
from hybridkg.rdf.terms import XSD_STRING, Triple
from hybridkg.results.formats.sparql_json import ROWS_PER_WRITE
from hybridkg.results.result import Result

NAMESPACE = "http://www.w3.org/2005/sparql-results#"

ITS = ' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0"'
"""What declares the attribute of a base direction; few results have one."""

NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 cannot represent, not even as a reference (section 2.2)."""

SPECIAL = re.compile("[\x00-\x08\x0b-\x1f&<>\ud800-\udfff\ufffe\uffff]")
"""Characters that are not written as they are."""


@one_pass
def write_xml(result: Result, out: TextIO) -> None:
    """Writes one XML document, a line for each row; a character that XML 1.0 lacks becomes U+FFFD."""
    names = "".join(f"<variable name={quoteattr(name)}/>" for name in result.columns if result.boolean is None)
    out.write(f'<?xml version="1.0"?>\n<sparql xmlns="{NAMESPACE}"><head>{names}</head>')
    if result.boolean is not None:
        out.write(f"<boolean>{str(result.boolean).lower()}</boolean></sparql>\n")
        return
    out.write("<results>\n")
    rows = _rows(result)
    while part := "".join(islice(rows, ROWS_PER_WRITE)):
        out.write(part)
    out.write("</results></sparql>\n")


def _rows(result: Result) -> Iterator[str]:
    forms = [TermXml(f"<binding name={quoteattr(name)}>", "</binding>") for name in result.columns]
    for block in result.blocks():
        rows = block.mapped_rows(forms)
        del block  # before the next one is made
        for row in rows:
            yield f"<result>{''.join(row)}</result>\n"
        del rows


class TermXml(TextForm[str]):
    """Terms by section 2.3.1 of the format, each between two texts; empty for unbound.

    A carriage return is a reference, so that no reader changes it.

    >>> TermXml().of_tag("@en")("a < b")
    '<literal xml:lang="en">a &lt; b</literal>'
    """

    def __init__(self, before: str = "", after: str = ""):
        super().__init__()
        self._before, self._after = before, after

    def of_tag(self, tag: str) -> Callable[[str], str]:
        """As TextForm has it."""
        if tag == UNBOUND_TAG:
            return lambda text: ""
        name, about, end = "literal", "", "</literal>"
        if tag == IRI_TAG:
            name, end = "uri", "</uri>"
        elif tag == BLANK_TAG:
            name, end = "bnode", "</bnode>"
        elif tag.startswith("@"):
            language, direction = language_of(tag)
            about = f" xml:lang={quoteattr(language)}" + (f" its:dir={quoteattr(direction)}{ITS}" if direction else "")
        elif tag != XSD_STRING.value:
            about = f" datatype={quoteattr(tag)}"
        start, end = _representable(f"{self._before}<{name}{about}>"), end + self._after
        return lambda text: f"{start}{_escaped(text)}{end}"

    def of_triple(self, triple: Triple) -> str:
        """As TextForm has it."""
        part = TermXml()
        parts = zip(("subject", "predicate", "object"), (triple.subject, triple.predicate, triple.object), strict=True)
        whole = "".join(f"<{name}>{part(one)}</{name}>" for name, one in parts)
        return f"{self._before}<triple>{whole}</triple>{self._after}"


def _escaped(text: str) -> str:
    if SPECIAL.search(text) is None:
        return text
    return _representable(escape(text, {"\r": "&#13;"}))


def _representable(text: str) -> str:
    return NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
