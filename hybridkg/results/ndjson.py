"""One JSON object on each line: plain values by variable, and the scores under `_scores`."""

from __future__ import annotations

import json
from typing import TextIO

from hybridkg.rdf.terms import BlankNode, Literal, Term
from hybridkg.results.result_set import ResultSet

XSD = "http://www.w3.org/2001/XMLSchema#"
INTEGERS = frozenset(XSD + name for name in ("integer", "int", "long", "short", "nonNegativeInteger"))


def write_ndjson(result: ResultSet, out: TextIO) -> None:
    """A line for each row; an ASK is one line, `{"boolean": true}`."""
    if result.boolean is not None:
        out.write(json.dumps({"boolean": result.boolean}) + "\n")
        return
    for row in result:
        line = {name: _plain(row.term(name)) for name in result.columns}
        if scores := {name: score for name, score in row.scores.items() if score - score == 0}:
            line["_scores"] = scores
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


def _plain(term: Term | None) -> object:
    """Numbers and booleans as JSON's own where they are exact; everything else as text."""
    match term:
        case None:
            return None
        case BlankNode():
            return f"_:{term.value}"
        case Literal(value=text, datatype=datatype):
            name = datatype.value
            if name in INTEGERS and text.lstrip("+-").isdigit():
                return int(text) if len(text) <= 18 else text
            if name in (XSD + "double", XSD + "float", XSD + "decimal"):
                return _number(text)
            if name == XSD + "boolean" and text in ("true", "false"):
                return text == "true"
            return text
    return getattr(term, "value", str(term))


def _number(text: str) -> float | str:
    try:
        value = float(text)
    except ValueError:
        return text
    return value if value - value == 0 else text
