"""Classes by the names that people give them: an IRI, a prefixed name, a local name or a label."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hybridkg.entities.profile.labels import local_name, same_words
from hybridkg.errors import UnknownNameError
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.similar import similar_iris
from hybridkg.rdf.terms import NamedNode
from hybridkg.rdf.well_known import shortened

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

MAX_LABELLED = 2_000
"""Most frequent classes whose labels are compared with a name."""

MAX_SHOWN = 5
"""Names in a hint."""


def resolve_types(names: Sequence[str], base: SearchedBase) -> tuple[str, ...]:
    """The IRI of each class, once.

    Raises:
        UnknownNameError: no entity has a class of that name, or several classes have it; lists what there is.
    """
    return tuple(dict.fromkeys(_resolved(name, base) for name in names))


def _resolved(name: str, base: SearchedBase) -> str:
    classes, prefixes = base.classes, base.prefixes
    if not any(map(str.isalnum, name)):
        raise _unknown(name, [], base)
    iri = _as_iri(name, prefixes)
    if iri is not None:
        if iri in classes:
            return iri
        raise _unknown(name, similar_iris(iri, classes), base)
    found = [iri for iri in classes if iri.endswith(name) and last_part(iri) == name]
    found = found or [iri for iri in classes if same_words(local_name(iri), name)]
    if not found:
        frequent = list(classes)[:MAX_LABELLED]
        labels = base.labels_of(map(NamedNode, frequent))
        found = [iri for iri in frequent if same_words(labels.get(NamedNode(iri), ""), name)]
    if len(found) > 1:
        raise UnknownNameError(
            f"the type {name!r} has {len(found)} meanings here: {', '.join(_counted(iri, base) for iri in found)}",
            hint="write one of them",
        )
    if not found:
        near = difflib.get_close_matches(name.lower(), [last_part(iri).lower() for iri in classes], MAX_SHOWN)
        raise _unknown(name, [iri for part in near for iri in classes if last_part(iri).lower() == part], base)
    return found[0]


def _as_iri(name: str, prefixes: Mapping[str, str]) -> str | None:
    """The IRI that a name is, by itself or with a prefix; None for a word."""
    if name.startswith("<") and name.endswith(">"):
        return name[1:-1]
    prefix, colon, rest = name.partition(":")
    if not colon:
        return None
    if prefix in prefixes and not rest.startswith("//"):
        return prefixes[prefix] + rest
    if rest.startswith("//") or prefix.lower() == "urn":
        return name
    known = ", ".join(f"{one}:" for one in sorted(prefixes))
    raise UnknownNameError(
        f"no prefix {prefix + ':'!r} in the type {name!r}; known: {known}",
        hint="write the IRI, or the name without a prefix",
    )


def _unknown(name: str, near: Sequence[str], base: SearchedBase) -> UnknownNameError:
    shown = list(dict.fromkeys(near))[:MAX_SHOWN]
    if shown:
        hint = "did you mean " + ", or ".join(_counted(iri, base) for iri in shown)
    elif base.classes:
        hint = "there are " + ", ".join(_counted(iri, base) for iri in list(base.classes)[:MAX_SHOWN])
    else:
        hint = "nothing in this graph has a type"
    return UnknownNameError(f"no entity has the type {name!r}", hint=hint)


def _counted(iri: str, base: SearchedBase) -> str:
    n = base.classes[iri]
    return f"{shortened(iri, base.prefixes)} ({n:,} {'instance' if n == 1 else 'instances'})"
