"""Every strategy gives the rows of the reference: the same, and where the query ranks in the same order.

Whoever answers for the graph: the projection, the store, or each for some of the fragments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from generated_rankings import E, NODES, TEXTS, Case, case, cases
from hypothesis import HealthCheck, given, settings

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Construct, Describe, OrderBy, Plan, Rank, Slice, children
from hybridkg.algebra.rules import rewrite
from hybridkg.entities.table import NodeTable
from hybridkg.errors import HybridkgError
from hybridkg.graph.projection import Projection
from hybridkg.graph.reference import columns_of
from hybridkg.interfaces.graph_index import GraphIndex, Pattern, PreparedPattern, Size
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.operators import filter_first, probing, rank_first, rank_join, text_join
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import holds
from hybridkg.planner import joins
from hybridkg.planner.choose import choose, with_limit
from hybridkg.planner.planning import Planning
from hybridkg.planner.strategies import rank_first as rank_first_strategy
from hybridkg.query.check import check
from hybridkg.query.parser import parse
from hybridkg.snapshot import scratch
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.embedded import EmbeddedTextBuilder, EmbeddedTextIndex

Text = tuple[EmbeddedTextIndex, NodeTable]
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

    def prepare(self, pattern: Pattern) -> PreparedPattern | None:
        digest = blake2b(repr(pattern).encode(), digest_size=4).digest()
        return None if int.from_bytes(digest) % self.one_in == 0 else self.whole.prepare(pattern)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Text:
    folder = tmp_path_factory.mktemp("kb")
    NodeTable.write(folder, TEXTS)
    nodes = NodeTable.open(folder)
    (folder / "text").mkdir()
    builder = EmbeddedTextBuilder(folder / "text", [IndexedField("label"), IndexedField("note")], len(TEXTS))
    for node, (label, note) in TEXTS.items():
        for field, words in enumerate((label, note)):
            if words:
                builder.add(nodes.find(node), field, [(words, "")])
    builder.finish()
    return EmbeddedTextIndex.open(folder / "text", nodes.rank), nodes


def projection(store: OxigraphStore, nodes: NodeTable) -> Projection:
    triples = [quad.triple for quad in store.quads() if isinstance(quad.graph_name, ox.DefaultGraph)]
    entities = nodes.nodes(np.arange(len(TEXTS), dtype=np.uint32))
    return Projection(columns_of(triples, entities), lambda expression, values: holds(expression, values, scratch))


def texts_of(node: Any, fields: Iterable[str]) -> list[tuple[str, str, str]]:
    return [(name, words, "") for name, words in zip(("label", "note"), TEXTS[node], strict=True) if words]


def is_ordered(plan: Plan) -> bool:
    """Whether the order of the rows is that of a ranking."""
    while not isinstance(plan, Rank | OrderBy):
        if not (below := children(plan)) or len(below) > 1:
            return False
        plan = below[0]
    return True


def is_graph(plan: Plan) -> bool:
    return isinstance(plan.child if isinstance(plan, Slice) else plan, Construct | Describe)


def answer(run: ExecutionContext, root: Any) -> Answer:
    found = run.run_plan(root)
    names = sorted(found.variables)
    at = [found.variables.index(name) for name in names]
    return [tuple(names), *(tuple(str(row[i]) for i in at) for row in found.rows)]


def set_up(drawn: Case, patch: pytest.MonkeyPatch) -> None:
    for module in (rank_first, rank_join):
        patch.setattr(module, "LEAST_DEPTH", drawn.depth)
        patch.setattr(module, "DEEPER", drawn.deeper)
    patch.setattr(filter_first, "GROWTH", drawn.growth)
    patch.setattr("hybridkg.operators.filtered_topk.GROWTH", drawn.growth)
    patch.setattr(rank_join, "FIRST_DEPTH", 1)
    patch.setattr(probing, "FEW_VALUES", drawn.few)
    patch.setattr(probing, "PROBES_AT_ONCE", 2)
    patch.setattr(text_join, "MATCHES_PER_PROBE", drawn.probe)
    budget = Size(drawn.budget, drawn.budget, drawn.budget)
    patch.setattr(rank_first_strategy, "filter_first_cost", lambda ranking, planning: budget)


def differences(drawn: Case, text: Text, patch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """(strategy and graph that were asked, what was wrong): for each that applies."""
    index, nodes = text
    set_up(drawn, patch)
    parsed = parse(drawn.query)
    check(parsed)
    plain = with_limit(from_ast(parsed), drawn.limit)
    logical = with_limit(rewrite(from_ast(parsed)), drawn.limit)
    store = OxigraphStore.memory(drawn.quads)

    def context(graph: GraphIndex | None) -> ExecutionContext:
        return ExecutionContext(store, index, nodes, texts_of, scratch, graph=graph)

    whole = projection(store, nodes)
    graphs: dict[str, Any] = {"columns": whole, "store": None, "both": Declining(whole, drawn.decline)}
    want = answer(context(None), STRATEGIES.get("reference").plan(plain, Planning(None, index)))
    in_order = is_ordered(plain)
    for name in STRATEGIES.names():
        for kind, graph in graphs.items():
            for switching in (True, False) if name in ("rank_first", "threshold") else (True,):
                root = STRATEGIES.get(name).plan(logical, Planning(graph, index, switching=switching))
                if root is None:
                    continue
                run = context(graph)
                got = answer(run, root)
                same = got == want if in_order else Counter(got) == Counter(want)
                yield f"{name} {kind} {'switching' if switching else ''}", "" if same else f"{got}\n!=\n{want}"


def test_words(text):
    from random import Random
    from generated_rankings import Maker
