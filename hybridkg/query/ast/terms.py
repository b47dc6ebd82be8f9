"""The base of every node, and terms (productions 106-111, 128-140)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from hybridkg.errors import Span

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(frozen=True)
class Syntax:
    """Base of every node of the tree."""

    span: Span = field(default=Span(), compare=False, kw_only=True, repr=False)


@dataclass(frozen=True)
class Var(Syntax):
    """`?name` or `$name`, without the mark."""

    name: str


@dataclass(frozen=True)
class Iri(Syntax):
    """An absolute IRI."""

    value: str


@dataclass(frozen=True)
class Blank(Syntax):
    """`_:label`, or a fresh label for `[]`; a variable that cannot be projected."""

    label: str


@dataclass(frozen=True)
class Lit(Syntax):
    """A literal. datatype is an absolute IRI, None for simple and language-tagged strings."""

    lexical: str
    datatype: str | None = None
    language: str | None = None


GraphTerm: TypeAlias = Iri | Lit | Blank
VarOrTerm: TypeAlias = Var | Iri | Lit | Blank
