"""A pattern that is prepared by its form is the pattern prepared alone: its rows, sizes and costs."""

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
from hybridkg.interfaces.graph_index import Form, Join, Pattern, PredicatePath, Scan, Variable
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.terms import NamedNode, Triple

S, O = Variable("s"), Variable("o")  # noqa: E741


def changed(part: Any, change: Callable[[NamedNode], NamedNode]) -> Any:
    """A pattern with other IRIs."""
    if isinstance(part, NamedNode):
        return change(part)
    if isinstance(part, tuple):
        return tuple(changed(item, change) for item in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{one.name: changed(getattr(part, one.name), change) for one in fields(part)})
    return part


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


def formed(pattern: Pattern, random: Random) -> tuple[Form, list[NamedNode]]:
    """A form of a pattern, some of whose IRIs it leaves open, and these."""
    iris: list[NamedNode] = []

    def open_some(iri: NamedNode) -> NamedNode:
        if iri not in (*NODES, ABSENT, LONELY) or random.random() < 0.3:
            return iri
        iris.append(iri)
        return NamedNode(f"x:placeholder{len(iris) - 1}")

    form = changed(pattern, open_some)
    return Form(form, tuple(NamedNode(f"x:placeholder{at}") for at in range(len(iris)))), iris


@settings(max_examples=examples(80, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_what_has_been_prepared_for_others_of_its_form_changes_nothing(random: Random) -> None:
    maker = Maker(random)
    triples, pattern = maker.graph(), maker.pattern()
    form, iris = formed(pattern, random)
    index = projection(triples)
    for _ in range(3):
        values = dict(zip(form.placeholders, iris, strict=True))
        filled = changed(form.pattern, lambda iri, values=values: values.get(iri, iri))
        assert facts(index.compile(filled, form, iris)) == facts(projection(triples).prepare(filled))
        iris = [random.choice([*NODES, ABSENT]) for _ in iris]


@pytest.mark.parametrize("absent", [False, True])
def test_a_form_is_prepared_once(absent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, d, *_ = NODES
    triples = [Triple(one, NamedNode("x:p"), other) for one, other in ((a, b), (a, c), (d, c))]
    index, asked = projection(triples), list[Pattern]()
    node = index._node
    monkeypatch.setattr(index, "_node", lambda pattern, *more: asked.append(pattern) or node(pattern, *more))
    hole = NamedNode("x:placeholder")
    form = Form(Join((Scan(S, PredicatePath("x:p"), hole), Scan(S, PredicatePath("x:p"), O))), (hole,))
    sizes = []
    for iri in (b, c, ABSENT if absent else b):
        pattern = changed(form.pattern, lambda one, iri=iri: iri if one == hole else one)
        prepared = index.compile(pattern, form, [iri])
        assert prepared is not None
        sizes.append(prepared.rows(("s", "o"), Meter()).size)
    assert sizes == [2, 3, 0 if absent else 2]
    assert asked == ([form.pattern, pattern] if absent else [form.pattern])
