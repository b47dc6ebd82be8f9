"""Joins and MINUS in place of the EXISTS of a ranked query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hybridkg.algebra.certain import certain
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.decorrelation import correlated_part
from hybridkg.algebra.names import FreshNames
from hybridkg.algebra.nodes import Dataset, Extend, Filter, Fragment, Group, Join, LeftJoin, Match, Minus, Plan, walk
from hybridkg.algebra.rules.narrow_distinct import distinct_fragment, read_by
from hybridkg.algebra.rules.push_filters import is_declined, push
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast
from hybridkg.query.scope import is_hybrid
from hybridkg.query.walk import variables


def join_exists(plan: Plan) -> Plan:
    """Filter(a, EXISTS { ?e MATCH "x" . b }) -> Join(Join(a, Match), the distinct ?e of b); NOT EXISTS of one of them
    -> Minus(a, Match) or Minus(a, b).

    Valid if ?e is certain in a and in b, and b depends on the row by equal values alone. The join then multiplies no
    solution, because a relation has at most one row for an entity, and its score gets a name that nothing reads. What
    is left of b is pushed into a fragment of a, where one binds ?e. An EXISTS of an OPTIONAL that depends only on what
    its right side binds is a filter of that side.
    """
    if not any(isinstance(condition, ast.Exists) for part in walk(plan) for condition in _conditions(part)):
        return plan
    taken = read_by(plan).union(*(part.variables for part in walk(plan)))
    return _joined(plan, FreshNames(taken))


def _conditions(plan: Plan) -> tuple[ast.Expression, ...]:
    match plan:
        case Filter(_, condition):
            return (condition,)
        case LeftJoin(_, _, conditions):
            return conditions
    return ()


def _joined(plan: Plan, names: FreshNames) -> Plan:
    if isinstance(plan, LeftJoin):
        plan = _with_filters(plan)
    plan = with_children(plan, lambda child: _joined(child, names))
    if isinstance(plan, Group):
        return replace(plan, internal=plan.internal | names.generated)
    if not isinstance(plan, Filter) or not isinstance(plan.condition, ast.Exists):
        return plan
    child, condition = plan.child, plan.condition
    for item in _matches(condition.pattern):
        rest = _without(condition.pattern, item)
        if not _is_independent(item, rest, child) or (condition.negated and rest.elements):
            continue
        match = Match(replace(item, score=None), names.name("exists"), is_test=True)
        if condition.negated:
            return Minus(child, match)
        child, condition = _with_match(child, match), replace(condition, pattern=rest)
    if not condition.pattern.elements:
        return child
    tested = None if is_hybrid(condition.pattern) else push(child, condition)
    return tested or _with_fragment(child, condition, plan.dataset) or replace(plan, child=child, condition=condition)


def _with_match(plan: Plan, match: Match) -> Plan:
    """The join of a plan with a MATCH of an entity that it always binds, below what depends on each row alone."""
    match plan:
        case Filter(child, _) | Extend(child, _, _):
            return replace(plan, child=_with_match(child, match))
        case LeftJoin(left, _) | Minus(left, _):
            return replace(plan, left=_with_match(left, match))
    return Join(plan, match)


def _with_filters(plan: LeftJoin) -> LeftJoin:
    """OPTIONAL with those EXISTS inside its right side that depend on nothing else."""
    sure, outer = certain_of(plan.right), plan.left.variables | plan.right.variables
    for condition in plan.conditions:
        if isinstance(condition, ast.Exists) and variables(condition) & outer <= sure:
            others = tuple(other for other in plan.conditions if other is not condition)
            plan = replace(plan, right=Filter(plan.right, condition, plan.dataset), conditions=others)
    return plan


def _matches(group: ast.Group) -> Iterator[ast.RankedItem]:
    """Ranked predicates directly in a group, without those whose text or passage is a variable."""
    for element in group.elements:
        for item in element.items if isinstance(element, ast.Triples) else ():
            if isinstance(item, ast.RankedItem) and not isinstance(item.text, ast.Var) and item.snippet is None:
                yield item


def _without(group: ast.Group, item: ast.RankedItem) -> ast.Group:
    """The group without one of its ranked predicates."""
    elements: list[ast.Element] = []
    for element in group.elements:
        if isinstance(element, ast.Triples):
            items = tuple(other for other in element.items if other is not item)
            elements += [replace(element, items=items)] if items else []
        else:
            elements.append(element)
    return replace(group, elements=tuple(elements))


def _is_independent(item: ast.RankedItem, rest: ast.Group, child: Plan) -> bool:
    """Whether a row satisfies a predicate and the rest of its group together if it satisfies each of them."""
    outer = child.variables
    if item.entity.name not in certain_of(child):
        return False
    if item.score is not None and item.score.name in outer | variables(rest):
        return False
    return correlated_part(rest, outer) is None


def _with_fragment(child: Plan, condition: ast.Exists, dataset: Dataset) -> Plan | None:
    """The join of a plan with the pattern of an EXISTS, or its MINUS; None where only a test of each row has both."""
    fragment = Fragment(condition.pattern, dataset)
    shared = fragment.variables & child.variables
    if is_hybrid(condition.pattern) or not shared or not shared <= certain_of(child) & certain(condition.pattern):
        return None
    if correlated_part(condition.pattern, child.variables) is not None:
        return None
    distinct = distinct_fragment(fragment, shared)
    if is_declined(distinct):
        return None
    return Minus(child, fragment) if condition.negated else Join(child, distinct)
