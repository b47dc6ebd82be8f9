"""Semi-joins pushed below groups, sub-selects and unions leave out no row that is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators import bind_join, graph_fragment, join, minus, score_rows, text_join
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.count_groups import CountGroups

PREFIX = "PREFIX : <http://e/> "
COUNT = "{ SELECT ?p (COUNT(?q) AS ?n) { ?q :cites ?p } GROUP BY ?p }"
MEAN = "{ SELECT ?p (AVG(?y) AS ?n) { ?q :cites ?p ; :year ?y } GROUP BY ?p HAVING(COUNT(?q) > 1) }"

SUB_PLANS = [
    COUNT,
    MEAN,
    "{ SELECT ?p (COUNT(DISTINCT ?y) AS ?n) { ?q :cites ?p ; :year ?y } GROUP BY ?p }",
    "{ SELECT ?p ?y (SUM(?z) AS ?n) { ?q :cites ?p ; :year ?z . ?p :year ?y } GROUP BY ?p ?y }",
    f"{COUNT} OPTIONAL {MEAN.replace('?n', '?m')}",
    f"{COUNT} MINUS {{ ?p :year 2001 . BIND(STR(?p) AS ?t) }}",
    f"{{ {COUNT} }} UNION {{ {MEAN} }}",
    f"{{ {COUNT} }} UNION {{ ?x :cites ?q . BIND(1 AS ?n) }}",
    f"{COUNT} BIND(?n * 2 AS ?m) FILTER(?m > 2)",
    "{ SELECT DISTINCT ?p ?t { ?p :year ?y BIND(STR(?y) AS ?t) } }",
    "{ ?p :cites ?q . ?q MATCH 'birds' AS ?r } UNION { ?p :cites ?q . ?p MATCH 'whales' AS ?r }",
    "{ ?p :cites ?q . ?q MATCH 'birds' AS ?r OPTIONAL { ?q :cites ?z . ?z MATCH 'whales' AS ?w } }",
    "OPTIONAL { { ?p :cites ?q } UNION { ?q :cites ?p . ?q MATCH 'whales' AS ?w } }",
    "OPTIONAL { { ?p :year ?y } UNION { ?x :cites ?p BIND(1 AS ?n) } }",
    "MINUS { { ?p :year 2001 } UNION { ?q :cites ?p . ?q MATCH 'birds' } }",
    "OPTIONAL { ?p :cites ?c } MINUS { { ?c :year 2002 } UNION { ?p :year 2001 BIND(1 AS ?n) } }",
    "OPTIONAL { ?p :cites ?c } { { ?c :year ?y } UNION { ?p :cites ?c . ?c MATCH 'fish' AS ?w } }",
    # A row that is left out would change others: which are the first ones, and what a whole group has.
    "{ SELECT ?p (COUNT(?q) AS ?n) { ?q :cites ?p } GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 3 }",
    "{ SELECT (COUNT(?p) AS ?n) (MAX(?y) AS ?m) { ?p :year ?y } }",
    "{ SELECT ?y (COUNT(?p) AS ?n) { ?p :year ?y } GROUP BY ?y }",
    "{ SELECT ?q (COUNT(?p) AS ?n) { ?q :cites ?p } GROUP BY ?q } ?p :cites ?q",
    "{ SELECT ?p (COUNT(*) AS ?n) { { SELECT ?p ?y { ?p :year ?y } ORDER BY ?y ?p LIMIT 9 } } GROUP BY ?p }",
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeBase]:
    """40 papers with up to three years, which cite others and themselves; a third has the word `fish`."""
    path: Path = tmp_path_factory.mktemp("narrowed") / "papers.ttl"
    random, lines = Random(4711), ["@prefix : <http://e/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."]
    for n in range(40):
        lines += [
            f":p{n} rdfs:label '{random.choice(['fish', 'birds', 'whales'])} {n}' ; :venue :v{random.randrange(5)} ."
        ]
        lines += [f":p{n} :cites :p{random.randrange(40)} ." for _ in range(random.randrange(4))]
        lines += [f":p{n} :year {random.randrange(2000, 2006)} ." for _ in range(random.randrange(4))]
    path.write_text("\n".join(lines))
    with KnowledgeBase.temporary(path) as kb:
        yield kb


SHARES = (0.0, 1.0)
SELECTIVE = ("?p :venue :v1 .", "?p MATCH 'fish' ON (label) AS ?s .", "?p :cites :p3 .")
CASES = list(product(SUB_PLANS, SELECTIVE, SHARES))


@pytest.mark.parametrize(("part", "selective", "share"), sampled(CASES, *CASES[::4], *CASES[3::4]))
def test_rows_are_those_of_the_reference(kb, monkeypatch, part, selective, share):
    monkeypatch.setattr(bind_join, "FRAGMENT_SHARE", share)
    for module in (graph_fragment, join, text_join):
        monkeypatch.setattr(module, "NARROW_SHARE", share)
    query = f"{PREFIX} SELECT * {{ {selective} {part} }}" + (" RANK BY ?s" if "MATCH" in selective else "")
    want = sorted(map(str, kb.query(query, strategy="reference").rows()))
    ran = 0
    for name in STRATEGIES.names():
        try:
            found = kb.query(query, strategy=name)
        except UnsupportedQueryError:
            continue
        assert sorted(map(str, found.rows())) == want, name
        ran += 1
    assert ran >= 3


@pytest.mark.parametrize("selective", ["?p :venue :v1 .", "?p MATCH 'fish' ON (label) ."])
def test_only_the_groups_that_are_joined_are_counted(kb, monkeypatch, selective):
    monkeypatch.setattr(bind_join, "FRAGMENT_SHARE", 1.0)
    for module in (graph_fragment, join, text_join):
        monkeypatch.setattr(module, "NARROW_SHARE", 1.0)
    counted, groups = [], CountGroups._groups
    monkeypatch.setattr(
        CountGroups, "_groups", lambda *given: counted.append((groups(*given), given[2])) or counted[-1][0]
    )
    found = kb.query(f"{PREFIX} SELECT ?p ?n {{ {selective} {COUNT} }}")
    ((rows, bound),) = counted
    assert list(bound) == ["p"]
    assert rows.size == len(found) > 0


def test_the_branches_of_a_union_are_read_for_the_values_of_the_other_side(kb, monkeypatch):
    monkeypatch.setattr(join, "NARROW_SHARE", 1.0)
    seen, narrowed = [], ExecutionContext.narrowed
    monkeypatch.setattr(
        ExecutionContext,
        "narrowed",
        lambda self, leaves, name, ids: seen.append((len(leaves), name, len(ids))) or narrowed(self, leaves, name, ids),
    )
    others = "{ SELECT ?p { ?p :year ?y } ORDER BY DESC(?y) ?p LIMIT 5 }"
    text = f"{PREFIX} SELECT * {{ {others} {{ ?p :year ?y }} UNION {{ ?p :cites ?q BIND(1 AS ?n) }} }}"
    assert len(kb.query(text, strategy="columns")) > 0
    assert [(leaves, name) for leaves, name, _ in seen] == [(2, "p")]
    assert seen[0][2] <= 5


def test_the_right_side_of_a_minus_without_left_rows_is_not_read(kb, monkeypatch):
    monkeypatch.setattr(minus, "joining", None)
    text = (
        f"{PREFIX} SELECT * {{ ?p :venue :none MINUS {{ {{ ?p :year ?y }} UNION {{ ?p :cites ?q BIND(1 AS ?n) }} }} }}"
    )
    assert len(kb.query(text, strategy="columns")) == 0


def test_the_fragment_of_a_join_is_read_for_the_values_of_both_its_other_sides(kb, monkeypatch):
    for module in (graph_fragment, join, text_join):
        monkeypatch.setattr(module, "NARROW_SHARE", 1.0)
    seen, in_columns = [], graph_fragment.GraphFragment.in_columns
    monkeypatch.setattr(
        graph_fragment.GraphFragment,
        "in_columns",
        lambda self, prepared, context, bound: seen.append(set(bound)) or in_columns(self, prepared, context, bound),
    )
    count = "{ SELECT ?q (COUNT(?x) AS ?n) { ?x :cites ?q } GROUP BY ?q }"
    text = f"{PREFIX} SELECT ?p ?q ?n {{ ?p MATCH 'fish' ON (label) . ?p :cites ?q {count} }}"
    found = kb.query(text, strategy="bind_join")
    assert sorted(map(str, found.rows())) == sorted(map(str, kb.query(text, strategy="reference").rows())) != []
    assert {"p", "q"} in seen


def test_a_union_is_read_for_the_matches_that_score_its_rows(kb, monkeypatch):
    monkeypatch.setattr(score_rows, "NARROW_SHARE", 1.0)
    union = "{ ?p :cites ?q . ?p MATCH 'birds' AS ?t } UNION { ?p :year ?q }"
    text = f"{PREFIX} SELECT ?p ?q {{ ?p MATCH 'fish' ON (label) AS ?s . {union} }}"
    want = sorted(map(str, kb.query(text, strategy="reference").rows()))
    seen, narrowed = [], ExecutionContext.narrowed
    monkeypatch.setattr(
        ExecutionContext,
        "narrowed",
        lambda self, leaves, name, ids: seen.append((len(leaves), name)) or narrowed(self, leaves, name, ids),
    )
    assert sorted(map(str, kb.query(text, strategy="bind_join").rows())) == want != []
    assert (2, "p") in seen
