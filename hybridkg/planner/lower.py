"""Lowering of logical nodes to physical operators."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from hybridkg.algebra import nodes
from hybridkg.algebra.certain_plan import certain_of
from hybridkg.algebra.decorrelation import correlated_part
from hybridkg.algebra.from_ast import exists_plan
from hybridkg.algebra.rules import rewrite
from hybridkg.algebra.visible import first_subject
from hybridkg.errors import UnsupportedQueryError
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.construct import Construct
from hybridkg.operators.describe import Describe
from hybridkg.operators.expressions import ExistsTest
from hybridkg.operators.extend import Extend
from hybridkg.operators.filter import Filter
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.graph_each import GraphEach
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.join import HashJoin, Union, shared_by
from hybridkg.operators.left_join import LeftJoin
from hybridkg.operators.match_each import MatchEach
from hybridkg.operators.minus import Minus
from hybridkg.operators.order_rows import OrderRows, RankRows
from hybridkg.operators.project import Project, Slice
from hybridkg.operators.rerank import Rerank
from hybridkg.operators.snippet import Snippet
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.operators.text_relation import TextRelation
from hybridkg.planner.ranking_shape import spine_of
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, variables

Planner = Callable[[nodes.Plan], PhysicalOperator]
"""Makes the operators of a plan, by some strategy."""

FragmentPlanner = Callable[[nodes.Fragment], PhysicalOperator]
"""Makes the operator of a fragment."""

ExistsPlanner = Callable[[nodes.Plan, Collection[nodes.Match]], PhysicalOperator]
"""Makes the operators of a pattern, some of whose MATCHes run over slices of their relations."""

Ready = Mapping[int, PhysicalOperator]
"""Operators by `id` of the logical node: comparing deep trees takes longer than planning."""


def lower(
    plan: nodes.Plan,
    ready: Ready | None = None,
    again: Planner | None = None,
    fragment: FragmentPlanner | None = None,
    exists: ExistsPlanner | None = None,
) -> PhysicalOperator:
    """Physical plan of a logical plan.

    Args:
        plan: logical plan.
        ready: operators of subtrees that a strategy has planned already, by the identity of the node.
        again: plans the operators for each graph of GRAPH ?variable.
        fragment: plans a fragment; without it, the store returns all of its rows.
        exists: plans the pattern of an EXISTS, restricting the relations of the given MATCHes to the entities of the
            rows; without it, they are complete.
    """
    return _Lowering(ready or {}, again or lower, fragment or in_store, exists).operator(plan)


def left_condition(
    plan: nodes.LeftJoin, fragment: FragmentPlanner | None = None, exists: ExistsPlanner | None = None
) -> tuple[ast.Expression | None, tuple[ExistsTest, ...]]:
    """Conjunction of the conditions of an OPTIONAL, and the EXISTS tests in it."""
    return _Lowering({}, lower, fragment or in_store, exists).left_condition(plan)


def _restricted_matches(pattern: nodes.Plan, certain: frozenset[str]) -> tuple[nodes.Match, ...]:
    """MATCHes of an EXISTS pattern that are evaluated for the entities of the rows only."""
    while isinstance(pattern, nodes.Project):
        pattern = pattern.child
    return tuple(
        part
        for part in spine_of(pattern).matches
        if part.match.entity.name in certain and part.match.top is None and not part.snippet_early
    )


def in_store(fragment: nodes.Fragment) -> PhysicalOperator:
    """Fragment as one query to the store."""
    return SparqlFragment(fragment.group, tuple(sorted(fragment.variables)), fragment.dataset)


@dataclass
class _Lowering:
    ready: Ready
    again: Planner
    fragment: FragmentPlanner
    exists: ExistsPlanner | None = None
    tests: int = field(default=0)

    def operator(self, plan: nodes.Plan) -> PhysicalOperator:
        if id(plan) in self.ready:
            return self.ready[id(plan)]
        match plan:
            case nodes.Fragment():
                return self.fragment(plan)
            case nodes.SparqlQuery(form):
                return StoreQuery(form)
            case nodes.Match(match, score, early):
                relation = TextRelation(match, score)
                return Snippet(relation, match, score) if early and isinstance(match, ast.Match) else relation
            case nodes.MatchEach(child, nodes.Match(match, score, early)):
                each = MatchEach(self.operator(child), match, score)
                return Snippet(each, match, score) if early and isinstance(match, ast.Match) else each
            case nodes.GraphEach(child, variable, placeholder, dataset):
                columns = tuple(sorted(child.variables))
                return GraphEach(
                    self.operator(child), variable, columns, _Graphs(child, placeholder, self.again).operator, dataset
                )
            case nodes.Join(left, right):
                return HashJoin(self.operator(left), self.operator(right), (left, right))
            case nodes.LeftJoin(left, right, _, _):
                condition, tests = self.left_condition(plan)
                return LeftJoin(self.operator(left), self.operator(right), condition, tests, (left, right))
            case nodes.Union(branches):
                return Union(tuple(self.operator(branch) for branch in branches))
            case nodes.Minus(left, right):
                return Minus(self.operator(left), self.operator(right), shared_by((left, right)))
            case nodes.Filter(child, condition, dataset):
                condition, tests = self.prepared(condition, plan, dataset)
                return Filter(self.operator(child), _truth(condition), tests)
            case nodes.Extend(child, variable, expression, dataset):
                expression, tests = self.prepared(expression, plan, dataset)
                below = self.operator(child)
                if isinstance(below, Extend) and not tests and variables(expression).isdisjoint(dict(below.computed)):
                    return Extend(below.child, (*below.computed, (variable, expression)), below.tests)
                return Extend(below, ((variable, expression),), tests)
            case nodes.Group(child, keys, having, projection, internal, counts):
                ranked = tuple(name for name in first_subject(child) if name in child.variables)
                return GroupRows(self.operator(child), keys, having, projection, internal, ranked, counts)
            case nodes.Rank(child, expression, score, scores, ties, subjects, least):
                return RankRows(self.operator(child), expression, score, scores, ties, subjects, least)
            case nodes.OrderBy(child, order, ties):
                return OrderRows(self.operator(child), order, ties)
            case nodes.Project(child, columns, distinct, hidden, counts):
                return Project(self.operator(child), columns, distinct, hidden, counts)
            case nodes.Construct(child, template):
                return Construct(self.operator(child), template)
            case nodes.Describe(child, subjects, dataset):
                triples = self.fragment(nodes.ALL_TRIPLES)
                described = triples if isinstance(triples, GraphFragment) and not dataset else None
                return Describe(self.operator(child), subjects, dataset, described)
            case nodes.Slice(child, offset, limit):
                return Slice(self.operator(child), offset, limit)
            case nodes.Rerank(child, clause, entity, score, labels, matches):
                return Rerank(self.operator(child), clause, entity, score, labels, matches)
            case nodes.Snippet(child, nodes.Match(match, score, _)):
                assert isinstance(match, ast.Match)
                return Snippet(self.operator(child), match, score)

    def left_condition(self, plan: nodes.LeftJoin) -> tuple[ast.Expression | None, tuple[ExistsTest, ...]]:
        if not plan.conditions:
            return None, ()
        together = plan.conditions[0]
        for condition in plan.conditions[1:]:
            together = ast.Binary("&&", together, condition)
        condition, tests = self.prepared(together, plan, plan.dataset)
        return _truth(condition), tests

    def prepared(
        self, expression: ast.Expression, plan: nodes.Plan, dataset: nodes.Dataset
    ) -> tuple[ast.Expression, tuple[ExistsTest, ...]]:
        """Expression with a variable in place of each EXISTS, and the tests that bind those variables."""
        outer = nodes.Union(nodes.children(plan)).variables
        taken = variables(expression) | outer
        certain = certain_of(nodes.Union(nodes.children(plan)))
        tests: list[ExistsTest] = []

        def change(node: ast.Syntax) -> ast.Syntax:
            if not isinstance(node, ast.Exists):
                return rebuild(node, change)
            if (part := correlated_part(node.pattern, outer)) is not None:
                raise UnsupportedQueryError(
                    "this part of an EXISTS depends on the tested row, which a query with MATCH or NEAR cannot have",
                    hint="bind the variables it uses by a triple inside the EXISTS, or join instead",
                    span=part.span,
                )
            self.tests += 1
            name = f"_exists{self.tests}"
            while name in taken:
                name += "_"
            pattern = rewrite(exists_plan(node.pattern, dataset, outer))
            among = () if self.exists is None else _restricted_matches(pattern, certain)
            operator = self.operator(pattern) if self.exists is None else self.exists(pattern, among)
            tests.append(ExistsTest(name, operator, node.negated, tuple((m.match, m.score) for m in among)))
            return ast.Var(name)

        return change(expression), tuple(tests)  # type: ignore[return-value]


@dataclass(frozen=True)
class _Graphs:
    template: nodes.Plan
    placeholder: ast.Iri
    again: Planner

    def operator(self, name: str) -> PhysicalOperator:
        return self.again(_replaced(self.template, self.placeholder, ast.Iri(name)))


def _replaced(value: Any, old: ast.Iri, new: ast.Iri) -> Any:
    if value == old:
        return new
    if isinstance(value, tuple):
        return tuple(_replaced(item, old, new) for item in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {f.name: _replaced(getattr(value, f.name), old, new) for f in fields(value) if f.init}
    return replace(value, **changed)


def _truth(condition: ast.Expression) -> ast.Expression:
    """Effective boolean value (SPARQL 1.1 section 17.2.2) as a term: true, false or an error."""
    yes, no = (ast.Lit(word, "http://www.w3.org/2001/XMLSchema#boolean") for word in ("true", "false"))
    return ast.Call("IF", (condition, yes, no))
