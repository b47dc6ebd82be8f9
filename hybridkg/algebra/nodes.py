"""The logical plan: SPARQL 1.1 section 18.2, plus Match, Rank, Rerank and Snippet.

A subtree without a ranked predicate is one `Fragment`, kept as SPARQL syntax,
because Oxigraph is the engine that evaluates it (architecture.md, decision 1).
Only what lies above a ranked predicate has algebra of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from hybridkg.query import ast
from hybridkg.query.scope import in_scope

Dataset: TypeAlias = tuple[ast.DatasetClause, ...]
"""FROM and FROM NAMED of the query."""


GRAPH_COLUMNS = ("subject", "predicate", "object")
"""Columns of the graph that a CONSTRUCT or DESCRIBE makes."""


def makes_graph(form: ast.QueryForm) -> bool:
    """Whether the answer is a graph: that of CONSTRUCT and DESCRIBE."""
    return isinstance(form, ast.ConstructQuery | ast.DescribeQuery)


@dataclass(frozen=True)
class Fragment:
    """A group without ranked predicates; one question to the graph store."""

    group: ast.Group
    dataset: Dataset = ()

    @cached_property
    def variables(self) -> frozenset[str]:
        """Variables that a solution can bind."""
        return in_scope(self.group)


@dataclass(frozen=True)
class SparqlQuery:
    """A query without ranked predicates: Oxigraph answers all of it."""

    form: ast.QueryForm

    @property
    def variables(self) -> frozenset[str]:
        """Known to the store; of a graph, its three columns."""
        return frozenset(GRAPH_COLUMNS) if makes_graph(self.form) else frozenset()


@dataclass(frozen=True)
class Match:
    """The relation (entity, score) of the entities that a text predicate matches.

    score always has a name; it is a fresh one where the query gives none. With `snippet_early` the relation
    also has the passage as a column, because the query computes with it.
    """

    match: ast.RankedItem
    score: str
    snippet_early: bool = False

    @property
    def variables(self) -> frozenset[str]:
        """Entity, score, and the snippet where it is part of the relation."""
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
        """Of both sides."""
        return self.left.variables | self.right.variables


@dataclass(frozen=True)
class LeftJoin:
    """OPTIONAL: the left solutions, extended where the right side and the condition allow."""

    left: Plan
    right: Plan
    conditions: tuple[ast.Expression, ...] = ()
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        """Of both sides."""
        return self.left.variables | self.right.variables


@dataclass(frozen=True)
class Union:
    """Solutions of every branch, duplicates kept."""

    branches: tuple[Plan, ...]

    @property
    def variables(self) -> frozenset[str]:
        """Of any branch."""
        return frozenset().union(*(branch.variables for branch in self.branches))


@dataclass(frozen=True)
class Minus:
    """Left solutions that no right solution with a common variable is compatible with."""

    left: Plan
    right: Plan

    @property
    def variables(self) -> frozenset[str]:
        """Of the left side."""
        return self.left.variables


@dataclass(frozen=True)
class Filter:
    """Solutions for which the condition is true. dataset is what an EXISTS in it looks at."""

    child: Plan
    condition: ast.Expression
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        """Of the child."""
        return self.child.variables


@dataclass(frozen=True)
class Extend:
    """BIND: a new variable; unbound where the expression has an error."""

    child: Plan
    variable: str
    expression: ast.Expression
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        """Of the child, and the new one."""
        return self.child.variables | {self.variable}


@dataclass(frozen=True)
class MatchEach:
    """MATCH whose text is a variable: for each solution, the relation of its text, joined."""

    child: Plan
    match: Match

    @property
    def variables(self) -> frozenset[str]:
        """Of both."""
        return self.child.variables | self.match.variables


@dataclass(frozen=True)
class GraphEach:
    """GRAPH ?variable: for each named graph, the child about that graph, joined with the graph's name.

    The child stands for all of them: it asks the graph `placeholder`.
    """

    child: Plan
    variable: str
    placeholder: ast.Iri
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        """Of the child, and the name of the graph."""
        return self.child.variables | {self.variable}


@dataclass(frozen=True)
class Group:
    """GROUP BY with its aggregates and HAVING: one solution for each group.

    internal variables are ours, not the query's: they take no part in COUNT(DISTINCT *).
    """

    child: Plan
    keys: tuple[ast.GroupKey, ...]
    having: tuple[ast.Expression, ...]
    projection: tuple[ast.SelectItem, ...]
    internal: frozenset[str] = frozenset()

    @property
    def variables(self) -> frozenset[str]:
        """What is projected."""
        return frozenset(item.variable.name for item in self.projection)


@dataclass(frozen=True)
class Rank:
    """RANK BY: binds the rank score and orders by it, best first.

    An absent score of `scores` counts as min(0, the lowest surviving one); a row without any comes last
    (language.md, "Absent scores in RANK BY"). tie_breakers follow the score in the one total order.
    subjects has, for each score that a rank function reads, the variables of its entities; least, for each of which a
    function has to know it, the theoretical minimum.
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
        """Of the child, and the rank score."""
        return self.child.variables | {self.score}


@dataclass(frozen=True)
class OrderBy:
    """ORDER BY over ranked rows: (variable, descending) keys, then the one total order."""

    child: Plan
    keys: tuple[tuple[str, bool], ...]
    tie_breakers: tuple[str, ...]

    @property
    def variables(self) -> frozenset[str]:
        """Of the child."""
        return self.child.variables


@dataclass(frozen=True)
class Project:
    """Keeps the named columns; with `distinct`, the first of equal rows.

    hidden columns stay readable behind the result (scores, evidence), but are not part of a row's value.
    """

    child: Plan
    columns: tuple[str, ...]
    distinct: bool = False
    hidden: tuple[str, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """The columns, hidden ones included."""
        return frozenset(self.columns) | frozenset(self.hidden)


@dataclass(frozen=True)
class Slice:
    """OFFSET and LIMIT; limit None is no limit."""

    child: Plan
    offset: int
    limit: int | None

    @property
    def variables(self) -> frozenset[str]:
        """Of the child."""
        return self.child.variables


@dataclass(frozen=True)
class Snippet:
    """Adds the best passage of a MATCH to the rows that survived."""

    child: Plan
    match: Match

    @property
    def variables(self) -> frozenset[str]:
        """Of the child, and the snippet."""
        return self.child.variables | ({self.match.match.snippet.name} if self.match.match.snippet else set())


@dataclass(frozen=True)
class Rerank:
    """RERANK: the first rows in the order of a reranker, the others behind them as they were.

    Args:
        child: gives the rows in order, at most as many as anything above reads.
        clause: what is asked for.
        entity: the variable whose entities are scored.
        score: the variable that gets the new score; unbound behind the first rows.
        labels: (variable, name) of the scores that the reranker sees.
        matches: every MATCH and NEAR of the entity; their text is what is looked for.
    """

    child: Plan
    clause: ast.Rerank
    entity: str
    score: str
    labels: tuple[tuple[str, str], ...] = ()
    matches: tuple[ast.RankedItem, ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """Of the child, and the new score."""
        return self.child.variables | {self.score}


@dataclass(frozen=True)
class Construct:
    """CONSTRUCT: the template filled in for each solution, each triple once, in the order of the solutions."""

    child: Plan
    template: tuple[ast.TriplePattern, ...]

    @property
    def variables(self) -> frozenset[str]:
        """The three columns of a graph."""
        return frozenset(GRAPH_COLUMNS)


@dataclass(frozen=True)
class Describe:
    """DESCRIBE: what the graph says of each node of these variables, then of these IRIs, in the order of the rows."""

    child: Plan
    subjects: tuple[ast.Var | ast.Iri, ...]
    dataset: Dataset = ()

    @property
    def variables(self) -> frozenset[str]:
        """The three columns of a graph."""
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


def children(plan: Plan) -> tuple[Plan, ...]:
    """The plans directly below."""
    match plan:
        case Fragment() | SparqlQuery() | Match():
            return ()
        case Join(left, right) | LeftJoin(left, right) | Minus(left, right):
            return (left, right)
        case Union(branches):
            return branches
        case _:
            return (plan.child,)
