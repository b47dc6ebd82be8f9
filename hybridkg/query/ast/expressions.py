"""Syntax of expressions (productions 110-127), and the functions of RANK BY."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hybridkg.query.ast.terms import Iri, Lit, Syntax, TripleTerm, Var

if TYPE_CHECKING:
    from hybridkg.query.ast.patterns import Group


@dataclass(frozen=True)
class Binary(Syntax):
    """A binary operation; op is one of `|| && = != < > <= >= + - * /`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Unary(Syntax):
    """A unary operation; op is one of `! + -`."""

    op: str
    operand: Expression


@dataclass(frozen=True)
class In(Syntax):
    """`operand [NOT] IN (options)`."""

    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Call(Syntax):
    """A built-in (its upper-case name) or a function named by an IRI.

    base resolves the arguments of IRI and URI; None in a query without BASE.
    """

    function: str | Iri
    arguments: tuple[Expression, ...]
    distinct: bool = False
    base: str | None = None


@dataclass(frozen=True)
class Exists(Syntax):
    """`[NOT] EXISTS { pattern }`."""

    pattern: Group
    negated: bool = False


@dataclass(frozen=True)
class Aggregate(Syntax):
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; argument None is `*`."""

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str | None = None


@dataclass(frozen=True)
class NamedArgument(Syntax):
    """`name=value` of a field or a model; a variable stands for a parameter, which may be an IRI."""

    name: str
    value: Lit | Var | Iri


@dataclass(frozen=True)
class RankedList(Syntax):
    """A score as an argument of a RankFunction, with an optional weight."""

    score: Var
    weight: float | None = None


@dataclass(frozen=True)
class RankFunction(Syntax):
    """`rrf(...)`, `minmax(...)`: a function of FUSIONS over the scores of all rows; only in RANK BY."""

    name: str
    lists: tuple[RankedList, ...]
    arguments: tuple[NamedArgument, ...] = ()


Expression: TypeAlias = Var | Iri | Lit | TripleTerm | Binary | Unary | In | Call | Exists | Aggregate | RankFunction
