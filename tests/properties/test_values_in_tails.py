"""Order, comparison and statistics of literals that commits have added are those of a build from scratch."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from re import Match
from re import compile as regex
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rebuilt import PROLOGUE, answer, assert_equals_rebuilt
from resealed import reseal
from sampling import examples
from tails import WITH_TAILS, tails

from hybridkg import KnowledgeBase
from hybridkg.graph.stored_projection import TAIL_SEGMENTS, about

NODES = 40
VALUES = {
    ":year": ("{n}", "{n}.5", "{n}.0", "'{n}'^^xsd:float", "'{n}e0'^^xsd:double", "'{n}' ", "'00{n}'^^xsd:integer"),
    ":when": ("'20{n:02}-01-01'^^xsd:date", "'2001-01-{d:02}'^^xsd:date", "'2001-01-{d:02}Z'^^xsd:date"),
    ":name": ("'red {n}'", "'red {n}'@en", "'fish {n}'@de", "'{n} häuser'", "''", "'Red {n}'"),
}
"""Predicates, and how their values are written."""

FILTERS = (
    "?v > 7",
    "?v <= 7.0",
    "?v = 7",
    "?v != 7",
    "?v < '2001-01-07'^^xsd:date",
    "?v >= 'red 3'",
    "?v = 'fish 3'@de",
)
TESTS = ("CONTAINS(?v, 'ed')", "STRSTARTS(?v, 'red')", "STRENDS(?v, '3')", "UCASE(?v) < 'RED 5'", "LANG(?v) = 'en'")
POOL = (
    *(f"SELECT ?x ?v {{ ?x {p} ?v }} ORDER BY {d}(?v) ?x" for p in VALUES for d in ("", "DESC")),
    *(f"SELECT ?x ?v {{ ?x {p} ?v FILTER({test}) }} ORDER BY ?x ?v" for p in VALUES for test in (*FILTERS, *TESTS)),
    *(f"SELECT (MIN(?v) AS ?a) (MAX(?v) AS ?b) (COUNT(DISTINCT ?v) AS ?n) {{ ?x {p} ?v }}" for p in VALUES),
    *(f"SELECT ?v (COUNT(*) AS ?n) {{ ?x {p} ?v }} GROUP BY ?v ORDER BY DESC(?n) ?v" for p in VALUES),
    "SELECT ?x ?y { ?x :year ?v . ?y :year ?v FILTER(?x != ?y) } ORDER BY ?x ?y",
    "SELECT ?x ?v { ?x :year ?v . FILTER(?v > 3 && ?v < 20) } ORDER BY ?v ?x LIMIT 5",
    "SELECT ?x ?v { ?x :name ?v OPTIONAL { ?x :year ?y FILTER(?y > 5) } } ORDER BY ?y ?v ?x",
    "SELECT ?p ?v { ?x ?p ?v } ORDER BY ?p ?v",
    'SELECT ?x ?s ?v { ?x MATCH "red fish" AS ?s . ?x :year ?v FILTER(?v > 5) } RANK BY ?s',
    "SELECT ?x { ?x :year 7 } ORDER BY ?x",
    "SELECT ?x { ?x :name 'red 7'@en } ORDER BY ?x",
    "ASK { ?x :year 7.0 }",
)


def made(folder: Path, random: Random) -> KnowledgeBase:
    kb = KnowledgeBase.create(folder / "kb")
    lines = [
        f"<http://e/n{i}> a :Thing ; :next <http://e/n{(i + 1) % NODES}> ; :name 'thing {i}' ." for i in range(NODES)
    ]
    lines += [f"<http://e/n0> {p} {value.format(n=1, d=1)} ." for p, values in VALUES.items() for value in values]
    lines += [statement(random) + " ." for _ in range(60)]
    data = folder / "data.ttl"
    data.write_text(PROLOGUE.replace("PREFIX", "\nPREFIX") + "\n".join(lines))
    kb.load(data, index=True)
    return kb


def statement(random: Random) -> str:
    predicate = random.choice([*VALUES])
    value = random.choice(VALUES[predicate]).format(n=random.randrange(30), d=random.randrange(1, 28))
    return f"<http://e/n{random.randrange(NODES)}> {predicate} {value}"


def update(random: Random) -> str:
    """A request that adds and removes values, and no nodes."""
    if random.random() < 0.6:
        return f"INSERT DATA {{ {' . '.join(statement(random) for _ in range(random.randrange(1, 9)))} }}"
    predicate = random.choice([*VALUES])
    node = f"<http://e/n{random.randrange(NODES)}>"
    if random.random() < 0.5:
        return f"DELETE {{ {node} {predicate} ?v }} INSERT {{ {statement(random)} }} WHERE {{ {node} {predicate} ?v }}"
    return f"DELETE WHERE {{ {node} {predicate} ?v }}"


def counted(result: Any) -> Any:
    """The rows without their order."""
    return result if isinstance(result, bool) else Counter(result[1])


def in_order(result: Any) -> Any:
    """The rows in their order, where literals of equal values are equal: nothing says which of them comes first."""
    if isinstance(result, bool):
        return result
    return [[VALUE.sub(_value, cell) if isinstance(cell, str) else cell for cell in row] for row in result[1]]


VALUE = regex(r'"(?P<text>[^"]*)"\^\^<http://www.w3.org/2001/XMLSchema#(?P<kind>\w+)>')


def _value(match: Match[str]) -> str:
    return match["text"].rstrip("Z") if match["kind"] == "date" else str(float(match["text"]))


@settings(max_examples=examples(3, 150), deadline=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_values_of_tails_are_ordered_and_compared_as_all_others(tmp_path_factory: pytest.TempPathFactory, seed: int):
    folder, random = tmp_path_factory.mktemp("tails"), Random(seed)
    with tails(), made(folder, random) as kb:
        changed = 0
        for _ in range(random.randrange(1, 6)):
            done = kb.update(PROLOGUE + update(random))
            changed += done.added + done.removed
        assert (TAIL_SEGMENTS in about(kb._snapshot.generation.path / "projection")) == (changed > 0)
        assert_equals_rebuilt(kb, folder / "fresh", leave_out=WITH_TAILS, pool=())
        with KnowledgeBase.open(folder / "fresh") as fresh:
            for query in POOL:
                found, wanted = answer(kb, query), answer(fresh, query)
                if "LIMIT" not in query:
                    assert counted(found) == counted(wanted), query
                assert in_order(found) == in_order(wanted), query
        kb.verify()


def test_a_full_check_compares_tails_with_what_is_built_again(tmp_path: Path) -> None:
    random = Random(7)
    with tails(), made(tmp_path, random) as kb:
        for _ in range(4):
            kb.update(PROLOGUE + update(random))
        folder = kb._snapshot.generation.path / "projection"
        assert TAIL_SEGMENTS in about(folder)
        assert kb.check(full=True).ok
        file, data = folder / "keys.tail", (folder / "keys.tail").read_bytes()
        file.unlink()
        file.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        reseal(folder.parent, "projection/keys.tail")
        found = kb.check(full=True)
        assert "projection" in [part.part for part in found.bad]


def test_the_counts_of_a_projection_leave_out_literals_without_a_triple(tmp_path: Path) -> None:
    with tails(), made(tmp_path, Random(3)) as kb:
        before = kb.stats()["projection"]["literals"]
        gone = len({row.term("v") for row in kb.query(PROLOGUE + "SELECT ?v { ?x :when ?v }")})
        kb.update(PROLOGUE + "DELETE WHERE { ?x :when ?v }")
        assert kb.stats()["projection"]["literals"] == before - gone


@pytest.mark.parametrize("name", ["gone", "predicates.triples", "tail.values", "tail.places"])
def test_a_projection_whose_header_lacks_an_array_of_its_tail_is_not_used(tmp_path: Path, name: str) -> None:
    with tails(), made(tmp_path, Random(3)) as kb:
        kb.update(PROLOGUE + "INSERT DATA { <http://e/n1> :name 'not here before' }")
        folder = kb._snapshot.generation.path / "projection"
        header = json.loads((folder / "projection.json").read_text())
    del header["arrays"][name]
    (folder / "projection.json").unlink()
    (folder / "projection.json").write_text(json.dumps(header))
    reseal(folder.parent, "projection/projection.json")
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        assert "not used" in kb.stats()["projection"]["state"]
        assert len(kb.query(PROLOGUE + "SELECT * { ?x :name 'not here before' }")) == 1
