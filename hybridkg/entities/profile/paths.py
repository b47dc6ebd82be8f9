"""Property paths of a profile: from an entity to the nodes or literals of a field.

The shapes are those of SHACL in Turtle and of SPARQL 1.1 section 9. The constructors check IRIs, so the SPARQL text of
a tree can be inserted into a query without further checks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from hybridkg.rdf.terms import NamedNode

DEEPEST_PATH = 20
"""Maximum nesting of a path, since every walk over the tree is recursive."""


@dataclass(frozen=True)
class ShaclPredicate:
    """One step along an IRI.

    Raises:
        ValueError: `iri` is not an absolute IRI that SPARQL can write.
    """

    iri: str

    def __post_init__(self) -> None:
        NamedNode(self.iri)


@dataclass(frozen=True)
class Sequence:
    """`a / b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class ShaclAlternative:
    """`a | b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class ShaclInverse:
    """`^a`."""

    path: Path


@dataclass(frozen=True)
class Repeat:
    """`a*`, `a+` or `a?`; mark is that character."""

    path: Path
    mark: str


Path: TypeAlias = ShaclPredicate | Sequence | ShaclAlternative | ShaclInverse | Repeat


def to_sparql(path: Path) -> str:
    """The path as SPARQL text, with brackets wherever they could matter.

    >>> to_sparql(Sequence((ShaclInverse(ShaclPredicate("x:a")), Repeat(ShaclPredicate("x:b"), "*"))))
    '(^<x:a>/<x:b>*)'
    """
    match path:
        case ShaclPredicate(iri):
            return f"<{iri}>"
        case Sequence(parts):
            return f"({'/'.join(map(to_sparql, parts))})"
        case ShaclAlternative(parts):
            return f"({'|'.join(map(to_sparql, parts))})"
        case ShaclInverse(inner):
            return f"^{to_sparql(inner)}" if isinstance(inner, ShaclPredicate) else f"^({to_sparql(inner)})"
        case Repeat(inner, mark):
            return f"{to_sparql(inner)}{mark}" if isinstance(inner, ShaclPredicate) else f"({to_sparql(inner)}){mark}"


def single_steps(path: Path) -> Iterator[str]:
    """Predicates that are a whole path by themselves: the path itself, or branches of its top alternative.

    >>> sorted(single_steps(ShaclAlternative((ShaclPredicate("x:a"), ShaclInverse(ShaclPredicate("x:b"))))))
    ['x:a']
    """
    match path:
        case ShaclPredicate(iri):
            yield iri
        case ShaclAlternative(parts):
            for part in parts:
                yield from single_steps(part)
        case _:
            return


def longer_part(path: Path) -> Path | None:
    """The rest of a path without its single steps; None for no rest.

    >>> longer_part(ShaclAlternative((ShaclPredicate("x:a"), ShaclInverse(ShaclPredicate("x:b")))))
    ShaclInverse(path=ShaclPredicate(iri='x:b'))
    """
    match path:
        case ShaclPredicate():
            return None
        case ShaclAlternative(parts):
            rest = tuple(part for part in map(longer_part, parts) if part is not None)
            return rest[0] if len(rest) == 1 else ShaclAlternative(rest) if rest else None
        case _:
            return path


def alternatives(path: Path | None) -> tuple[Path, ...]:
    """The branches of `longer_part` of a path.

    >>> a, b, c = map(ShaclPredicate, ("x:a", "x:b", "x:c"))
    >>> alternatives(ShaclAlternative((a, ShaclInverse(b), ShaclInverse(c))))
    (ShaclInverse(path=ShaclPredicate(iri='x:b')), ShaclInverse(path=ShaclPredicate(iri='x:c')))
    """
    rest = longer_part(path) if path is not None else None
    return rest.parts if isinstance(rest, ShaclAlternative) else () if rest is None else (rest,)


def can_be_empty(path: Path) -> bool:
    """Whether the path also leads from a node to itself in no steps.

    >>> can_be_empty(Sequence((Repeat(ShaclPredicate("x:a"), "*"), Repeat(ShaclPredicate("x:b"), "?"))))
    True
    """
    match path:
        case ShaclPredicate():
            return False
        case Sequence(parts):
            return all(map(can_be_empty, parts))
        case ShaclAlternative(parts):
            return any(map(can_be_empty, parts))
        case ShaclInverse(inner):
            return can_be_empty(inner)
        case Repeat(inner, mark):
            return mark != "+" or can_be_empty(inner)


def path_to_data(path: Path) -> Any:
    """The path as JSON values: a string for an IRI, otherwise a list that begins with the operator.

    >>> path_to_data(Repeat(ShaclPredicate("x:a"), "+"))
    ['+', 'x:a']
    """
    match path:
        case ShaclPredicate(iri):
            return iri
        case Sequence(parts):
            return ["/", *map(path_to_data, parts)]
        case ShaclAlternative(parts):
            return ["|", *map(path_to_data, parts)]
        case ShaclInverse(inner):
            return ["^", path_to_data(inner)]
        case Repeat(inner, mark):
            return [mark, path_to_data(inner)]


def path_from_data(data: Any, depth: int = 0) -> Path:
    """The inverse of `path_to_data`.

    Raises:
        ValueError: `data` is no path, or nests deeper than DEEPEST_PATH.

    >>> path_from_data(["/", "x:a", ["^", "x:b"]])
    Sequence(parts=(ShaclPredicate(iri='x:a'), ShaclInverse(path=ShaclPredicate(iri='x:b'))))
    """
    if depth > DEEPEST_PATH:
        raise ValueError(f"a path nests deeper than {DEEPEST_PATH}")
    match data:
        case str():
            return ShaclPredicate(data)
        case ["/", _, *_]:
            return Sequence(tuple(path_from_data(part, depth + 1) for part in data[1:]))
        case ["|", _, *_]:
            return ShaclAlternative(tuple(path_from_data(part, depth + 1) for part in data[1:]))
        case ["^", inner]:
            return ShaclInverse(path_from_data(inner, depth + 1))
        case ["*" | "+" | "?" as mark, inner]:
            return Repeat(path_from_data(inner, depth + 1), str(mark))
    raise ValueError(f"no path: {data!r}")
