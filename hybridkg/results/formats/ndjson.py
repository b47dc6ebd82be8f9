"""The NDJSON form of a result: an object a row, with plain values by variable and the scores under `_scores`.

A literal is a JSON number only where this loses nothing: an integer of at most 18 digits, a decimal that a double
prints digit for digit, a finite double or float. Every other literal is its text. If a column is named `_scores`, the
scores are under `__scores`. A triple term is its text in N-Triples.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from typing import TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.order import NUMERIC
from hybridkg.rdf.term_texts import BLANK_TAG, UNBOUND_TAG, TextForm
from hybridkg.rdf.terms import XSD_BOOLEAN, Triple, term_text
from hybridkg.results.formats.sparql_json import ROWS_PER_WRITE, json_text
from hybridkg.results.numbers import DECIMAL, INTEGERS, is_number_text
from hybridkg.results.result import Result

MAX_DIGITS = 18
"""Characters of an integer that is written as a number, so that it fits in 64 bits."""


@one_pass
def write_ndjson(result: Result, out: TextIO) -> None:
    """Writes a line for each row; an ASK is one line, `{"boolean": true}`."""
    if result.boolean is not None:
        out.write(json.dumps({"boolean": result.boolean}) + "\n")
        return
    lines = _lines(result)
    while part := "".join(islice(lines, ROWS_PER_WRITE)):
        out.write(part)


def _lines(result: Result) -> Iterator[str]:
    scores_name = "_scores"
    while scores_name in result.columns:
        scores_name = "_" + scores_name
    forms = [_Plain(f"{json_text(name)}: ") for name in result.columns]
    for block in result.blocks():
        rows, scores = block.mapped_rows(forms), result.scores_in(block)
        del block  # before the next one is made
        for row, own in zip(rows, scores, strict=True):
            finite = {name: score for name, score in own.items() if score - score == 0}
            line = ", ".join((*row, f'"{scores_name}": {_scores(finite)}') if finite else row)
            yield f"{{{line}}}\n"
        del rows, scores


def _scores(scores: dict[str, float]) -> str:
    return f"{{{', '.join(f'{json_text(name)}: {score!r}' for name, score in scores.items())}}}"


class _Plain(TextForm[str]):
    """Plain JSON values, each after a text."""

    def __init__(self, before: str):
        super().__init__()
        self._before = before

    def of_tag(self, tag: str) -> Callable[[str], str]:
        before = self._before
        if tag == UNBOUND_TAG:
            return lambda text: f"{before}null"
        if tag == BLANK_TAG:
            return lambda text: before + json_text(f"_:{text}")
        if tag == XSD_BOOLEAN.value:
            return lambda text: before + (text if text in ("true", "false") else json_text(text))
        if tag in NUMERIC:
            return lambda text: before + _number(text, tag)
        return lambda text: before + json_text(text)

    def of_triple(self, triple: Triple) -> str:
        return self._before + json_text(term_text(triple))


def _number(text: str, datatype: str) -> str:
    if not is_number_text(text, datatype):
        return json_text(text)
    if datatype in INTEGERS:
        return str(int(text)) if len(text) <= MAX_DIGITS else json_text(text)
    value = float(text)
    if value - value != 0:
        return json_text(text)  # JSON has no infinity and no NaN
    return json_text(text) if datatype == DECIMAL and Decimal(repr(value)) != Decimal(text) else repr(value)
