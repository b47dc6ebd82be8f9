"""Prefixes that need no declaration in a query: those that a knowledge base keeps, and well-known ones.

A declaration in the query wins over a kept prefix, which wins over a well-known one. `KnownPrefixes` is interned, so
its identity is a key of caches: equal texts over two knowledge bases have two parses unless their prefixes are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from hybridkg.rdf.terms import NamedNode
from hybridkg.rdf.well_known import WELL_KNOWN

MAX_KEPT = 1_000
"""Prefixes that a knowledge base keeps; a file of a hostile user may declare a million."""

MAX_NAMESPACE_LENGTH = 500
"""Characters of a kept namespace, and of one that a shared query text declares: no expansion exceeds the limits of the
parser."""

MAX_NAME_LENGTH = 60

_START = (
    r"A-Za-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C-\u200D\u2070-\u218F\u2C00-\u2FEF"
    r"\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
_INSIDE = _START + r"_0-9\u00B7\u0300-\u036F\u203F-\u2040\-"
_NAME = re.compile(f"(?:[{_START}](?:[{_INSIDE}.]*[{_INSIDE}])?)?")
"""A prefix without its colon, which may be empty: PN_PREFIX of SPARQL 1.1."""

_UNQUOTABLE = re.compile(r"[<>\"{}|^`\\\x00-\x20]")


def why_not_kept(name: str, namespace: str) -> str:
    """The reason why a prefix cannot be kept, in a few words; empty where it can.

    >>> why_not_kept("films", "http://example.org/films/"), why_not_kept("1a", "http://e/"), why_not_kept("a", "rel/")
    ('', "'1a' is not a prefix name", "'rel/' is not an absolute IRI")
    """
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        return f"{name[:MAX_NAME_LENGTH]!r} is not a prefix name"
    if len(namespace) > MAX_NAMESPACE_LENGTH:
        return f"its namespace has more than {MAX_NAMESPACE_LENGTH} characters"
    try:
        NamedNode(namespace)
    except ValueError:
        return f"{namespace!r} is not an absolute IRI"
    return "" if not _UNQUOTABLE.search(namespace) else f"{namespace!r} is not an absolute IRI"


class KnownPrefixes(Mapping[str, str]):
    """The namespace of each prefix that needs no declaration; equal to itself only.

    `known_prefixes` makes it. Iteration is in the order of preference for abbreviations: kept ones by name, then
    well-known ones.
    """

    __slots__ = ("_all", "kept")

    def __init__(self, kept: Mapping[str, str], others: Mapping[str, str]):
        self.kept: Mapping[str, str] = MappingProxyType({name: kept[name] for name in sorted(kept)})
        self._all = {**self.kept, **{name: iri for name, iri in others.items() if name not in kept}}

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getitem__(self, name: str) -> str:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def under(self, own: tuple[tuple[str, str], ...]) -> dict[str, str]:
        """All prefixes for the abbreviations of a query, whose `own` come first and win.

        >>> [*known_prefixes({"e": "http://e/"}).under((("f", "http://f/"), ("rdfs", "http://r/"))).items()][:3]
        [('f', 'http://f/'), ('rdfs', 'http://r/'), ('e', 'http://e/')]
        """
        first = dict(own)
        return first | {name: iri for name, iri in self._all.items() if name not in first}


def known_prefixes(kept: Mapping[str, str]) -> KnownPrefixes:
    """The prefixes of a knowledge base that keeps these.

    >>> known = known_prefixes({"films": "http://example.org/films/"})
    >>> known["films"], known["rdfs"], known is known_prefixes({"films": "http://example.org/films/"})
    ('http://example.org/films/', 'http://www.w3.org/2000/01/rdf-schema#', True)
    """
    return _interned(tuple(sorted(kept.items())))


@lru_cache(maxsize=256)
def _interned(kept: tuple[tuple[str, str], ...]) -> KnownPrefixes:
    return KnownPrefixes(dict(kept), WELL_KNOWN)


ONLY_WELL_KNOWN = known_prefixes({})
"""The prefixes of a text outside a knowledge base."""

ONLY_DECLARED = KnownPrefixes({}, {})
"""None at all: strict SPARQL."""
