"""Syntax of queries and their solution modifiers (productions 1-30)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from hybridkg.query.ast.expressions import Expression
from hybridkg.query.ast.patterns import Group, InlineData, Model, TriplePattern
from hybridkg.query.ast.terms import Iri, Syntax, Var


@dataclass(frozen=True)
class DatasetClause(Syntax):
    """`FROM <iri>` or `FROM NAMED <iri>`."""

    graph: Iri
    named: bool = False


@dataclass(frozen=True)
class SelectItem(Syntax):
    """`?x`, or `(expression AS ?x)`."""

    variable: Var
    expression: Expression | None = None


@dataclass(frozen=True)
class GroupKey(Syntax):
    """A key of GROUP BY, with an optional name."""

    expression: Expression
    variable: Var | None = None


@dataclass(frozen=True)
class OrderKey(Syntax):
    """A key of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class RankBy(Syntax):
    """`RANK BY expression [AS ?score]`."""

    expression: Expression
    score: Var | None = None


@dataclass(frozen=True)
class Rerank(Syntax):
    """`RERANK TOP n USING reranker(...) [ON ?variable] [AS ?score]`."""

    top: int
    reranker: Model
    on: Var | None = None
    score: Var | None = None


@dataclass(frozen=True)
class Modifiers(Syntax):
    """Solution modifiers; RANK BY takes the place of ORDER BY, RERANK follows it."""

    group_by: tuple[GroupKey, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    rank_by: RankBy | None = None
    limit: int | None = None
    offset: int | None = None
    rerank: Rerank | None = None


@dataclass(frozen=True)
class SelectQuery(Syntax):
    """A SELECT; projection None is `*`; reduction is "", "DISTINCT" or "REDUCED"."""

    projection: tuple[SelectItem, ...] | None
    where: Group
    reduction: str = ""
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class AskQuery(Syntax):
    """`ASK { ... }`."""

    where: Group
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class ConstructQuery(Syntax):
    """`CONSTRUCT { template } WHERE { ... }`; the template of the short form is its own triples."""

    template: tuple[TriplePattern, ...]
    where: Group
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class DescribeQuery(Syntax):
    """`DESCRIBE`; empty subjects are `*`."""

    subjects: tuple[Var | Iri, ...]
    where: Group | None
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


QueryForm: TypeAlias = SelectQuery | AskQuery | ConstructQuery | DescribeQuery


@dataclass(frozen=True)
class Query(Syntax):
    """A whole query text.

    explain is "", "plan" (EXPLAIN) or "analyze" (EXPLAIN ANALYZE). prefixes are those declared, only to shorten IRIs
    for display.
    """

    form: QueryForm
    explain: str = ""
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
