"""SPARQL 1.1 Query Results JSON Format (W3C Recommendation 2013), with an additional member `x-hybridkg`.

It has the properties of the result as a whole and the scores of each row; readers of the standard format ignore it.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, NamedNode, Term, Triple
from hybridkg.results.result_set import ResultSet
from hybridkg.terminal_text import printable_json


def write_json(result: ResultSet, out: TextIO) -> None:
    """Writes one JSON document, ending in a newline."""
    answer: dict[str, Any] = (
        {"boolean": result.boolean}
        if result.boolean is not None
        else {"results": {"bindings": [binding(result, cells) for cells in result.cells]}}
    )
    about = {
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
        "scores": [row.scores for row in result],
    }
    # `x-hybridkg` precedes the bindings: Oxigraph's reader, for one, fails at any member after them.
    head = {} if result.boolean is not None else {"vars": list(result.columns)}
    document = {"head": head, "x-hybridkg": about, **answer}
    # A score that is NaN or infinite has no JSON form and is written as null.
    for piece in json.JSONEncoder(ensure_ascii=False, indent=2, allow_nan=False).iterencode(_finite(document)):
        out.write(printable_json(piece))
    out.write("\n")


def binding(result: ResultSet, cells: tuple[Term | None, ...]) -> dict[str, Any]:
    """The bound variables of a row."""
    return {name: term_json(cell) for name, cell in zip(result.columns, cells, strict=False) if cell is not None}


def term_json(term: Term) -> dict[str, Any]:
    """A term by section 3.2.2 of the format.

    >>> term_json(Literal("chat", language="fr"))
    {'type': 'literal', 'value': 'chat', 'xml:lang': 'fr'}
    """
    match term:
        case NamedNode():
            return {"type": "uri", "value": term.value}
        case BlankNode():
            return {"type": "bnode", "value": term.value}
        case Literal():
            value = {"type": "literal", "value": term.value}
            if term.language:
                value["xml:lang"] = term.language
            elif term.datatype not in (XSD_STRING, RDF_LANG_STRING):
                value["datatype"] = term.datatype.value
            return value
        case Triple():
            parts = {"subject": term.subject, "predicate": term.predicate, "object": term.object}
            return {"type": "triple", "value": {name: term_json(part) for name, part in parts.items()}}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return value
