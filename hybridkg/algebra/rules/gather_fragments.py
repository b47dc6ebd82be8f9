"""Merging of fragments: one request to the store instead of several."""

from __future__ import annotations

from hybridkg.algebra.nodes import Fragment, Join, Plan
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast

JOIN_ONLY = (ast.Triples, ast.Group, ast.UnionPattern, ast.InlineData, ast.SubSelect, ast.GraphPattern)
"""Elements that a group joins, so that their order does not matter."""


def gather_fragments(plan: Plan) -> Plan:
    """Join(Join(fragment a, x), fragment b) -> Join(fragment a+b, x).

    A join of solution multisets is commutative and associative (SPARQL 1.1 section 18.3), so the rank-free operands of
    a chain of joins become one fragment. Fragments without a shared variable stay apart: merged they would be a
    Cartesian product.
    """
    if not isinstance(plan, Join):
        return with_children(plan, gather_fragments)
    operands = [gather_fragments(operand) for operand in _operands(plan)]
    gathered: list[Plan] = []
    for operand in operands:
        if isinstance(operand, Fragment):
            at = next((i for i, other in enumerate(gathered) if _linked(other, operand)), None)
            if at is not None:
                gathered[at] = _together(gathered[at], operand)  # type: ignore[arg-type]
                continue
        gathered.append(operand)
    joined = gathered[0]
    for operand in gathered[1:]:
        joined = Join(joined, operand)
    return joined


def _operands(plan: Plan) -> list[Plan]:
    if isinstance(plan, Join):
        return _operands(plan.left) + _operands(plan.right)
    return [plan]


def _linked(a: Plan, b: Fragment) -> bool:
    return isinstance(a, Fragment) and a.dataset == b.dataset and bool(a.variables & b.variables)


def _together(a: Fragment, b: Fragment) -> Fragment:
    elements: list[ast.Element] = []
    for group in (a.group, b.group):
        plain = all(isinstance(element, JOIN_ONLY) for element in group.elements)
        elements += group.elements if plain else (group,)
    merged: list[ast.Element] = []
    for element in elements:
        if merged and isinstance(element, ast.Triples) and isinstance(merged[-1], ast.Triples):
            merged[-1] = ast.Triples(merged[-1].items + element.items, span=merged[-1].span)
        else:
            merged.append(element)
    return Fragment(ast.Group(tuple(merged)), a.dataset)
