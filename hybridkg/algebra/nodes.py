"""The logical plan: SPARQL 1.1 section 18.2, plus Match, Rank, Rerank and Snippet.

A subtree without a ranked predicate is one `Fragment` of SPARQL syntax, because Oxigraph evaluates it (architecture.md,
decision 1). Only the operators above a ranked predicate have algebra of their own. `variables` of a node are the
variables that its solutions can bind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.interfaces.graph_index import Pattern
from hybridkg.query import ast
from hybridkg.query.scope import in_scope

Dataset: TypeAlias = tuple[ast.DatasetClause, ...]
"""FROM and FROM NAMED of the query."""

GRAPH_COLUMNS = ("subject", "predicate", "object")
"""Columns of the graph of a CONSTRUCT or DESCRIBE."""


def makes_graph(form: ast.QueryForm) -> bool:
    """Whether the answer is a graph, as for CONSTRUCT and DESCRIBE."""
    return isinstance(form, ast.ConstructQuery | ast.DescribeQuery)


@dataclass(frozen=True)
class Fragment:
    """A group without ranked predicates; one request to the graph store.

    Args:
        group: the group.
        dataset: FROM of the query.
        kept: the variables of the group that its solutions keep; None for all.
        counted: a generated variable; where it has a value, a whole number, the solution stands for that many equal
            ones, and elsewhere for itself. Empty where every solution is listed.
    """

    group: ast.Group
    dataset: Dataset = ()
    kept: frozenset[str] | None = None
    counted: str = ""

    @cached_property
    def variables(self) -> frozenset[str]:
        return in_scope(self.group) if self.kept is None else self.kept

    @cached_property
    def pattern(self) -> Pattern | DeclinedPattern:
        """The group for the projection, or the reason why it cannot express it.

        Raises:
            UnboundParameterError: a value of a parameter decides.
        """
        return pattern_of(self.group, self.dataset)


ALL_TRIPLES = Fragment(
    ast.Group((ast.Triples((ast.TriplePattern(*map(ast.Var, GRAPH_COLUMNS)),)),))
)  # fmt: skip
"""Every triple of the default graph, with the columns of a graph."""


@dataclass(frozen=True)
class SparqlQuery:
    """A query without ranked predicates, which Oxigraph can answer whole; only a graph has known variables.

    relational is the algebra of the same query, for operators over columns of ids; None for a form that has none.
    """

    form: ast.QueryForm
    relational: Plan | None = None

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(GRAPH_COLUMNS) if makes_graph(self.form) else frozenset()


@dataclass(frozen=True)
class Match:
    """The relation (entity, score) of the entities that a text predicate matches.

    score is never empty: it is generated if the query has no name for it. With `snippet_early` the relation includes
    the passage as a column, because an expression of the query reads it. `is_test` marks one that only keeps rows: no
    part of the query reads its score.
    """

    match: ast.RankedItem
    score: str
    snippet_early: bool = False
    is_test: bool = False

    @property
    def variables(self) -> frozenset[str]:
        names = {self.match.entity.name, self.score}
        if isinstance(self.match.text, ast.Var):
            names.add(self.match.text.name)
        if self.snippet_early and self.match.snippet:
            names.add(self.match.snippet.name)
        return frozenset(names)


@dataclass(frozen=True)
class Join:
    """Pairs of compatible solutions."""

    left: Plan
    right: Plan

    @property
    def variables(self) -> frozenset[str]:
        return self.left.variables | self.right.variables


@dataclass(frozen=True)
class LeftJoin:
    """OPTIONAL: the left solutions, extended by compatible right solutions that satisfy the conditions."""

    left: Plan
    right: Plan
    conditions: tuple[ast.Expression, ...] = ()
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.left.variables | self.right.variables


@dataclass(frozen=True)
class Union:
    """Solutions of every branch, with duplicates."""

    branches: tuple[Plan, ...]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset().union(*(branch.variables for branch in self.branches))


@dataclass(frozen=True)
class Minus:
    """Left solutions without a compatible right solution that shares a variable."""

    left: Plan
    right: Plan

    @property
    def variables(self) -> frozenset[str]:
        return self.left.variables


@dataclass(frozen=True)
class Filter:
    """Solutions that satisfy the condition; dataset is that of an EXISTS in it."""

    child: Plan
    condition: ast.Expression
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables


@dataclass(frozen=True)
class Extend:
    """BIND: a new variable, unbound if the expression has an error."""

    child: Plan
    variable: str
    expression: ast.Expression
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | {self.variable}


@dataclass(frozen=True)
class MatchEach:
    """MATCH with a variable text: for each solution, a join with the relation of its text."""

    child: Plan
    match: Match

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | self.match.variables


@dataclass(frozen=True)
class GraphEach:
    """GRAPH ?variable: for each named graph, the child over that graph, joined with the graph's name.

    The child is a template that reads the graph `placeholder`.
    """

    child: Plan
    variable: str
    placeholder: ast.Iri
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | {self.variable}


@dataclass(frozen=True)
class Group:
    """GROUP BY with its aggregates and HAVING: one solution for each group.

    internal variables are generated, so they take no part in COUNT(DISTINCT *). A solution of the child stands for as
    many as the product of its values of `counts`, the variables of counted fragments.
    """

    child: Plan
    keys: tuple[ast.GroupKey, ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[ast.SelectItem, ...]
    internal: frozenset[str] = frozenset()
    counts: tuple[str, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(item.variable.name for item in self.projection)


@dataclass(frozen=True)
class Rank:
    """RANK BY: binds the rank score and orders by it, best first.

    An absent score of `scores` counts as min(0, the minimum of the surviving ones); where all are absent, they are
    unbound, and a row without a value is last (language.md, "Absent scores in RANK BY"). tie_breakers follow the score
    in the one total order. subjects has the entity variables of each score that a rank function reads; least has the
    theoretical minima of scores whose function needs them.
    """

    child: Plan
    expression: ast.Expression
    score: str
    scores: tuple[str, ...]
    tie_breakers: tuple[str, ...]
    subjects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    least: tuple[tuple[str, float], ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | {self.score}


@dataclass(frozen=True)
class OrderBy:
    """ORDER BY: (variable, descending) keys, then the one total order; tie_breakers None leaves ties as they are."""

    child: Plan
    keys: tuple[tuple[str, bool], ...]
    tie_breakers: tuple[str, ...] | None

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables


@dataclass(frozen=True)
class Project:
    """The named columns; with `distinct`, the first of equal rows.

    hidden columns stay readable in the result (scores, evidence), but are not part of a row's value. A solution of the
    child stands for as many as the product of its values of `counts`, as in Group.
    """

    child: Plan
    columns: tuple[str, ...]
    distinct: bool = False
    hidden: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(self.columns) | frozenset(self.hidden)


@dataclass(frozen=True)
class Slice:
    """OFFSET and LIMIT; limit None is no limit."""

    child: Plan
    offset: int
    limit: int | None

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables


@dataclass(frozen=True)
class Snippet:
    """The best passage of a MATCH, added to the surviving rows."""

    child: Plan
    match: Match

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | ({self.match.match.snippet.name} if self.match.match.snippet else set())


@dataclass(frozen=True)
class Rerank:
    """RERANK: the first rows in the order of a reranker, followed by the others in their order.

    Args:
        child: the rows in order, limited to those that the operators above read.
        clause: the syntax of the RERANK.
        entity: the variable whose entities are scored.
        score: the variable of the new score; unbound after the first rows.
        labels: (variable, name) of the scores that the reranker reads.
        matches: every MATCH and NEAR of the entity; their texts are the query of the reranker.
    """

    child: Plan
    clause: ast.Rerank
    entity: str
    score: str
    labels: tuple[tuple[str, str], ...] = ()
    matches: tuple[ast.RankedItem, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        return self.child.variables | {self.score}


@dataclass(frozen=True)
class Construct:
    """CONSTRUCT: the template instantiated for each solution, distinct triples in the order of the solutions."""

    child: Plan
    template: tuple[ast.TriplePattern, ...]

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(GRAPH_COLUMNS)


@dataclass(frozen=True)
class Describe:
    """DESCRIBE: the description of each node of these variables, then of these IRIs, in the order of the rows."""

    child: Plan
    subjects: tuple[ast.Var | ast.Iri, ...]
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(GRAPH_COLUMNS)


Plan: TypeAlias = (
    Fragment
    | SparqlQuery
    | Match
    | MatchEach
    | GraphEach
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Extend
    | Group
    | Rank
    | OrderBy
    | Project
    | Slice
    | Snippet
    | Rerank
    | Construct
    | Describe
)


RELATIONS = (Fragment, SparqlQuery, Match)
"""Classes of the operators without children."""

BINARY = (Join, LeftJoin, Minus)
"""Classes of the operators with two."""


def children(plan: Plan) -> tuple[Plan, ...]:
    if isinstance(plan, RELATIONS):
        return ()
    if isinstance(plan, BINARY):
        return (plan.left, plan.right)
    return plan.branches if isinstance(plan, Union) else (plan.child,)


def walk(plan: Plan) -> Iterator[Plan]:
    """The plan and all plans below it."""
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(children(part))
