"""The base class of syntax nodes, and terms (productions 106-111, 128-140)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from hybridkg.errors import Span
from hybridkg.interfaces.parameter import Parameter, Unbound

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES = RDF + "reifies"


@dataclass(frozen=True)
class Syntax:
    """A node of the syntax tree."""

    span: Span = field(default=Span(), compare=False, kw_only=True, repr=False)
    descendants: ClassVar[tuple[Syntax, ...] | None] = None
    """The nodes below in preorder; None for a node that has not been walked, or has many (query/walk.py)."""


@dataclass(frozen=True)
class Leaf(Syntax):
    """A node without nodes below it."""

    descendants: ClassVar[tuple[Syntax, ...] | None] = ()


@dataclass(frozen=True)
class Var(Leaf):
    """`?name` or `$name`, without the mark; both are the same variable. Parameters are written with `$`."""

    name: str
    is_marked: bool = field(default=False, compare=False, kw_only=True, repr=False)
    """Whether it is written with `$`."""


@dataclass(frozen=True)
class Iri(Leaf):
    """An absolute IRI."""

    value: str


@dataclass(frozen=True)
class Blank(Leaf):
    """`_:label`, or a fresh label for `[]`; a variable that cannot be projected."""

    label: str


@dataclass(frozen=True)
class Lit(Leaf):
    """A literal; datatype is an absolute IRI, None for simple and language-tagged strings.

    direction is the base direction of a language-tagged string, `ltr` or `rtl` (RDF 1.2).
    """

    lexical: str
    datatype: str | None = None
    language: str | None = None
    direction: str | None = None


@dataclass(frozen=True)
class TripleTerm(Syntax):
    """`<<( subject predicate object )>>`: a triple as a term (SPARQL 1.2); its variables make it a pattern."""

    subject: VarOrTerm
    predicate: Var | Iri
    object: VarOrTerm


GraphTerm: TypeAlias = Iri | Lit | Blank | TripleTerm
VarOrTerm: TypeAlias = Var | Iri | Lit | Blank | TripleTerm

UNBOUND: Any = Unbound()


@dataclass(frozen=True)
class IriParameter(Iri, Parameter):
    """The IRI of parameter `number`."""

    value: str = field(init=False, repr=False, compare=False, default=UNBOUND)
    number: int

    def value_in(self, bindings: Any) -> Iri:
        return Iri(bindings.values[self.number].value, span=self.span)


@dataclass(frozen=True)
class LiteralParameter(Lit, Parameter):
    """The literal of parameter `number`; with `plain`, without the datatype of the value."""

    lexical: str = field(init=False, repr=False, compare=False, default=UNBOUND)
    datatype: str | None = field(init=False, repr=False, compare=False, default=UNBOUND)
    language: str | None = field(init=False, repr=False, compare=False, default=UNBOUND)
    direction: str | None = field(init=False, repr=False, compare=False, default=UNBOUND)
    number: int
    plain: bool = False

    def value_in(self, bindings: Any) -> Lit:
        value = bindings.values[self.number]
        datatype = None if self.plain else value.datatype
        return Lit(value.lexical, datatype, value.language, value.direction, span=self.span)


@dataclass(frozen=True)
class ListParameter(LiteralParameter):
    """The cells of a column of VALUES: the values of parameter `number`."""

    many = True

    def value_in(self, bindings: Any) -> Any:
        return bindings.values[self.number]


Constant: TypeAlias = Iri | Lit
Value: TypeAlias = Constant | tuple[Constant, ...]
"""Value of a parameter: one constant, or the constants of a list."""


def parameter_for(value: Value, number: int) -> Value:
    """A parameter for values of the same kind."""
    if isinstance(value, tuple):
        return (ListParameter(number),)
    return IriParameter(number) if isinstance(value, Iri) else LiteralParameter(number)
