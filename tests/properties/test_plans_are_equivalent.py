"""Every strategy gives the rows of the reference: the same, and where the query ranks in the same order.

Whoever answers for the graph: the projection, the store, or each for some of the fragments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from generated_rankings import PROLOGUE, TEXTS, Case, E, case, cases
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples, sampled

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import OrderBy, Plan, Project, Rank, children
from hybridkg.algebra.rules import rewrite
from hybridkg.config.settings import Config, EncodingSettings
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.graph_index import AskedPattern, Cardinality, GraphIndex, PreparedPattern
from hybridkg.interfaces.ranked_index import RankedIndex
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.kb.snapshot import scratch
from hybridkg.operators import probing, text_join
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import holds
from hybridkg.operators.topk import candidates, each_list, filter_first, filtered_topk, rank_first, rank_join, threshold
from hybridkg.planner.choose import choose, with_limit
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import RankingCosts
from hybridkg.planner.ranking_shape import RankedPlan
from hybridkg.planner.strategies import rank_first as rank_first_strategy
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.index import flat
from hybridkg.vector.index.flat import Flat, FlatIndex
from hybridkg.vector.index.flat_files import WHOLE, FlatWriter
from hybridkg.vector.index.text_and_vectors import Ranked

pytestmark = pytest.mark.quick

Text = tuple[RankedIndex, NodeTable]
Answer = list[tuple[str, ...]]


class Declining:
    """A projection that does not hold some patterns: always the same ones.

    Args:
        whole: a projection that holds more.
        one_in: of this many patterns one is declined.
    """

    def __init__(self, whole: GraphIndex, one_in: int):
        self.whole, self.one_in = whole, one_in
        self.n_entities, self.n_nodes = whole.n_entities, whole.n_nodes

    def compile(self, pattern: AskedPattern) -> PreparedPattern | None:
        digest = blake2b(repr(pattern).encode(), digest_size=4).digest()
        return None if int.from_bytes(digest) % self.one_in == 0 else self.whole.compile(pattern)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Text:
    return text_of(tmp_path_factory.mktemp("kb"), WHOLE)


@pytest.fixture(scope="module", params=["max", "mean3", "sum"])
def in_pieces(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Text:
    """The same, where label and note have vectors of their own."""
    return text_of(tmp_path_factory.mktemp("kb"), EncodingSettings(what="fields", aggregate=request.param))


def text_of(folder: Path, encoding: EncodingSettings) -> Text:
    NodeTable.write(folder, TEXTS)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label"), IndexedField("note")], len(TEXTS))
    for node, (label, note) in TEXTS.items():
        for field, words in enumerate((label, note)):
            if words:
                builder.add(nodes.find(node), field, [(words, "")])
    builder.finish()
    vectors = vectors_of(folder / "vectors", nodes, encoding)
    return Ranked(EmbeddedTextIndex.open(folder / "text", nodes.rank), vectors), nodes


class WordCounts:
    """An encoder that counts four words; many texts have the same vector."""

    name, dimensions = "counts/1", 4

    def passages(self, texts: Sequence[str]) -> Vectors:
        counts = [[text.split().count(word) for word in ("red", "blue", "green", "boat")] for text in texts]
        return unit(np.array(counts, np.float32).reshape(len(texts), 4))

    queries = passages


def vectors_of(folder: Path, nodes: NodeTable, encoding: EncodingSettings) -> FlatIndex:
    folder.mkdir()
    encoder = WordCounts()
    ids = np.arange(len(TEXTS), dtype=np.uint32)
    texts = [TEXTS[node] for node in nodes.nodes(ids)]
    with FlatWriter(folder, encoder, encoding=encoding) as writer:
        if encoding.what == "entity":
            writer.add(ids, encoder.passages([" ".join(own) for own in texts]))
        else:
            spans = np.zeros((2 * len(ids), 2), np.uint32)
            writer.add(np.repeat(ids, 2), encoder.passages([part for own in texts for part in own]), None, spans)
        writer.finish("counts")
    index = Flat(folder, Config()).open(folder, nodes.find, nodes.rank)
    index._opened = encoder
    return index


def projection(store: OxigraphStore, nodes: NodeTable) -> Projection:
    triples = [quad.triple for quad in store.quads() if isinstance(quad.graph_name, ox.DefaultGraph)]
    entities = nodes.nodes(np.arange(len(TEXTS), dtype=np.uint32))
    return Projection(columns_of(triples, entities), lambda expression, values: holds(expression, values, scratch))


def texts_of(nodes: Iterable[Any], fields: Iterable[str]) -> list[list[tuple[str, str, str]]]:
    return [
        [(name, words, "") for name, words in zip(("label", "note"), TEXTS[node], strict=True) if words]
        for node in nodes
    ]


def is_ordered(plan: Plan) -> bool:
    """Whether the order of the rows is that of a ranking."""
    while not isinstance(plan, Rank | OrderBy):
        if not (below := children(plan)) or len(below) > 1:
            return False
        plan = below[0]
    return True


def compared(plan: Plan) -> frozenset[str] | None:
    """The columns that tell rows apart: under DISTINCT the others are those of any one row; None for all."""
    while not isinstance(plan, Project):
        if not (below := children(plan)):
            return None
        plan = below[0]
    return frozenset(plan.columns) if plan.distinct else None


def answer(run: ExecutionContext, root: Any, columns: frozenset[str] | None = None) -> Answer:
    found = run.run_plan(root)
    names = sorted(name for name in found.variables if columns is None or name in columns)
    at = [found.variables.index(name) for name in names]
    return [tuple(names), *(tuple(str(row[i]) for i in at) for row in found.rows)]


def set_up(drawn: Case, patch: pytest.MonkeyPatch) -> None:
    for module in (rank_first, rank_join, threshold, each_list):
        patch.setattr(module, "MIN_DEPTH", drawn.depth, raising=module is not each_list)
        patch.setattr(module, "DEEPER", drawn.deeper)
    patch.setattr(filter_first, "GROWTH", drawn.growth)
    patch.setattr(filtered_topk, "GROWTH", drawn.growth)
    patch.setattr(rank_join, "FIRST_DEPTH", 1)
    patch.setattr(flat, "MATRIX_ABOVE", 0 if drawn.depth == 1 else 4)
    patch.setattr(probing, "FEW_VALUES", drawn.few)
    patch.setattr(candidates, "FEW_VALUES", drawn.few)
    patch.setattr(probing, "PROBES_AT_ONCE", 2)
    patch.setattr(text_join, "MATCHES_PER_PROBE", drawn.probe)
    budget = Cardinality(drawn.budget, drawn.budget, drawn.budget)
    ranked = Cardinality(budget.low, budget.estimate - drawn.ranks, budget.high)

    def priced(ranking: RankedPlan, planning: PlannerContext) -> RankingCosts:
        costs = RankingCosts(ranking, planning)
        costs.filter_first, costs.filtered_topk = budget, ranked
        return costs

    patch.setattr(rank_first_strategy, "costs_of", priced)


def roots(logical: Plan, graph: GraphIndex | None, index: RankedIndex) -> Iterator[tuple[str, PhysicalOperator]]:
    """Every way to run a plan: by each strategy that applies, and as it is chosen."""
    yield "chosen", choose(logical, PlannerContext(graph, index)).root
    for name in STRATEGIES.names():
        for switching in (True, False) if name in ("rank_first", "threshold") else (True,):
            root = STRATEGIES.get(name).plan(logical, PlannerContext(graph, index, switching=switching))
            if root is not None:
                yield f"{name}{'' if switching else ' alone'}", root


def differences(drawn: Case, text: Text, patch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """(who was asked, what was wrong): for each strategy that applies, and each way to ask the graph.

    Raises:
        HybridkgError: the query breaks a rule, or cannot be answered by this version.
    """
    index, nodes = text
    set_up(drawn, patch)
    parsed = parse(drawn.query)
    check(parsed)
    plain = from_ast(parsed)
    in_order, columns = is_ordered(plain), compared(plain)
    limit = drawn.limit if in_order else None  # any rows are the first ones of a query that orders nothing
    plain, logical = with_limit(plain, limit), with_limit(rewrite(plain), limit)
    store = OxigraphStore.memory(drawn.quads)

    def context(graph: GraphIndex | None) -> ExecutionContext:
        return ExecutionContext(store, index, nodes, texts_of, scratch, graph=graph, price=CostModel().price)

    whole = projection(store, nodes)
    reference = STRATEGIES.get("reference").plan(plain, PlannerContext(None, index))
    assert reference is not None
    want = answer(context(None), reference, columns)
    graphs: dict[str, Any] = {"columns": whole, "store": None, "both": Declining(whole, drawn.decline)}
    for kind, graph in graphs.items():
        for name, root in roots(logical, graph, index):
            run = context(graph)
            got = answer(run, root, columns)
            same = got == want if in_order else Counter(got) == Counter(want)
            yield (
                f"{name}, {kind}",
                "" if same else f"{drawn.query}\n{shown(got)}\nbut the reference has\n{shown(want)}",
            )
            if kind != "both":
                continue
            again = context(graph)
            answer(again, root, columns)
            counted = run.meter.counts, again.meter.counts
            yield f"counters of {name}, {kind}", "" if counted[0] == counted[1] else f"{drawn.query}\n{counted}"


def shown(rows: Answer) -> str:
    return "\n".join(" | ".join(cell.split("^^")[0] for cell in row) for row in rows)


# --- the law ----------------------------------------------------------------------------------


@settings(max_examples=examples(5, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=cases())
def test_every_strategy_gives_the_rows_of_the_reference_in_its_order(text, monkeypatch, drawn):
    try:
        for who, wrong in differences(drawn, text, monkeypatch):
            assert not wrong, f"{who}: {wrong}"
    except HybridkgError:
        return


QUERIES = examples(40, 60)


@pytest.mark.parametrize("chunk", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 60))])
def test_the_same_of_many_queries(text, monkeypatch, chunk):
    """Each strategy applies to some of the first ones."""
    asked: Counter[str] = Counter()
    for seed in range(QUERIES * chunk, QUERIES * (chunk + 1)):
        try:
            for who, wrong in differences(case(seed), text, monkeypatch):
                asked[who.split(",")[0]] += 1
                assert not wrong, f"seed {seed}, {who}: {wrong}"
        except HybridkgError:
            continue
    applying = {
        "chosen",
        "reference",
        "bind_join",
        "filter_first",
        "filtered_topk",
        "rank_first",
        "threshold",
        "each_list",
        "rank_join",
    }
    assert chunk > 0 or applying <= asked.keys()


@settings(max_examples=examples(5, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_entities_with_several_vectors(in_pieces, monkeypatch, seed):
    drawn = next(one for one in map(case, range(seed, seed + 1_000)) if "NEAR" in str(one.query))
    try:
        for who, wrong in differences(drawn, in_pieces, monkeypatch):
            assert not wrong, f"{who}: {wrong}"
    except HybridkgError:
        return


@settings(max_examples=examples(5, 100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=cases(), limit=st.integers(0, 4))
def test_vectors_that_are_far_away_from_the_text(text, monkeypatch, drawn, limit):
    index, nodes = text
    monkeypatch.setattr(index.vectors, "is_remote", True)
    monkeypatch.setattr(index.vectors, "max_remote_scan", limit)
    try:
        for who, wrong in differences(drawn, (Ranked(index.text, index.vectors), nodes), monkeypatch):
            assert not wrong, f"{who}: {wrong}"
    except HybridkgError:
        return


# --- queries that were answered wrongly once --------------------------------------------------


def graph_of(links: str) -> tuple[ox.Quad, ...]:
    """`a p b, c year 2`."""
    triples = [link.split() for link in links.split(",") if link]
    return tuple(
        ox.Quad(
            ox.NamedNode(E + s),
            ox.NamedNode(E + p),
            ox.Literal(int(o)) if o.isdigit() else ox.NamedNode(E + o),
        )
        for s, p, o in triples
    )


@pytest.mark.parametrize(
    ("query", "links"),
    [
        pytest.param(
            'SELECT * { ?a MATCH "boat" AS ?s . MINUS { ?a :p ?b . ?a MATCH "red" AS ?s } } RANK BY ?s LIMIT 7',
            "a p b, c p d, f p a",
            id="a score inside MINUS has the name of the one that ranks",
        ),
        pytest.param(
            'SELECT * { ?a MATCH "boat" AS ?s { SELECT ?a { ?a MATCH "red" AS ?s } } } RANK BY ?s LIMIT 7',
            "",
            id="a score inside a sub-select has the name of the one that ranks",
        ),
        pytest.param(
            'SELECT * { ?a MATCH "boat" AS ?s FILTER EXISTS { ?a MATCH "red" AS ?v . ?a :p ?b '
            '{ SELECT ?z { ?z MATCH "nothing" AS ?v } } } } RANK BY ?s LIMIT 2',
            "c p a, d p b, h p a, i p a",
            id="a score inside EXISTS, and one of this name inside a sub-select there",
        ),
        pytest.param(
            'SELECT * { ?a MATCH "red fish" AS ?s . ?a MATCH "boat" TOP 8 AS ?t } RANK BY ?s + 0.1 * ?t LIMIT 1',
            "",
            id="whether an entity is in TOP n is not known before the list has been read so far",
        ),
        pytest.param(
            'SELECT * { ?a MATCH "red" AS ?s . ?a :p ?b . ?b MATCH "blue" } RANK BY rrf(?s) + minmax(?s) LIMIT 3',
            "a p b, c p d, d p e, h p a, b p d",
            id="a MATCH on another variable of a pattern that the store answers",
        ),
        pytest.param(
            'SELECT * { ?a :p ?b . ?a MATCH "red" AS ?s . OPTIONAL { ?a MATCH "boat" } '
            '{ ?a :q ?c OPTIONAL { ?a :r ?b } } ?b MATCH "blue" } RANK BY ?s LIMIT 3',
            "a p d, a q m, c q b, c p e",
            id="a MATCH on a variable that one of two fragments may leave unbound",
        ),
        pytest.param('SELECT * { ?a MATCH "red" AS ?s } RANK BY ?s * "ten"^^xsd:integer LIMIT 2', "", id="no number"),
        pytest.param('SELECT * { ?a MATCH "red" AS ?s } RANK BY ?s * "NaN"^^xsd:double LIMIT 2', "", id="NaN"),
        pytest.param(
            'SELECT * { ?a MATCH "red" AS ?s . ?a MATCH "boat" USING lm AS ?t } '
            "RANK BY ?s * 1e308 * 10 + ?t * 1e308 * 10 LIMIT 2",
            "",
            id="infinite less infinite",
        ),
        pytest.param(
            'SELECT * { ?a MATCH "red" AS ?s } RANK BY ?s + 99999999999999999999 LIMIT 2', "", id="too large an integer"
        ),
    ],
)
@pytest.mark.parametrize("depth", sampled([1, 32], 1))
def test_a_case_that_was_wrong(text, monkeypatch, query, links, depth):
    drawn = Case(graph_of(links), PROLOGUE + query, None, 2, depth, 2, 2, 0.0, False, 0, 0)
    found = dict(differences(drawn, text, monkeypatch))
    assert {who: wrong for who, wrong in found.items() if wrong} == {}
    assert any(who.startswith(("filter_first", "rank_first", "threshold")) for who in found)


@pytest.mark.parametrize(
    "query",
    [
        'OPTIONAL { ?b MATCH "boat" } ?a :p ?b } RANK BY rrf(?s)',
        'OPTIONAL { ?b NEAR "boat" WITHIN 0.4 } ?a :p ?b } RANK BY zscore(?s)',
        "BIND(:h AS ?b) ?a :p ?b } RANK BY rrf(?s)",
    ],
)
def test_whom_a_join_with_what_optional_or_bind_adds_leaves_out_takes_no_rank(text, monkeypatch, query):
    """Which entities have a row is not known before the rows are, so filter_first does not apply."""
    links = graph_of("a p h, c p c, d p h, f p m, g p f, h p h, i p a, j p b")
    for first in ('MATCH "green red"', 'NEAR "red"'):
        drawn = Case(links, f"{PROLOGUE} SELECT * {{ ?a {first} AS ?s . {query}", None, 2, 1, 2, 2, 0.0, False, 0, 0)
        found = dict(differences(drawn, text, monkeypatch))
        assert {who: wrong for who, wrong in found.items() if wrong} == {}
        assert not any(who.startswith("filter_first") for who in found)


@pytest.mark.parametrize(
    "query",
    [
        "?a :p ?b . ?a NEAR ?b AS ?s } RANK BY ?s LIMIT 3",
        "?a :p ?b . ?c NEAR ?b TOP 2 AS ?s } RANK BY ?s LIMIT 5",
        "?a :p ?b . ?c NEAR EXACT ?b WITHIN 0.4 AS ?s . ?c :q ?o } RANK BY ?s",
        '?a :p ?b . ?a NEAR ?b AS ?s . ?a MATCH "red" AS ?t } RANK BY rrf(?s, ?t) LIMIT 2',
        '?a :p ?b . ?c NEAR ?b AS ?s OPTIONAL { ?c MATCH "boat" AS ?t } } RANK BY minmax(?s) + minmax(?t) LIMIT 4',
        '?a NEAR "red" AS ?s . ?a :p ?b OPTIONAL { ?a :q ?c . ?a NEAR ?c WITHIN 0.5 AS ?t } } RANK BY ?s + ?t LIMIT 3',
    ],
)
def test_a_similarity_join_with_what_the_graph_binds(text, in_pieces, monkeypatch, query):
    links = graph_of("a p h, c p c, d p h, f p m, g p f, h p nowhere, i p a, j p b, a q b, c q d, h q a, i q j")
    drawn = Case(links, f"{PROLOGUE} SELECT * {{ {query}", None, 2, 1, 2, 2, 0.0, False, 0, 0)
    for index in (text, in_pieces):
        found = dict(differences(drawn, index, monkeypatch))
        assert {who: wrong for who, wrong in found.items() if wrong} == {}
        assert any(who.startswith("chosen") for who in found)
