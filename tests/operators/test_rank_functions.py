"""rrf, minmax and zscore over generated rows, held to a restatement pair by pair."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.operators.rank_functions import with_rank_functions
from hybridkg.query.parser import parse
from hybridkg.rdf.order import term_key
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import Literal, NamedNode, double

SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 3.0])
tables = st.dictionaries(st.sampled_from("abcdef"), SCORES, max_size=6)
"""A relation: entity -> score."""


def rows_of(left, right, copies):
    """?x with its scores in both relations, every row as often as `copies` says."""
    entities = sorted({*left, *right})
    return [
        (NamedNode(f"e:{e}"), *(double(table[e]) if e in table else None for table in (left, right)))
        for e in entities
        for _ in range(copies)
    ]


def values(function, left, right, copies=1):
    """The value of a function in each row."""
    rows = rows_of(left, right, copies)
    solutions = Solutions(("x", "s", "t"), rows)
    floors = [min([0.0, *table.values()]) for table in (left, right)]
    filled = [(x, s or double(floors[0]), t or double(floors[1])) for x, s, t in rows]
    floored = Solutions(solutions.variables, filled)
    expression = parse(f"SELECT * {{ }} RANK BY {function}").form.modifiers.rank_by.expression
    changed, with_columns = with_rank_functions(expression, solutions, floored, {"s": ("x",), "t": ("x",)})
    at = with_columns.variables.index(changed.name)
    return [(row[0].value[2:], float(row[at].value)) for row in with_columns.rows]


def rank_in(table, entity):
    """1 + how many are better; of equal ones the smaller term is better."""
    key = lambda e: (-table[e], term_key(NamedNode(f"e:{e}")))
    return 1 + sum(key(other) < key(entity) for other in table)


@given(tables, tables, st.integers(1, 3), st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([0, 1, 60]))
def test_rrf_adds_the_reciprocal_ranks_of_distinct_subjects(left, right, copies, weight, k):
    for entity, value in values(f"rrf(?s^{weight}, ?t, k={k})", left, right, copies):
        want = (weight / (k + rank_in(left, entity)) if entity in left else 0.0) + (
            1 / (k + rank_in(right, entity)) if entity in right else 0.0
        )
        assert value == pytest.approx(want, rel=1e-12)


@given(tables, tables, st.integers(1, 3))
def test_minmax_is_between_0_and_1_and_the_best_has_1(left, right, copies):
    found = values("minmax(?s)", left, right, copies)
    for entity, value in found:
        if entity in left:
            assert 0 <= value <= 1
            assert (value == 1) == (left[entity] == max(left.values()))
        elif left:
            assert value <= min(other for name, other in found if name in left) or min(left.values()) == max(
                left.values()
            )


@given(tables, tables, st.integers(1, 3))
def test_zscores_of_the_distinct_subjects_have_mean_0_and_deviation_1(left, right, copies):
    found = {entity: value for entity, value in values("zscore(?s)", left, right, copies) if entity in left}
    if len(set(left.values())) > 1:
        mean = math.fsum(found.values()) / len(found)
        assert mean == pytest.approx(0, abs=1e-9)
        assert math.fsum(v * v for v in found.values()) / len(found) == pytest.approx(1)
    else:
        assert set(found.values()) <= {0.0}


@given(tables, tables, st.integers(2, 4), st.sampled_from(["rrf(?s, ?t)", "minmax(?s)", "zscore(?t)"]))
def test_a_row_that_comes_several_times_counts_once(left, right, copies, function):
    assert dict(values(function, left, right, copies)) == dict(values(function, left, right, 1))


def test_the_first_of_one_list_has_one_in_sixty_one():
    assert values("rrf(?s)", {"a": 2.0}, {}) == [("a", 1 / 61)]


def test_an_unused_literal_is_no_score():
    solutions = Solutions(("x", "s"), [(NamedNode("e:a"), Literal("1"))])
    expression = parse("SELECT * { } RANK BY ?s + 1").form.modifiers.rank_by.expression
    assert with_rank_functions(expression, solutions, solutions, {}) == (expression, solutions)
