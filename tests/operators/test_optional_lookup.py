"""An OPTIONAL of one single-valued predicate is a lookup, with the rows of the join."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.algebra.nodes import Fragment
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Prepared, Projection
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.operators.columns import IdColumn, InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.plan_template import operator_of
from hybridkg.query.parser import parse
from hybridkg.rdf.solutions import Solutions
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

NODES = [ox.NamedNode(f"e:{name}") for name in "abcdefgh"]
PATTERNS = ["?x <e:one> ?y", "?y <e:one> ?x", "?x <e:many> ?y", "?x ^<e:many> ?y", "?x <e:one>/<e:one> ?y",
            "?x <e:one> ?y FILTER(?y != <e:c>)", "?x <e:one> ?x", "?x <e:one> <e:b>", "?x <e:one> ?y . ?x <e:many> ?z",
            "?x <e:one>* ?y", "?x ?p ?y", "?x <e:one> ?z", "?x <e:absent> ?y"]  # fmt: skip


def run_alone(context: ExecutionContext, operator: BindLeftJoin) -> Solutions:
    return operator.run(context)


def join(triples: list[ox.Triple], pattern: str, rows: list[tuple[int, int]]) -> tuple[list[str], list[str], bool]:
    """The rows by a lookup where there is one, those of the join, and whether there was one."""
    store = OxigraphStore.memory(triples)
    stored = [quad.triple for quad in store.quads()]
    nodes = sorted({triple.subject for triple in stored}, key=str)
    graph = Projection(columns_of(stored, nodes), lambda *_: [])
    asked = graph.n_nodes

    def ids(cells: list[int]) -> IdColumn:
        return IdColumn(np.array([UNBOUND if cell >= asked else cell for cell in cells], np.uint32), graph)

    found = []
    looked_up: list[object] = []
    own = Prepared.only_values
    for lookup in (lambda *a: looked_up.append(value := own(*a)) or value, lambda *_: None):
        context = ExecutionContext(
            store, None, SimpleNamespace(), lambda *_: [], OxigraphStore.memory, graph=graph, price=CostModel().price
        )
        left = InColumns({"x": ids([a for a, _ in rows]), "z": ids([b for _, b in rows])}, len(rows), context.made)
        child = SimpleNamespace(run=lambda _, left=left: left, children=(), describe=lambda: "")
        fragment = operator_of(Fragment(parse(f"SELECT * {{ {pattern} }}").form.where))
        with patch.object(Prepared, "only_values", lookup), patch.object(ExecutionContext, "run", run_alone):
            result = BindLeftJoin(child, fragment, "x").run(context)
        assert isinstance(result, Solutions)
        names = sorted({*result.variables, "x", "y", "z"})
        found.append([str(row) for row in result.select(names).rows])
    return found[0], found[1], any(value is not None for value in looked_up)


@settings(max_examples=examples(60, 3000), deadline=None)
@given(
    st.dictionaries(st.sampled_from(NODES), st.sampled_from(NODES), min_size=1),
    st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES))),
    st.sampled_from(PATTERNS),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12))),
)
def test_a_lookup_has_the_rows_of_the_join(one, many, pattern, rows):
    triples = [ox.Triple(s, ox.NamedNode("e:one"), o) for s, o in one.items()]
    triples += [ox.Triple(s, ox.NamedNode("e:many"), o) for s, o in many]
    by_lookup, by_join, _ = join(triples, pattern, rows)
    assert by_lookup == by_join


@pytest.mark.parametrize(
    ("pattern", "is_looked_up"),
    [("?x <e:one> ?y", True), ("?x <e:many> ?y", False), ("?x <e:one> ?z", False),
     ("?x <e:one> ?y FILTER(?y != <e:b>)", False), ("?y <e:one> ?x", False)],
)  # fmt: skip
def test_a_single_valued_predicate_is_looked_up(pattern, is_looked_up):
    a, b, c = NODES[:3]
    triples = [ox.Triple(a, ox.NamedNode("e:one"), b), ox.Triple(c, ox.NamedNode("e:one"), b)]
    triples += [ox.Triple(a, ox.NamedNode("e:many"), o) for o in (b, c)]
    by_lookup, by_join, was_looked_up = join(triples, pattern, [(0, 1), (1, 1), (0, 0), (2, 1)])
    assert by_lookup == by_join
    assert was_looked_up == is_looked_up
    assert not join(triples, pattern, [(0, 1), (99, 1)])[2]  # an unbound cell joins with every solution
