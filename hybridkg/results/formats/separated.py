"""SPARQL 1.1 Query Results CSV and TSV Formats (W3C Recommendation 2013).

CSV has plain values (lossy, for spreadsheets); TSV has terms in Turtle syntax. An ASK, which the formats do not define,
is one word.
"""

from __future__ import annotations

import csv
from typing import TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term
from hybridkg.results.result import Result


@one_pass
def write_csv(result: Result, out: TextIO) -> None:
    """Writes CSV with a header line and CRLF line ends (RFC 4180)."""
    writer = csv.writer(out, lineterminator="\r\n")
    if result.boolean is not None:
        writer.writerow([str(result.boolean).lower()])
        return
    writer.writerow(result.columns)
    for cells in result.rows():
        writer.writerow([_plain(cell) for cell in cells[: len(result.columns)]])


@one_pass
def write_tsv(result: Result, out: TextIO) -> None:
    """Writes TSV with a header line of `?variable` names."""
    if result.boolean is not None:
        out.write(f"{str(result.boolean).lower()}\n")
        return
    out.write("\t".join(f"?{name}" for name in result.columns) + "\n")
    for cells in result.rows():
        out.write("\t".join(_turtle(cell) for cell in cells[: len(result.columns)]) + "\n")


def _plain(term: Term | None) -> str:
    match term:
        case None:
            return ""
        case NamedNode() | Literal():
            return term.value
        case BlankNode():
            return f"_:{term.value}"
    return str(term)


def _turtle(term: Term | None) -> str:
    return "" if term is None else str(term).replace("\t", "\\t")
