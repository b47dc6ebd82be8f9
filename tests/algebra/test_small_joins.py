"""Many UNIONs beside a MATCH: what the store is sent is in small joins with the same solutions."""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.algebra import small_joins
from hybridkg.algebra.small_joins import MAX_UNIONS, in_small_joins
from hybridkg.graph.match import shape
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import walk
from hybridkg.query.write import write
from hybridkg.store.oxigraph import OxigraphStore

PREDICATES = ("p", "q", "r")


def largest_group(query: ast.Query) -> int:
    """The UNIONs and sub-selects that stand in one group of a query, at most: the store's work grows with its power."""
    groups = [part for part in walk(query.form.where) if isinstance(part, ast.Group)]
    return max(sum(isinstance(e, ast.UnionPattern | ast.SubSelect) for e in group.elements) for group in groups)


triples = st.builds(
    "?{} <x:{}> ?{} .".format, st.sampled_from("abc"), st.sampled_from(PREDICATES), st.sampled_from("abc")
)
branches = st.builds("{{ {} }}".format, triples)
unions = st.lists(branches, min_size=2, max_size=3).map(" UNION ".join)
others = st.one_of(triples, triples.map("OPTIONAL {{ {} }}".format), triples.map("MINUS {{ {} }}".format))
filters = st.sampled_from(["", "FILTER(?a != ?b)", "FILTER(BOUND(?c))"])
groups = st.builds(
    "{} {}".format, st.lists(st.one_of(unions, unions, others), min_size=1, max_size=6).map(" ".join), filters
)


@settings(deadline=None, max_examples=examples(36, 300))
@given(groups, st.sets(st.tuples(st.integers(0, 2), st.sampled_from(PREDICATES), st.integers(0, 2)), max_size=7))
def test_the_solutions_are_the_same_with_their_repeats(text, graph):
    store = ox.Store()
    store.extend(ox.Quad(ox.NamedNode(f"n:{s}"), ox.NamedNode(f"x:{p}"), ox.NamedNode(f"n:{o}")) for s, p, o in graph)
    query = parse(f"SELECT ?a ?b ?c {{ {text} }}").form
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_joins, "MAX_UNIONS", 1)
        patch.setattr(small_joins, "UNIONS_TOGETHER", 2)
        changed = write(ast.SelectQuery(query.projection, in_small_joins(query.where)))
    rows = [Counter(map(tuple, store.query(one))) for one in (write(query), changed)]
    assert rows[0] == rows[1]


@pytest.mark.parametrize("n", [25, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (50, 100, 200)), 290])
@pytest.mark.parametrize("projected", [True, False])
def test_the_work_for_many_unions_beside_a_match_is_small(tmp_path, monkeypatch, n, projected):
    """Counts in place of seconds: no query of the store with the projection, no large join in it without."""
    if not projected:
        monkeypatch.setattr(shape, "MAX_PARTS", 20)
    file = tmp_path / "films.nt"
    label, year = "<http://www.w3.org/2000/01/rdf-schema#label>", "<x:year>"
    file.write_text("".join(f'<f:{i}> {label} "space film" .\n<f:{i}> {year} "{i}" .\n' for i in range(9)))
    conditions = " ".join(f"{{ ?f {year} '3' }} UNION {{ ?f {year} '{5 + i % 2}' }}" for i in range(n))
    sent: list[str] = []
    select = OxigraphStore.select

    def watched(self: OxigraphStore, sparql: str, *args: object, **options: object) -> object:
        sent.append(sparql)
        return select(self, sparql, *args, **options)

    with KnowledgeBase.temporary(file) as kb:
        monkeypatch.setattr(OxigraphStore, "select", watched)
        result = kb.query(f"SELECT ?f {{ ?f MATCH 'space' AS ?s . {conditions} }} RANK BY ?s")
        assert [str(row["f"]) for row in result] == ["f:3"]
        asked = [one for one in sent if "UNION" in one]
        assert bool(asked) is not projected
        assert all(largest_group(parse(one)) <= MAX_UNIONS for one in asked)


def test_few_unions_stay_as_they_are():
    text = "SELECT * { " + "{ ?a <x:p> ?b } UNION { ?a <x:q> ?b } " * MAX_UNIONS + "}"
    where = parse(text).form.where
    assert in_small_joins(where) == where
