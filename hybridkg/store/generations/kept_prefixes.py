"""Prefixes that the next generation keeps: those of the one before, and those that its inputs declare.

The first namespace of a prefix stays, so a query means the same after any load; `clashes` has the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.rdf.known_prefixes import MAX_KEPT, why_not_kept
from hybridkg.rdf.well_known import WELL_KNOWN

MAX_NAMES = 99
"""Names that are tried for a prefix that nobody declares: `film`, `film2` and so on."""


@dataclass(frozen=True, slots=True)
class PrefixClash:
    """A prefix of an input whose namespace is not kept.

    Args:
        source: the input.
        prefix: its name.
        namespace: the one that the input gives it.
        kept: the one that the knowledge base keeps; empty where it keeps none, because it has MAX_KEPT prefixes.
    """

    source: str
    prefix: str
    namespace: str
    kept: str


class KeptPrefixes:
    """The prefixes of a generation under construction.

    >>> kept = KeptPrefixes({"e": "http://e/"})
    >>> kept.add("b.ttl", {"e": "http://other/", "f": "http://f/"})
    >>> kept.kept, [clash.namespace for clash in kept.clashes], kept.has_changed
    ({'e': 'http://e/', 'f': 'http://f/'}, ['http://other/'], True)
    """

    def __init__(self, before: Mapping[str, str]):
        self._before = dict(before)
        self.kept = dict(before)
        self.clashes: list[PrefixClash] = []
        self._marked = dict(before), 0

    @property
    def has_changed(self) -> bool:
        """Whether the prefixes differ from those of the generation before."""
        return self.kept != self._before

    @property
    def new_clashes(self) -> list[PrefixClash]:
        """The clashes since `begin_request`."""
        return self.clashes[self._marked[1] :]

    def begin_request(self) -> None:
        """Marks the state to which `undo_request` goes back."""
        self._marked = dict(self.kept), len(self.clashes)

    def undo_request(self) -> None:
        """Takes back what has been added since `begin_request`."""
        kept, clashes = self._marked
        self.kept = dict(kept)
        del self.clashes[clashes:]

    def change(self, changes: Mapping[str, str | None]) -> None:
        """Sets prefixes, also where they have another namespace; None removes one."""
        kept = {**self.kept, **changes}
        self.kept = {name: namespace for name, namespace in sorted(kept.items()) if namespace is not None}

    def add(self, source: str, declared: Mapping[str, str]) -> None:
        """Keeps the prefixes that an input declares, of more than MAX_KEPT the first by name; leaves out what no query
        can use.
        """
        for name, namespace in sorted(declared.items()):
            kept = self.kept.get(name)
            if kept is not None:
                if kept != namespace:
                    self.clashes.append(PrefixClash(source, name, namespace, kept))
            elif not why_not_kept(name, namespace):
                if len(self.kept) < MAX_KEPT:
                    self.kept[name] = namespace
                else:
                    self.clashes.append(PrefixClash(source, name, namespace, ""))

    def offer(self, name: str, namespace: str) -> None:
        """Keeps a prefix that nobody declares, under another name where this one is taken, a well-known one included.

        Nothing is kept, and nothing is reported, if the namespace has a prefix, or half of MAX_KEPT prefixes are kept.

        >>> kept = KeptPrefixes({"film": "http://e/"})
        >>> kept.offer("film", "http://e/Film/"), kept.offer("f", "http://e/Film/"), kept.offer("geo", "http://e/Geo/")
        (None, None, None)
        >>> kept.kept
        {'film': 'http://e/', 'film2': 'http://e/Film/', 'geo2': 'http://e/Geo/'}
        """
        if namespace in self.kept.values() or len(self.kept) >= MAX_KEPT // 2:
            return
        for one in (name, *(f"{name}{number}" for number in range(2, MAX_NAMES + 1))):
            if one not in self.kept and one not in WELL_KNOWN and not why_not_kept(one, namespace):
                self.kept[one] = namespace
                return
