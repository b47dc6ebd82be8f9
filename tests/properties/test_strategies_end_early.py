"""Each strategy leaves out the work that it promises to leave out: 5,000 entities, of which ten are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.rules import rewrite
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import UnsupportedQueryError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces import meter
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.kb.snapshot import scratch
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import holds
from hybridkg.operators.topk.relation_prefix import PrefixScan
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query.parser import parse
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.index.text_and_vectors import Ranked

ROOT = Path(__file__).resolve().parents[2]
E = "http://e/"
N = 5_000
NODES = [ox.NamedNode(f"{E}n{i:04}") for i in range(N)]
WORST = range(N - 7, N)
"""The longest texts, so the lowest scores."""


class Watched(EmbeddedTextIndex):
    """An index that remembers what it was asked."""

    asked: list[tuple[str, int]]

    def topk(self, query: Any, k: int, among: Any = None) -> Any:
        self.asked.append(("topk" if among is None else "topk among", k))
        return super().topk(query, k, among)

    def score_all(self, query: Any) -> Any:
        self.asked.append(("matching", 0))
        return super().score_all(query)

    def score(self, query: Any, ids: Any) -> Any:
        self.asked.append(("score", len(ids)))
        return super().score(query, ids)


def triples() -> Iterator[ox.Triple]:
    """Every second one is in :even; each has a :name; the worst are in :worst; all link to the two best."""
    for i, node in enumerate(NODES):
        yield ox.Triple(node, ox.NamedNode(E + "name"), ox.Literal(f"name {i}"))
        yield ox.Triple(node, ox.NamedNode(E + "to"), NODES[i % 2])
        if i % 2 == 0:
            yield ox.Triple(node, ox.NamedNode(E + "in"), ox.NamedNode(E + "even"))
        if i in WORST:
            yield ox.Triple(node, ox.NamedNode(E + "in"), ox.NamedNode(E + "worst"))


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[OxigraphStore, Watched, NodeTable, Projection]:
    folder = tmp_path_factory.mktemp("kb")
    NodeTable.write(folder, NODES)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label"), IndexedField("note")], N)
    for i in range(N):
        words = "red " + "long " * (i // 100)
        builder.add(i, 0, [(words, "")])
        builder.add(i, 1, [("blue " + words if i > 1 else "blue", "")])
    builder.finish()
    index = Watched.open(folder / "text", nodes.rank)
    every = list(triples())
    columns = columns_of(every, NODES)
    graph = Projection(columns, lambda expression, values: holds(expression, values, scratch))
    return OxigraphStore.memory([ox.Quad(*triple) for triple in every]), index, nodes, graph


class Ran:
    """A run of a query, and what it took."""

    def __init__(self, world: Any, strategy: str, query: str, *, projected: bool = True, switching: bool = False):
        store, index, nodes, graph = world
        graph = graph if projected else None
        logical = rewrite(from_ast(parse(f"PREFIX : <{E}> {query}")))
        root = STRATEGIES.get(strategy).plan(logical, PlannerContext(graph, Ranked(index), switching=switching))
        assert root is not None
        self.root: PhysicalOperator = root
        index.asked = []
        self.run = ExecutionContext(
            store, Ranked(index), nodes, lambda *_: [], scratch, graph=graph, price=CostModel().price
        )
        found = self.run.run_plan(root)
        self.rows, self.asked, self.counts = found.rows, list(index.asked), self.run.meter.counts
        reference = STRATEGIES.get("reference").plan(logical, PlannerContext(None, Ranked(index)))
        want = ExecutionContext(store, Ranked(index), nodes, lambda *_: [], scratch, price=CostModel().price).run_plan(
            reference
        )
        at = [found.variables.index(name) for name in want.variables]
        assert [tuple(row[i] for i in at) for row in found.rows] == want.rows

    @property
    def deepest(self) -> int:
        """Entities of the longest list that was read."""
        return max((k for kind, k in self.asked if kind.startswith("topk")), default=0)

    @property
    def kinds(self) -> set[str]:
        """What the text index was asked."""
        return {kind for kind, _ in self.asked}

    @property
    def sliced(self) -> int:
        """Rows of the relations that operators saw."""
        return sum(self.run.actuals[id(op)].rows for op in self.root.walk() if isinstance(op, PrefixScan))


EVEN = 'SELECT ?a ?s { ?a MATCH "red" AS ?s . ?a :in :even } RANK BY ?s LIMIT 10'
NAMED = (
    'SELECT ?a ?name ?where ?s { ?a MATCH "red" AS ?s . ?a :in :even ; :name ?name . OPTIONAL { ?a :to ?where } } '
    "RANK BY ?s LIMIT 10"
)
BOTH = 'SELECT ?a ?s ?t { ?a MATCH "red" ON (label) AS ?s . ?a :in :even . ?a MATCH "blue" ON (note) AS ?t } '
PAIRS = 'SELECT ?a ?b { ?a MATCH "red" ON (label) AS ?s . ?a :to ?b . ?b MATCH "blue" ON (note) AS ?t } '


@pytest.mark.parametrize("projected", [True, False])
def test_rank_first_reads_the_best_and_no_more(world, projected):
    ran = Ran(world, "rank_first", EVEN, projected=projected)
    assert ran.kinds == {"topk"}
    assert ran.deepest <= 32
    assert ran.sliced == 10
    if projected:
        assert ran.counts[meter.ROWS] == 10, "the slice alone: the look has said all of the pattern"
    else:
        assert ran.counts[meter.STORE_ROWS] < 100, "the store is asked about the entities of the look"


def test_rank_first_goes_deeper_where_the_pattern_passes_few(world):
    ran = Ran(world, "rank_first", EVEN.replace(":even", ":worst"))
    assert [k for _, k in ran.asked] == [32, 128, 512, 2048, 8192]
    assert ran.sliced == len(WORST)


def test_rank_first_gives_up_for_filter_first_before_it_has_read_all(world):
    ran = Ran(world, "rank_first", EVEN.replace(":even", ":worst"), switching=True)
    assert ran.deepest < N
    assert ran.asked[-1] in [("score", len(WORST)), ("topk among", 11)], "the candidates alone"


@pytest.mark.parametrize("condition", ["?s > 100", "1e2 <= ?s", "?a != :n0001 && (?s >= 100.0 && ?s < 200)"])
@pytest.mark.parametrize("pattern", ["", "?a :in :even ."])
def test_rank_first_ends_with_the_list_that_is_below_what_a_filter_demands(world, condition, pattern):
    ran = Ran(
        world,
        "rank_first",
        f'SELECT ?a ?s {{ ?a MATCH "red" AS ?s . {pattern} FILTER({condition}) }} RANK BY ?s LIMIT 10',
    )
    assert ran.asked == [("topk", 32)]
    assert ran.rows == []


def test_rank_first_returns_all_above_a_score_before_it_ends(world):
    best = 'SELECT ?a ?s { ?a MATCH "red" AS ?s . ?a :in :even CONDITION } RANK BY ?s LIMIT 80'
    least = Ran(world, "rank_first", best.replace("CONDITION", "")).rows[60][1].value
    ran = Ran(world, "rank_first", best.replace("CONDITION", f"FILTER(?s > {float(least):.17e})"))
    assert 0 < len(ran.rows) < 80
    assert ran.deepest <= 640
    assert all(float(row[1].value) > float(least) for row in ran.rows)


@pytest.mark.parametrize(
    "condition", ["?s > 100 || true", "!(?s > 100)", "?s < 100", "?s > -100", "BOUND(?s) && 1 > 0"]
)
def test_rank_first_goes_on_where_a_filter_demands_no_score(world, condition):
    ran = Ran(world, "rank_first", EVEN.replace(":even", f":worst FILTER({condition})"))
    assert [k for _, k in ran.asked] == [32, 128, 512, 2048, 8192]
    assert len(ran.rows) == len(WORST)


def test_filter_first_scores_the_candidates_and_makes_rows_of_the_best(world):
    ran = Ran(world, "filter_first", NAMED)
    assert ran.asked == [("score", N // 2)]
    assert ran.counts[meter.PROBES] == N // 2
    assert ran.sliced == 10


def test_filtered_topk_asks_once_with_the_candidates(world):
    ran = Ran(world, "filtered_topk", NAMED)
    assert ran.asked == [("topk among", 11)]
    assert ran.sliced == 10


@pytest.mark.parametrize("strategy", ["filter_first", "filtered_topk", "rank_first"])
def test_what_cannot_remove_rows_is_fetched_for_those_that_are_left(world, strategy):
    ran = Ran(world, strategy, NAMED)
    rows = {op.describe(): ran.run.actuals[id(op)].rows for op in ran.root.walk() if id(op) in ran.run.actuals}
    assert max(rows.values()) == 10, rows
    assert ran.counts[meter.ROWS] == 10, "of the answer alone"


def test_a_ranking_of_two_scores_ends_when_no_entity_to_come_can_win(world):
    ran = Ran(world, "threshold", BOTH + "RANK BY ?s + ?t LIMIT 10")
    assert ran.deepest <= 128
    assert "matching" not in ran.kinds
    assert sum(k for kind, k in ran.asked if kind == "score") <= 4 * 128
    assert ran.sliced == 2 * 50, "those that equal the tenth are kept: a sum may be rounded in two ways"


def test_a_ranking_of_two_variables_ends_when_no_pair_to_come_can_win(world):
    ran = Ran(world, "rank_join", PAIRS + "RANK BY ?s + ?t LIMIT 10")
    assert ran.kinds == {"topk"}
    assert ran.deepest < N // 2


def test_text_topk_reads_as_many_as_are_wanted(world):
    ran = Ran(world, "text_topk", 'SELECT ?a ?s { ?a MATCH "red" AS ?s } RANK BY ?s LIMIT 3 OFFSET 4')
    assert ran.asked == [("topk", 7)]


def test_bind_join_makes_rows_of_what_matches_alone(world):
    ran = Ran(world, "bind_join", 'SELECT * { ?a MATCH "red -long" AS ?s . ?a :name ?name } RANK BY ?s')
    assert ran.counts[meter.ROWS] <= 200
    assert len(ran.rows) == 100


@pytest.mark.parametrize("strategy", ["filter_first", "rank_first", "filtered_topk"])
def test_no_rows_are_wanted(world, strategy):
    assert Ran(world, strategy, EVEN.replace("LIMIT 10", "LIMIT 0")).sliced == 0


@pytest.mark.parametrize("strategy", ["bind_join", "filter_first", "filtered_topk", "rank_first"])
def test_the_same_query_takes_the_same_work(world, strategy):
    assert Ran(world, strategy, NAMED).counts == Ran(world, strategy, NAMED).counts


# --- choosing by name -------------------------------------------------------------------------

APPLIES = {
    "bind_join": '?f MATCH "space" AS ?s . ?f a ?type } RANK BY ?s LIMIT 2',
    "each_list": '{ ?f MATCH "space" AS ?s } UNION { ?f MATCH "mars" AS ?t } } RANK BY rrf(?s, ?t) LIMIT 2',
    "filter_first": '?f MATCH "space" AS ?s . ?f a ?type } RANK BY ?s',
    "filtered_topk": '?f MATCH "space" AS ?s . ?f a ?type } RANK BY ?s LIMIT 2',
    "oxigraph": "?f a ?type } ORDER BY ?f ?type",
    "columns": "?f a ?type } ORDER BY ?f ?type LIMIT 2",
    "rank_first": '?f MATCH "space" AS ?s . ?f a ?type } RANK BY ?s LIMIT 2',
    "rank_join": '?f MATCH "space" AS ?s . ?f ?p ?g . ?g MATCH "a" AS ?t } RANK BY ?s + ?t LIMIT 2',
    "reference": '?f MATCH "space" AS ?s } RANK BY ?s',
    "text_topk": '?f MATCH "space" AS ?s } RANK BY ?s LIMIT 2',
    "threshold": '?f MATCH "space" AS ?s . ?f MATCH "mars" AS ?t } RANK BY ?s + ?t LIMIT 2',
}


@pytest.fixture(scope="module")
def films() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
        yield kb


@pytest.mark.parametrize("strategy", STRATEGIES.names())
def test_every_strategy_can_be_asked_for(films, strategy):
    if strategy not in APPLIES:
        pytest.skip("a strategy from outside has the law of test_plans_are_equivalent")
    text = "SELECT * { " + APPLIES[strategy]
    forced, chosen = films.query(text, strategy=strategy), films.query(text)
    assert forced.strategy == strategy
    assert [tuple(row.values()) for row in forced] == [tuple(row.values()) for row in chosen]


@pytest.mark.parametrize("strategy", sorted(set(STRATEGIES.names()) - {"reference", "columns"}))
def test_a_strategy_that_does_not_apply_says_so(films, strategy):
    ranked = 'SELECT * { { ?f MATCH "space" AS ?s } UNION { ?f MATCH "mars" AS ?s } } RANK BY ?s LIMIT 2'
    with pytest.raises(UnsupportedQueryError, match=f"the strategy '{strategy}' does not apply to this query"):
        films.query(ranked, strategy=strategy)
    assert np.all([row["s"] for row in films.query(ranked, strategy="reference")])
