"""SPARQL Query Results JSON Format (W3C Recommendation 2013, and the draft of 1.2 for triple terms and base
directions), with an additional member `x-hybridkg`.

The member has the properties of the result as a whole and the scores of each row; readers of the standard format ignore
it. It is in front of the rows, because Oxigraph's reader, for one, fails at any member after them. What is known only
after the last row of a ResultStream, `returned` and `shortfall`, is null there. The document is compact, a line for
each row, and is written row by row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.term_texts import BLANK_TAG, IRI_TAG, UNBOUND_TAG, TextForm, language_of
from hybridkg.rdf.terms import XSD_STRING, Triple
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
    _write_lines(out, _bindings(result))
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
        for block in result.blocks():
            for scores in result.scores_in(block):
                yield _json({name: score if score - score == 0 else None for name, score in scores.items()})


def _write_lines(out: TextIO, lines: Iterator[str]) -> None:
    """Writes the items of a list, a line for each."""
    start = "\n"
    while part := ",\n".join(islice(lines, ROWS_PER_WRITE)):
        out.write(start + part)
        start = ",\n"


def _bindings(result: Result) -> Iterator[str]:
    """The bound variables of each row."""
    forms = [TermJson(f"{json_text(name)}:") for name in result.columns]
    for block in result.blocks():
        rows = block.mapped_rows(forms)
        del block  # before the next one is made
        for row in rows:
            yield f"{{{','.join(filter(None, row))}}}"
        del rows


class TermJson(TextForm[str]):
    """Terms by section 3.2.2 of the format, each after a text; empty for unbound.

    >>> TermJson().of_tag("@fr")("chat")
    '{"type":"literal","value":"chat","xml:lang":"fr"}'
    """

    def __init__(self, before: str = ""):
        super().__init__()
        self._before = before

    def of_tag(self, tag: str) -> Callable[[str], str]:
        """As TextForm has it."""
        if tag == UNBOUND_TAG:
            return lambda text: ""
        if tag == IRI_TAG:
            kind, end = "uri", "}"
        elif tag == BLANK_TAG:
            kind, end = "bnode", "}"
        elif tag.startswith("@"):
            language, direction = language_of(tag)
            turned = f',"its:dir":{json_text(direction)}' if direction else ""
            kind, end = "literal", f',"xml:lang":{json_text(language)}{turned}}}'
        else:
            kind, end = "literal", "}" if tag == XSD_STRING.value else f',"datatype":{json_text(tag)}}}'
        start = f'{self._before}{{"type":"{kind}","value":'
        return lambda text: f"{start}{json_text(text)}{end}"

    def of_triple(self, triple: Triple) -> str:
        """As TextForm has it."""
        part = TermJson()
        parts = zip(("subject", "predicate", "object"), (triple.subject, triple.predicate, triple.object), strict=True)
        whole = ",".join(f'"{name}":{part(one)}' for name, one in parts)
        return f'{self._before}{{"type":"triple","value":{{{whole}}}}}'


def json_text(text: str) -> str:
    """A text as a JSON string, each of terminal_text.COMMANDS, which are not printable for Python, as an escape."""
    quoted = encode_basestring(text)
    return quoted if text.isprintable() else printable_json(quoted)


def _json(value: Any) -> str:
    return printable_json(json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
