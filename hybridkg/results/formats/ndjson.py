"""The NDJSON form of a result: an object a row, with plain values by variable and the scores under `_scores`.

A literal is a JSON number only where this loses nothing: an integer of at most 18 digits, a decimal that a double
prints digit for digit, a finite double or float. Every other literal is its text. If a column is named `_scores`, the
scores are under `__scores`.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TextIO

from hybridkg.interfaces.output_format import one_pass
from hybridkg.rdf.terms import XSD_BOOLEAN, BlankNode, Literal, Term
from hybridkg.results.numbers import DECIMAL, INTEGERS, is_number
from hybridkg.results.result import Result
from hybridkg.terminal_text import printable_json

MAX_DIGITS = 18
"""Characters of an integer that is written as a number, so that it fits in 64 bits."""


@one_pass
def write_ndjson(result: Result, out: TextIO) -> None:
    """Writes a line for each row; an ASK is one line, `{"boolean": true}`."""
    if result.boolean is not None:
        out.write(json.dumps({"boolean": result.boolean}) + "\n")
        return
    scores_name = "_scores"
    while scores_name in result.columns:
        scores_name = "_" + scores_name
    for row in result:
        line = {name: _plain(row.term(name)) for name in result.columns}
        if scores := {name: score for name, score in row.scores.items() if score - score == 0}:
            line[scores_name] = scores
        out.write(printable_json(json.dumps(line, ensure_ascii=False)) + "\n")


def _plain(term: Term | None) -> object:
    match term:
        case None:
            return None
        case BlankNode():
            return f"_:{term.value}"
        case Literal(value=text, datatype=datatype):
            if datatype == XSD_BOOLEAN and text in ("true", "false"):
                return text == "true"
            return _number(text, datatype.value) if is_number(term) else text
    return getattr(term, "value", str(term))


def _number(text: str, datatype: str) -> int | float | str:
    if datatype in INTEGERS:
        return int(text) if len(text) <= MAX_DIGITS else text
    value = float(text)
    if value - value != 0:
        return text  # JSON has no infinity and no NaN
    return text if datatype == DECIMAL and Decimal(repr(value)) != Decimal(text) else value
