"""Syntax of property paths (productions 88-96)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.query.ast.terms import Iri, Syntax


@dataclass(frozen=True)
class PathSequence(Syntax):
    """`a / b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class PathAlternative(Syntax):
    """`a | b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class PathInverse(Syntax):
    """`^a`."""

    path: Path


@dataclass(frozen=True)
class PathRepeat(Syntax):
    """`a*`, `a+` or `a?`; mark is that character."""

    path: Path
    mark: str


@dataclass(frozen=True)
class PathNegated(Syntax):
    """`!(a | ^b)`; each part is an IRI or the inverse of one."""

    parts: tuple[Iri | PathInverse, ...]


Path: TypeAlias = Iri | PathSequence | PathAlternative | PathInverse | PathRepeat | PathNegated
