"""SPARQL 1.1 Query Results CSV and TSV Formats (W3C Recommendation 2013).

CSV has plain values (lossy, for spreadsheets); TSV has terms in Turtle syntax. Both have triple terms as
`<<( s p o )>>`, with their parts as in N-Triples. An ASK, which the formats do not define,
is one word.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.term_texts import BLANK_TAG, IRI_TAG, UNBOUND_TAG, TextForm, literal_of
from hybridkg.rdf.terms import XSD_STRING, Triple, term_text
from hybridkg.results.formats.sparql_json import ROWS_PER_WRITE
from hybridkg.results.result import Result


@one_pass
def write_csv(result: Result, out: TextIO) -> None:
    """Writes CSV with a header line and CRLF line ends (RFC 4180)."""
    if result.boolean is not None:
        out.write(f"{str(result.boolean).lower()}\r\n")
        return
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(result.columns)
    writer.writerows(_rows(result, _Plain()))


@one_pass
def write_tsv(result: Result, out: TextIO) -> None:
    """Writes TSV with a header line of `?variable` names."""
    if result.boolean is not None:
        out.write(f"{str(result.boolean).lower()}\n")
        return
    out.write("\t".join(f"?{name}" for name in result.columns) + "\n")
    _write_lines(out, ("\t".join(row) + "\n" for row in _rows(result, _Turtle())))


def _rows(result: Result, form: TextForm[str]) -> Iterator[Sequence[str]]:
    forms = [form] * len(result.columns)
    for block in result.blocks():
        rows = block.mapped_rows(forms)
        del block  # before the next one is made
        yield from rows
        del rows


def _write_lines(out: TextIO, lines: Iterator[str]) -> None:
    while part := "".join(islice(lines, ROWS_PER_WRITE)):
        out.write(part)


class _Plain(TextForm[str]):
    """Plain values of CSV."""

    def of_tag(self, tag: str) -> Callable[[str], str]:
        return (lambda label: f"_:{label}") if tag == BLANK_TAG else str

    def of_triple(self, triple: Triple) -> str:
        return term_text(triple)


class _Turtle(TextForm[str]):
    """Terms in Turtle syntax, tabs as escapes."""

    def of_tag(self, tag: str) -> Callable[[str], str]:
        if tag == UNBOUND_TAG:
            return str
        if tag == IRI_TAG:
            return lambda text: f"<{text}>"
        if tag == BLANK_TAG:
            return lambda text: f"_:{text}"
        end = '"' if tag == XSD_STRING.value else f'"{tag}' if tag.startswith("@") else f'"^^<{tag}>'

        def quoted(text: str) -> str:
            if text.isprintable() and '"' not in text and "\\" not in text:
                return f'"{text}{end}'
            return str(literal_of(tag, text)).replace("\t", "\\t")

        return quoted

    def of_triple(self, triple: Triple) -> str:
        return term_text(triple).replace("\t", "\\t")
