"""Redundant fragments: those whose rows need not be read because the candidate set already implies them."""

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
    """Fragments that restrict the candidate set and contribute nothing else.

    Such a fragment binds the one ranked variable alone and has one row for each candidate, or DISTINCT merges its rows,
    so a join with the candidates changes nothing. Equal for all parameter values.
    """
    return planning.memoize_for_template((id(ranking), "redundant"), lambda: _find_redundant(ranking, planning))


def _find_redundant(ranking: RankedPlan, planning: PlannerContext) -> tuple[Fragment, ...]:
    if len(ranking.variables) != 1:
        return ()
    (variable,) = ranking.variables
    distinct, store = isinstance(ranking.top, Project) and ranking.top.distinct, planning.store
    # A store returns a triple of two graphs twice if both are in the default graph.
    if planning.graph is None and (store is None or (store.repeats and not distinct)):
        return ()
    redundant = []
    for fragment in ranking.fragments_with(variable):
        pattern = planning.bound_fragment(fragment).pattern
        if isinstance(pattern, BoundPattern):
            pattern = pattern.template
        if isinstance(pattern, DeclinedPattern) or fragment.variables != {variable}:
            continue
        if distinct or at_most_once(pattern, variable):
            redundant.append(fragment)
    return tuple(redundant)


def at_most_once(pattern: Pattern, variable: str) -> bool:
    """Whether the form of a pattern alone rules out two solutions with the same value of a variable.

    >>> from hybridkg.interfaces.graph_index import PredicatePath
    >>> by, paper = PredicatePath("x:by"), Variable("paper")
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
