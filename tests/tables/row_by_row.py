"""The triples of a table by a map, restated one row and one cell at a time, with terms in place of text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pyoxigraph import Literal, NamedNode, Quad

from hybridkg.interfaces.table_reader import ValueKind
from hybridkg.tables.mapping import ROW_NUMBER, TableMap, TermMap

UNRESERVED_BEYOND_ASCII = "éßαЖ中あ"
"""The characters of the tests that may stand in an IRI as they are."""


def triples(columns: Sequence[str], rows: Sequence[Sequence[Any]], table_map: TableMap) -> list[Quad]:
    """The triples of all rows, in no special order; a cell is a text or a list of texts."""
    found: list[Quad] = []
    for number, cells in enumerate(rows, 1):
        row = dict(zip(columns, cells, strict=True)) | {ROW_NUMBER: str(number)}
        (subject,) = values(table_map.subject, row)
        for one in table_map.properties:
            for text in values(one.target, row):
                value = term(one.target, text)
                found += [Quad(NamedNode(subject), NamedNode(predicate), value) for predicate in one.predicates]
    return found


def values(term_map: TermMap, row: dict[str, Any]) -> list[str]:
    """The texts of a term map in a row."""
    texts = [""]
    for i, part in enumerate(term_map.template):
        if i % 2 == 0:
            texts = [text + part for text in texts]
            continue
        cell = row[part]
        parts = cell if isinstance(cell, list) else cell.split(term_map.separator) if term_map.separator else [cell]
        kept = [one for one in parts if one.strip()]
        if term_map.kind is ValueKind.IRI and not term_map.is_reference:
            kept = ["".join(c if c in UNRESERVED_BEYOND_ASCII else quote(c, safe="") for c in one) for one in kept]
        texts = [text + one for text in texts for one in kept]
    return texts


def term(term_map: TermMap, text: str) -> NamedNode | Literal:
    """The term of a text."""
    if term_map.kind is ValueKind.IRI:
        return NamedNode(text)
    if term_map.kind is ValueKind.BOOLEAN:
        text = text.lower()
    if term_map.kind is ValueKind.DATETIME:
        text = text.replace(" ", "T")
    if term_map.kind is ValueKind.JSON:
        json.loads(text)
    if term_map.language:
        return Literal(text, language=term_map.language)
    return Literal(text, datatype=NamedNode(term_map.datatype)) if term_map.datatype else Literal(text)
