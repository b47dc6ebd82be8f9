"""Changes of the kept prefixes alone: a commit with the same graph, documents and indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hybridkg.errors import ParameterError
from hybridkg.kb.write.build_projection import PROJECTION
from hybridkg.kb.write.transaction import TEXT_INDEX
from hybridkg.rdf.known_prefixes import MAX_KEPT, why_not_kept
from hybridkg.registry import did_you_mean
from hybridkg.store.generations.folder import Folder

INDEXES = (*TEXT_INDEX, PROJECTION, "statistics.json")


def change_prefixes(folder: Folder, changes: Mapping[str, str | None], wait: float) -> None:
    """Sets prefixes, or removes those whose namespace is None; makes no generation where nothing changes.

    Raises:
        ParameterError: a name or a namespace is wrong or no text, there are too many, or one to remove is not there.
        LockedError: another writer has the lock.
    """
    if not isinstance(changes, Mapping) or not all(isinstance(one, str) for one in _texts(changes)):
        raise ParameterError(
            "prefixes are a dict of names and IRIs, both of type str", hint='{"films": "http://example.org/films/"}'
        )
    for name, namespace in changes.items():
        if namespace is not None and (reason := why_not_kept(name, namespace)):
            raise ParameterError(
                f"the prefix {name + ':'!r} cannot be kept: {reason}", hint="films=http://example.org/"
            )
    with folder.building(wait=wait) as building:
        prefixes = building.prefixes
        for name in (name for name, namespace in changes.items() if namespace is None):
            if name not in prefixes.kept:
                kept = ", ".join(f"{one}:" for one in prefixes.kept) or "none"
                raise ParameterError(
                    f"no prefix {name + ':'!r} is kept; kept: {kept}", hint=did_you_mean(name, list(prefixes.kept))
                )
        prefixes.change(changes)
        if len(prefixes.kept) > MAX_KEPT:
            raise ParameterError(f"a knowledge base keeps at most {MAX_KEPT:,} prefixes", hint="remove some: --remove")
        if not prefixes.has_changed:
            building.abandon()
            return
        for name in INDEXES:
            building.keep(name)


def _texts(changes: Mapping[Any, object]) -> Iterator[object]:
    """The names, and the namespaces that are set."""
    for name, namespace in changes.items():
        yield name
        if namespace is not None:
            yield namespace
