"""LIMIT from the rows of the first values: with ORDER BY the order of Oxigraph, without it as many of its rows."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyoxigraph as ox
import pytest
from generated_fragments import XSD, E
from sampling import examples
from test_columns_equal_oxigraph import outcome

from hybridkg import KnowledgeBase
from hybridkg.operators import first_values, order_rows
from hybridkg.operators.project import Slice

pytestmark = pytest.mark.quick

VALUES = [
    *(ox.Literal(number) for number in range(7)),
    ox.Literal("1.0", datatype=ox.NamedNode(f"{XSD}decimal")),
    ox.Literal("3.0", datatype=ox.NamedNode(f"{XSD}double")),
]
TEXTS = [*map(ox.Literal, "abc"), ox.NamedNode(f"{E}a"), ox.BlankNode("x")]
PATTERNS = (
    "?s :v ?v",
    "?s :v ?v ; :t ?t",
    "?s :v ?v . ?o :t ?t ; :v ?v",
    "?s :v ?v FILTER(?v > 2)",
    "?s :v ?v OPTIONAL { ?s :t ?t }",
    "?s :t ?t OPTIONAL { ?s :v ?v }",
    "{ ?s :v ?v } UNION { ?s :t ?v }",
)
KEYS = ("?v", "DESC(?v)", "?v DESC(?s)", "DESC(?v) ?s", "?t ?v", "DESC(?s)")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("keys", KEYS)
def test_the_first_rows_are_those_of_oxigraph(pattern, keys, monkeypatch):
    draw, ways = Random(f"{pattern} {keys}"), Counter[bool]()
    monkeypatch.setattr(first_values, "MIN_ROWS", 0)
    monkeypatch.setattr(first_values, "GROWTH", 2)
    rows_of = first_values.rows_of_first_values

    def counted(*arguments, ties):
        found = rows_of(*arguments, ties=ties)
        ways[found is not None] += 1
        return found

    monkeypatch.setattr(order_rows, "rows_of_first_values", counted)
    for _ in range(examples(8, 200)):
        graph = [
            ox.Triple(ox.NamedNode(f"{E}s{draw.randrange(12)}"), ox.NamedNode(f"{E}{name}"), draw.choice(values))
            for name, values in (("v", VALUES), ("t", TEXTS))
            for _ in range(draw.choice((5, 60)))
        ]
        limits = f"LIMIT {draw.choice((1, 2, 3, 9))} {draw.choice(('', 'OFFSET 2'))}"
        assert outcome(graph, f"SELECT * {{ {pattern} }} ORDER BY {keys} {limits}") in ("answered", "declined")
    if "OPTIONAL" not in pattern and "UNION" not in pattern and "?t" not in keys:
        assert ways[True]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("columns", ["*", "?v", "DISTINCT ?v", "DISTINCT ?s ?v", "DISTINCT ?t"])
def test_a_limit_without_order_has_as_many_rows_as_oxigraph_and_no_others(pattern, columns, monkeypatch):
    draw, early = Random(f"{pattern} {columns}"), []
    monkeypatch.setattr(first_values, "MIN_ROWS", 0)
    monkeypatch.setattr(first_values, "GROWTH", 2)
    rows_of = Slice._of_some_rows
    monkeypatch.setattr(Slice, "_of_some_rows", lambda *given: early.append(rows_of(*given)) or early[-1])
    for _ in range(examples(8, 100)):
        graph = [
            ox.Triple(ox.NamedNode(f"{E}s{draw.randrange(12)}"), ox.NamedNode(f"{E}{name}"), draw.choice(values))
            for name, values in (("v", VALUES), ("t", TEXTS))
            for _ in range(draw.choice((5, 60)))
        ]
        limits = f"LIMIT {draw.choice((1, 2, 3, 9, 40))} {draw.choice(('', 'OFFSET 2'))}"
        assert outcome(graph, f"SELECT {columns} {{ {pattern} }} {limits}") == "answered"
    if columns in ("*", "DISTINCT ?s ?v"):
        assert any(found is not None for found in early)


@pytest.mark.parametrize(
    "pattern",
    ["?s :v ?v", "?s :v ?v ; :w ?w", "?s a :C ; :v ?v", "?w :v ?v . ?s :w ?w", "?s :w/:v ?v", "?s :w ?w ; :v ?v"],
)
@pytest.mark.parametrize("size", [1, 7])
def test_pages_of_tied_rows_fit_together(pattern, size, monkeypatch, tmp_path):
    draw = Random(f"{pattern} {size}")
    monkeypatch.setattr(first_values, "MIN_ROWS", 0)
    monkeypatch.setattr(first_values, "GROWTH", 2)
    lines = [f"<{E}s{draw.randrange(40)}> a <{E}C> ; <{E}v> {draw.randrange(5)} ." for _ in range(50)]
    lines += [f"<{E}s{i}> <{E}w> <{E}s{draw.randrange(40)}> , <{E}s{draw.randrange(40)}> ." for i in range(40)]
    (tmp_path / "a.ttl").write_text("\n".join(lines))
    query = f"PREFIX : <{E}> SELECT * {{ {pattern} }} ORDER BY DESC(?v)"
    with KnowledgeBase.create(tmp_path / "a.kb") as kb:
        kb.load(tmp_path / "a.ttl", index=True)
        whole = [tuple(map(str, row)) for row in kb.query(query).rows()]
        pages = []
        for start in range(0, len(whole), size):
            pages += [tuple(map(str, row)) for row in kb.query(f"{query} LIMIT {size} OFFSET {start}").rows()]
    assert sorted(pages) == sorted(whole)
