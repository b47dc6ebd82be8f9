"""Comparison of variables that have only nodes, as the data show, by their terms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from hybridkg.algebra.nodes import Filter, Fragment, Join, LeftJoin, Minus, Plan
from hybridkg.algebra.nodes import walk as parts_of
from hybridkg.algebra.rules.push_filters import push_translated_filters
from hybridkg.algebra.rules.rebuild import with_children
from hybridkg.algebra.to_tests import IriComparison
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk

EQUALITIES = ("=", "!=")
INEQUALITIES = ("<", "<=", ">", ">=")


def compare_nodes(plan: Plan, graph: GraphIndex) -> Plan:
    """`FILTER(?a != ?b)` -> `FILTER(!SAMETERM(?a, ?b))` where a triple binds one of both to a node, then pushed.

    A node equals only itself; two literals are equal if their values are, and only the data exclude them. Likewise
    `STR(?a) < STR(?b)` of IRIs is a comparison of their places in the order of terms.
    """
    if not any(isinstance(part, Filter) and any(map(_compared, walk(part.condition))) for part in parts_of(plan)):
        return plan
    return push_translated_filters(_rewritten(plan, graph))


def _rewritten(plan: Plan, graph: GraphIndex) -> Plan:
    plan = with_children(plan, lambda child: _rewritten(child, graph))
    if not isinstance(plan, Filter):
        return plan
    predicates = dict(_objects(plan.child))

    def by_terms(node: ast.Syntax) -> ast.Syntax:
        if isinstance(node, ast.Exists):
            return node
        if not isinstance(node, ast.Binary) or not (names := _compared(node)):
            return rebuild(node, by_terms)
        of_names = [predicates[name] for name in names if name in predicates]
        if node.op in EQUALITIES:
            if not any(map(graph.has_nodes_only, of_names)):
                return node
            same = ast.Call("SAMETERM", (node.left, node.right), span=node.span)
            return same if node.op == "=" else ast.Unary("!", same, span=node.span)
        is_ordered = len(of_names) == len(names) and graph.orders_objects(*of_names)
        return IriComparison(node.op, node.left, node.right, span=node.span) if is_ordered else node

    condition = cast(ast.Expression, by_terms(plan.condition))
    return plan if condition is plan.condition else replace(plan, condition=condition)


def _compared(node: ast.Syntax) -> tuple[str, ...]:
    """The variables of `?a = ?b`, `?a != ?b`, or an inequality of STR(?a) and STR(?b); empty for anything else."""
    match node:
        case ast.Binary(op, ast.Var(a), ast.Var(b)) if op in EQUALITIES:
            return a, b
        case ast.Binary(op, ast.Call("STR", (ast.Var(a),)), ast.Call("STR", (ast.Var(b),))) if op in INEQUALITIES:
            return a, b
    return ()


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
