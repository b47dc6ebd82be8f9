"""Comparison of variables that have only nodes, as the data show, by their terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import cast

from hybridkg.algebra.nodes import Filter, Fragment, Join, LeftJoin, Minus, Plan
from hybridkg.algebra.nodes import walk as parts_of
from hybridkg.algebra.rules.push_filters import push_translated_filters
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk

HasNodesOnly = Callable[[str], bool]
"""Whether every object of a predicate is an IRI or a blank node."""


def compare_nodes(plan: Plan, has_nodes_only: HasNodesOnly) -> Plan:
    """`FILTER(?a != ?b)` -> `FILTER(!SAMETERM(?a, ?b))` where a triple binds one of both to a node, then pushed.

    A node equals only itself; two literals are equal if their values are, and only the data exclude them.
    """
    if not any(isinstance(part, Filter) and any(map(_is_comparison, walk(part.condition))) for part in parts_of(plan)):
        return plan
    return push_translated_filters(_rewritten(plan, has_nodes_only))


def _rewritten(plan: Plan, has_nodes_only: HasNodesOnly) -> Plan:
    plan = with_children(plan, lambda child: _rewritten(child, has_nodes_only))
    if not isinstance(plan, Filter):
        return plan
    nodes = {name for name, predicate in _objects(plan.child) if has_nodes_only(predicate)}

    def by_terms(node: ast.Syntax) -> ast.Syntax:
        if _is_comparison(node) and {node.left.name, node.right.name} & nodes:  # type: ignore[attr-defined]
            assert isinstance(node, ast.Binary)
            same = ast.Call("SAMETERM", (node.left, node.right), span=node.span)
            return same if node.op == "=" else ast.Unary("!", same, span=node.span)
        return node if isinstance(node, ast.Exists) else rebuild(node, by_terms)

    condition = cast(ast.Expression, by_terms(plan.condition))
    return plan if condition == plan.condition else replace(plan, condition=condition)


def _is_comparison(node: ast.Syntax) -> bool:
    return (
        isinstance(node, ast.Binary)
        and node.op in ("=", "!=")
        and isinstance(node.left, ast.Var)
        and isinstance(node.right, ast.Var)
    )


def _objects(plan: Plan) -> Iterator[tuple[str, str]]:
    """(variable, predicate) of the triples that bind an object in every row."""
    match plan:
        case Fragment(group):
            for element in group.elements:
                for item in element.items if isinstance(element, ast.Triples) else ():
                    match item:
                        case ast.TriplePattern(_, ast.Iri(value) as iri, ast.Var(name)) if not isinstance(
                            iri, ast.IriParameter
                        ):
                            yield name, value
        case Join(left, right):
            yield from _objects(left)
            yield from _objects(right)
        case LeftJoin(left, _) | Minus(left, _) | Filter(left, _):
            yield from _objects(left)
