"""SPARQL 1.1 Query Results JSON Format (W3C Recommendation 2013), with an additional member `x-hybridkg`.

The member has the properties of the result as a whole and the scores of each row; readers of the standard format ignore
it. It is in front of the rows, because Oxigraph's reader, for one, fails at any member after them. What is known only
after the last row of a ResultStream, `returned` and `shortfall`, is null there. The document is compact, a line for
each row, and is written row by row.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, NamedNode, Term, Triple
from hybridkg.results.result import Result
from hybridkg.terminal_text import printable_json

ROWS_PER_WRITE = 1_000
"""Rows that are written at once; the memory of the writer does not grow with the result."""


@one_pass
def write_json(result: Result, out: TextIO) -> None:
    """Writes one JSON document, ending in a newline."""
    head = {} if result.boolean is not None else {"vars": list(result.columns)}
    out.write(f'{{"head":{_json(head)},\n"x-hybridkg":{_about(result)[:-1]},"scores":[')
    _write_lines(out, _scores(result))
    out.write("]},\n")
    if result.boolean is not None:
        out.write(f'"boolean":{_json(result.boolean)}}}\n')
        return
    out.write('"results":{"bindings":[')
    names = [f"{_quoted(name)}:" for name in result.columns]
    _write_lines(out, (_binding(names, cells) for cells in result.rows()))
    out.write("]}}\n")


def _about(result: Result) -> str:
    return _json(
        {
            "requested": result.requested,
            "returned": result.returned,
            "shortfall": result.shortfall,
            "exact": result.exact,
            "generation": result.generation,
            "strategy": result.strategy,
            "stale_indexes": list(result.stale_indexes),
            "limits_reached": list(result.limits_reached),
            "reranked": list(result.reranked),
            "warnings": [{"code": w.code, "message": w.message, "hint": w.hint} for w in result.warnings],
        }
    )


def _scores(result: Result) -> Iterator[str]:
    """The scores of each row; a score that is NaN or infinite has no JSON form and is written as null."""
    if result.score_names:
        for row in result:
            yield _json({name: score if score - score == 0 else None for name, score in row.scores.items()})


def _write_lines(out: TextIO, lines: Iterator[str]) -> None:
    """Writes the items of a list, a line for each."""
    start = "\n"
    while part := ",\n".join(islice(lines, ROWS_PER_WRITE)):
        out.write(start + printable_json(part))
        start = ",\n"


def _binding(names: Sequence[str], cells: Sequence[Term | None]) -> str:
    """The bound variables of a row; `names` are quoted, with a colon."""
    return (
        "{"
        + ",".join([name + term_json(cell) for name, cell in zip(names, cells, strict=False) if cell is not None])
        + "}"
    )


def term_json(term: Term) -> str:
    """A term by section 3.2.2 of the format.

    >>> term_json(Literal("chat", language="fr"))
    '{"type":"literal","value":"chat","xml:lang":"fr"}'
    """
    if isinstance(term, NamedNode):
        return f'{{"type":"uri","value":{_quoted(term.value)}}}'
    if isinstance(term, BlankNode):
        return f'{{"type":"bnode","value":{_quoted(term.value)}}}'
    if isinstance(term, Triple):
        parts = zip(("subject", "predicate", "object"), (term.subject, term.predicate, term.object), strict=True)
        return f'{{"type":"triple","value":{{{",".join(f"{_quoted(name)}:{term_json(one)}" for name, one in parts)}}}}}'
    assert isinstance(term, Literal)
    value = f'{{"type":"literal","value":{_quoted(term.value)}'
    datatype = term.datatype
    if datatype == XSD_STRING:
        return value + "}"
    if datatype == RDF_LANG_STRING:
        return f'{value},"xml:lang":{_quoted(term.language or "")}}}'
    return f'{value},"datatype":{_quoted(datatype.value)}}}'


_quoted = encode_basestring


def _json(value: Any) -> str:
    return printable_json(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
