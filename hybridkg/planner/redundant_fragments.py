"""Which fragments a candidate set has said everything about, so that nobody has to ask them for rows."""

from __future__ import annotations

from hybridkg.algebra.nodes import Fragment, Project
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import (
    BoundPattern,
    Distinct,
    Exists,
    Join,
    Minus,
    Pattern,
    Restrict,
    Scan,
    Variable,
)
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_shape import RankedPlan


def redundant_fragments(ranking: RankedPlan, planning: PlannerContext) -> tuple[Fragment, ...]:
    """Of the fragments that say who is a candidate, those that say nothing else.

    Such a fragment binds the one ranked variable alone, and has one row for each candidate, or DISTINCT takes its rows
    together. So a join of candidates with it gives what was there before. No value of a parameter changes this.
    """
    return planning.memoize_for_template((id(ranking), "settled"), lambda: _settled(ranking, planning))


def _settled(ranking: RankedPlan, planning: PlannerContext) -> tuple[Fragment, ...]:
    if len(ranking.variables) != 1:
        return ()
    (variable,) = ranking.variables
    distinct, store = isinstance(ranking.top, Project) and ranking.top.distinct, planning.store
    # A store gives a triple of two graphs twice where both are in the default graph.
    if planning.graph is None and (store is None or (store.repeats and not distinct)):
        return ()
    found = []
    for fragment in ranking.fragments_with(variable):
        pattern = planning.bound_fragment(fragment).pattern
        if isinstance(pattern, BoundPattern):
            pattern = pattern.template
        if isinstance(pattern, DeclinedPattern) or fragment.variables != {variable}:
            continue
        if distinct or at_most_once(pattern, variable):
            found.append(fragment)
    return tuple(found)


def at_most_once(pattern: Pattern, variable: str) -> bool:
    """Whether no two solutions of a pattern have the same value of a variable, by its form alone.

    >>> from hybridkg.interfaces.graph_index import Link
    >>> by, paper = Link("x:by"), Variable("paper")
    >>> at_most_once(Scan(paper, by, Variable("author")), "paper")
    False
    >>> at_most_once(Distinct(Scan(paper, by, Variable("author")), ("paper",)), "paper")
    True
    """
    match pattern:
        case Scan(subject, _, object_):
            names = {slot.name for slot in (subject, object_) if isinstance(slot, Variable)}
            return names <= {variable}
        case Join(parts):
            return all(at_most_once(part, variable) for part in parts)
        case Restrict(child) | Minus(child) | Exists(child):
            return at_most_once(child, variable)
        case Distinct(_, variables, distinct):
            return distinct and set(variables) <= {variable}
    return False
