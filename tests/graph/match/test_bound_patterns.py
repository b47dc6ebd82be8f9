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
    Restrict,
    Scan,
    StringTest,
    TermParameter,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.interfaces.meter import Meter
from hybridkg.rdf.terms import Literal, NamedNode, Triple

S, O = Variable("s"), Variable("o")  # noqa: E741

INTEGER = NamedNode("http://www.w3.org/2001/XMLSchema#integer")


Constant = NamedNode | Literal


def opened(part: Any, change: Callable[[Constant], Constant | TermParameter]) -> Any:
    """A pattern with other constants in its triples, comparisons and tables."""
    if isinstance(part, tuple):
        return tuple(opened(item, change) for item in part)
    if isinstance(part, NamedNode):
        return change(part)
    if isinstance(part, ValueComparison) and isinstance(part.constant, Literal):
        return replace(part, constant=change(part.constant))
    if isinstance(part, Values):
        rows = (tuple(None if cell is None else change(cell) for cell in row) for row in part.rows)
        return replace(part, rows=tuple(rows))
    if isinstance(part, StringTest) or not is_dataclass(part) or isinstance(part, type):
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


def template_of(pattern: Pattern, random: Random) -> tuple[Pattern, list[Constant]]:
    """A pattern with parameters in place of some of its constants, and these."""
    constants: list[Constant] = []

    def open_some(constant: Constant) -> Constant | TermParameter:
        is_name = isinstance(constant, NamedNode) and constant not in (*NODES, ABSENT, LONELY)
        if is_name or random.random() < 0.3:
            return constant
        constants.append(constant)
        return TermParameter(len(constants) - 1)

    return opened(pattern, open_some), constants


def another(constant: Constant, random: Random) -> Constant:
    """A constant in place of another one; of a literal, a number."""
    if isinstance(constant, Literal):
        return Literal(str(random.randrange(6)), datatype=INTEGER)
    return random.choice([*NODES, ABSENT])


@settings(max_examples=examples(9, 500), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_what_has_been_prepared_for_other_values_changes_nothing(random: Random) -> None:
    maker = Maker(random)
    triples, pattern = maker.graph(), maker.pattern()
    template, constants = template_of(pattern, random)
    index = projection(triples)
    assert BoundPattern(template, tuple(constants)).whole == pattern
    for _ in range(3):
        bound = BoundPattern(template, tuple(constants))
        assert facts(index.compile(bound)) == facts(projection(triples).compile(bound.whole))
        constants = [another(constant, random) for constant in constants]


@pytest.mark.parametrize("absent", [False, True])
def test_a_template_is_prepared_once(absent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, d, *_ = NODES
    triples = [Triple(one, NamedNode("x:p"), other) for one, other in ((a, b), (a, c), (d, c))]
    index, asked = projection(triples), list[Any]()
    compiler = index._compiler
    monkeypatch.setattr(index, "_compiler", lambda pattern, *values: asked.append(values) or compiler(pattern, *values))
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
    compiler = index._compiler
    monkeypatch.setattr(index, "_compiler", lambda pattern, *values: asked.append(values) or compiler(pattern, *values))
    template = LeftJoin(Scan(S, PredicatePath("x:p"), O), Scan(O, PredicatePath("x:p"), TermParameter(0)))
    prepared = index.compile(BoundPattern(template, (ABSENT,)))
    assert prepared is not None
    assert prepared.rows(("s", "o"), Meter()).size == 1
    assert asked == [(), ((ABSENT,),)]


def test_a_template_with_a_table_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b, c, *_ = NODES
    index, asked = projection([Triple(a, NamedNode("x:p"), b), Triple(b, NamedNode("x:p"), c)]), list[Any]()
    compiler = index._compiler
    monkeypatch.setattr(index, "_compiler", lambda pattern, *values: asked.append(values) or compiler(pattern, *values))
    table = Values(("s",), ((TermParameter(0),), (a,)))
    template = Join((Scan(S, PredicatePath("x:p"), O), table))
    for iri, size in ((b, 2), (c, 1), (ABSENT, 1)):
        bound = BoundPattern(template, (iri,))
        assert facts(index.compile(bound)) == facts(index.compile(bound.whole))
        assert index.compile(bound).rows(("s",), Meter()).size == size  # type: ignore[union-attr]
    assert asked.count(()) == 1
    assert not any(values and values[0] for values in asked)


def test_a_template_with_compared_numbers_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    years = [Literal(str(year), datatype=INTEGER) for year in range(6)]
    triples = [Triple(a, NamedNode("x:year"), year) for a, year in zip(NODES, years, strict=False)]
    index, asked = projection(triples), list[Any]()
    compiler = index._compiler
    monkeypatch.setattr(index, "_compiler", lambda pattern, *values: asked.append(values) or compiler(pattern, *values))
    low, high = (ValueComparison("o", op, TermParameter(number)) for number, op in enumerate((">=", "<")))
    template = Restrict(Scan(S, PredicatePath("x:year"), O), (low, high))
    found = []
    for first, end in ((1, 3), (2, 5), (4, 4)):
        bound = BoundPattern(template, (years[first], years[end]))
        assert facts(index.compile(bound)) == facts(index.compile(bound.whole))
        found.append(index.compile(bound).rows(("o",), Meter()).size)  # type: ignore[union-attr]
    assert found == [2, min(5, len(NODES)) - 2, 0]
    assert asked.count(()) == 1
    assert not any(values and values[0] for values in asked)
