"""SPARQL Query Results XML Format (Second Edition, W3C Recommendation 2013), written row by row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, NamedNode, Term, Triple
from hybridkg.results.formats.sparql_json import ROWS_PER_WRITE
from hybridkg.results.result import Result

NAMESPACE = "http://www.w3.org/2005/sparql-results#"

NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 cannot represent, not even as a reference (section 2.2)."""


@one_pass
def write_xml(result: Result, out: TextIO) -> None:
    """Writes one XML document, a line for each row; a character that XML 1.0 lacks becomes U+FFFD."""
    names = "".join(f"<variable name={quoteattr(name)}/>" for name in result.columns if result.boolean is None)
    out.write(f'<?xml version="1.0"?>\n<sparql xmlns="{NAMESPACE}"><head>{names}</head>')
    if result.boolean is not None:
        out.write(f"<boolean>{str(result.boolean).lower()}</boolean></sparql>\n")
        return
    out.write("<results>\n")
    heads = [f"<binding name={quoteattr(name)}>" for name in result.columns]
    rows = (f"<result>{_bindings(heads, cells)}</result>\n" for cells in result.rows())
    while part := "".join(islice(rows, ROWS_PER_WRITE)):
        out.write(NO_XML.sub("\N{REPLACEMENT CHARACTER}", part))
    out.write("</results></sparql>\n")


def _bindings(heads: Sequence[str], cells: Sequence[Term | None]) -> str:
    return "".join(
        [f"{head}{term_xml(cell)}</binding>" for head, cell in zip(heads, cells, strict=False) if cell is not None]
    )


def term_xml(term: Term) -> str:
    """A term by section 2.3.1 of the format; a carriage return is a reference, so that no reader changes it.

    >>> term_xml(Literal("a < b", language="en"))
    '<literal xml:lang="en">a &lt; b</literal>'
    """
    match term:
        case NamedNode(value=value):
            return f"<uri>{escape(value)}</uri>"
        case BlankNode(value=value):
            return f"<bnode>{escape(value)}</bnode>"
        case Triple(subject=subject, predicate=predicate, object=target):
            parts = zip(("subject", "predicate", "object"), (subject, predicate, target), strict=True)
            return f"<triple>{''.join(f'<{name}>{term_xml(part)}</{name}>' for name, part in parts)}</triple>"
    assert isinstance(term, Literal)
    text, datatype = escape(term.value, {"\r": "&#13;"}), term.datatype
    if datatype == XSD_STRING:
        return f"<literal>{text}</literal>"
    if datatype == RDF_LANG_STRING:
        return f"<literal xml:lang={quoteattr(term.language or '')}>{text}</literal>"
    return f"<literal datatype={quoteattr(datatype.value)}>{text}</literal>"
