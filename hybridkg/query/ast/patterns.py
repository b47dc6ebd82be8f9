"""Syntax of graph patterns (productions 53-67), and the ranked predicates among their triples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from hybridkg.query.ast.expressions import Expression, NamedArgument
from hybridkg.query.ast.paths import Path
from hybridkg.query.ast.terms import Iri, Lit, Syntax, TripleTerm, Var, VarOrTerm

if TYPE_CHECKING:
    from hybridkg.query.ast.queries import SelectQuery


@dataclass(frozen=True)
class TriplePattern(Syntax):
    """A triple pattern; the predicate may be a path."""

    subject: VarOrTerm
    predicate: Var | Path
    object: VarOrTerm


@dataclass(frozen=True)
class OnField(Syntax):
    """`field[@language][^weight] [name=value ...]` of an ON clause."""

    name: str
    language: str | None = None
    weight: float | None = None
    arguments: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True)
class Model(Syntax):
    """`USING name(@file, args)`; the file is written without its `@`, empty if absent."""

    name: str
    arguments: tuple[NamedArgument, ...] = ()
    file: str = ""


@dataclass(frozen=True)
class Match(Syntax):
    """`?entity MATCH [ALL] [QUERY] text [ON (...)] [USING ...] [TOP n] [AS ?score] [SNIPPET ?snippet]`."""

    entity: Var
    text: Lit | Var
    all_terms: bool = False
    query_syntax: bool = False
    fields: tuple[OnField, ...] = ()
    model: Model | None = None
    top: int | None = None
    score: Var | None = None
    snippet: Var | None = None
    plain_words: bool = field(default=False, compare=False, kw_only=True)
    """Set if the text came from a parameter: a search box is data, never query syntax. Not serialised."""


@dataclass(frozen=True)
class Vector(Syntax):
    """`[0.1, ...]`: float[dimensions]."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Near(Syntax):
    """`?entity NEAR [EXACT] target [USING encoder] [TOP n] [WITHIN threshold] [AS ?score]`.

    The target is a text, an entity, a vector, or a variable that another pattern binds.
    """

    entity: Var
    target: Lit | Iri | Var | Vector
    exact: bool = False
    encoder: Model | None = None
    top: int | None = None
    within: float | None = None
    score: Var | None = None

    @property
    def text(self) -> Lit | Iri | Var | Vector:
        """The target, under the name that `Match` has: the rest of the group binds it if it is a variable."""
        return self.target

    @property
    def snippet(self) -> None:
        """None: a NEAR has no passage."""
        return None


RankedItem: TypeAlias = Match | Near
"""A ranked predicate: a relation (entity, score)."""


@dataclass(frozen=True)
class Triples(Syntax):
    """A triples block: one basic graph pattern, with ranked predicates between its triples."""

    items: tuple[TriplePattern | RankedItem, ...]


@dataclass(frozen=True)
class Group(Syntax):
    """`{ ... }`, the elements in the order of the text."""

    elements: tuple[Element, ...]
    scope: ClassVar[frozenset[str] | None] = None
    """The variables that a solution of the group can bind; None before they are asked for (query/scope.py)."""


@dataclass(frozen=True)
class OptionalPattern(Syntax):
    """`OPTIONAL { ... }`."""

    pattern: Group


@dataclass(frozen=True)
class UnionPattern(Syntax):
    """`{...} UNION {...} ...`, at least two branches (one braced group alone is a Group)."""

    branches: tuple[Group, ...]


@dataclass(frozen=True)
class MinusPattern(Syntax):
    """`MINUS { ... }`."""

    pattern: Group


@dataclass(frozen=True)
class GraphPattern(Syntax):
    """`GRAPH name { ... }`."""

    name: Var | Iri
    pattern: Group


@dataclass(frozen=True)
class ServicePattern(Syntax):
    """`SERVICE [SILENT] endpoint { ... }`."""

    endpoint: Var | Iri
    pattern: Group
    silent: bool = False


@dataclass(frozen=True)
class Filter(Syntax):
    """`FILTER condition`."""

    condition: Expression


@dataclass(frozen=True)
class Bind(Syntax):
    """`BIND(expression AS ?variable)`."""

    expression: Expression
    variable: Var


@dataclass(frozen=True)
class InlineData(Syntax):
    """`VALUES (?x ?y) { (a b) ... }`; None is UNDEF. Each row has one cell for each variable."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Iri | Lit | TripleTerm | None, ...], ...]


@dataclass(frozen=True)
class SubSelect(Syntax):
    """A SELECT inside a group."""

    query: SelectQuery


Element: TypeAlias = (
    Triples
    | Group
    | OptionalPattern
    | UnionPattern
    | MinusPattern
    | GraphPattern
    | ServicePattern
    | Filter
    | Bind
    | InlineData
    | SubSelect
)
