"""A pattern that is prepared by its template is the pattern prepared alone: its rows, sizes and costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Any

import pytest
from generated_patterns import ABSENT, LONELY, NODES, Maker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import examples
from test_patterns_equal_oxigraph import projection

from hybridkg.graph.projection import Prepared
from hybridkg.interfaces.graph_index import (
    BoundPattern,
    Join,
    LeftJoin,
    Pattern,
    PredicatePath,
    Scan,
    StringTest,
    TermParameter,
    Values,
    Variable,
)
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.terms import NamedNode, Triple

S, O = Variable("s"), Variable("o")  # noqa: E741


def opened(part: Any, change: Callable[[NamedNode], NamedNode | TermParameter]) -> Any:
    """A pattern with other constants in its triples and comparisons."""
    if isinstance(part, tuple):
        return tuple(opened(item, change) for item in part)
    if isinstance(part, NamedNode):
        return change(part)
    if isinstance(part, Values | StringTest) or not is_dataclass(part) or isinstance(part, type):
        return part
    return replace(part, **{one.name: opened(getattr(part, one.name), change) for one in fields(part)})


def facts(prepared: Prepared | None) -> Any:
    """All that can be told of a pattern."""
    if prepared is None:
        return None
    meter = Meter()
    table = prepared.rows(prepared.variables, meter)
    certain = sorted(prepared.node.certain)
    return (
        prepared.variables, certain, table.size, [column.tolist() for column in table.columns], dict(meter.counts),
        [(prepared.size(name), prepared.work(name)) for name in (None, *prepared.variables)],
        [(prepared.work_each(name), prepared.candidates(name, Meter()).tolist()) for name in certain],
    )  # fmt: skip


def template_of(pattern: Pattern, random: Random) -> tuple[Pattern, list[NamedNode]]:
    """A pattern with parameters in place of some of its IRIs, and these."""
    iris: list[NamedNode] = []

    def open_some(iri: NamedNode) -> NamedNode | TermParameter:
        if iri not in (*NODES, ABSENT, LONELY) or random.random() < 0.3:
            return iri
        iris.append(iri)
        return TermParameter(len(iris) - 1)

    return opened(pattern, open_some), iris


@settings(max_examples=examples(9, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_what_has_been_prepared_for_other_values_changes_nothing(random: Random) -> None:
    maker = Maker(random)
    triples, pattern = maker.graph(), maker.pattern()
    template, iris = template_of(pattern, random)
    index = projection(triples)
    assert BoundPattern(template, tuple(iris)).whole == pattern
    for _ in range(3):
        bound = BoundPattern(template, tuple(iris))
        assert facts(index.compile(bound)) == facts(projection(triples).compile(bound.whole))
        iris = [random.choice([*NODES, ABSENT]) for _ in iris]


@pytest.mark.parametrize("absent", [False, True])
def test_a_template_is_prepared_once(absent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, d, *_ = NODES
    triples = [Triple(one, NamedNode("x:p"), other) for one, other in ((a, b), (a, c), (d, c))]
    index, asked = projection(triples), list[Any]()
    node = index._node
    monkeypatch.setattr(index, "_node", lambda pattern, *values: asked.append(values) or node(pattern, *values))
    template = Join((Scan(S, PredicatePath("x:p"), TermParameter(0)), Scan(S, PredicatePath("x:p"), O)))
    sizes = []
    for iri in (b, c, ABSENT if absent else b):
        prepared = index.compile(BoundPattern(template, (iri,)))
        assert prepared is not None
        sizes.append(prepared.rows(("s", "o"), Meter()).size)
    assert sizes == [2, 3, 0 if absent else 2]
    assert asked == [()]


def test_a_template_is_compiled_from_terms_where_a_solution_may_do_without_an_absent_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    a, b, *_ = NODES
    index, asked = projection([Triple(a, NamedNode("x:p"), b)]), list[Any]()
    node = index._node
    monkeypatch.setattr(index, "_node", lambda pattern, *values: asked.append(values) or node(pattern, *values))
    template = LeftJoin(Scan(S, PredicatePath("x:p"), O), Scan(O, PredicatePath("x:p"), TermParameter(0)))
    prepared = index.compile(BoundPattern(template, (ABSENT,)))
    assert prepared is not None
    assert prepared.rows(("s", "o"), Meter()).size == 1
    assert asked == [(), ((ABSENT,),)]
