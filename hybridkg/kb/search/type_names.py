"""Classes by the names that people give them: an IRI, a prefixed name, a local name or a label."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from hybridkg.entities.profile.labels import local_name, same_words
from hybridkg.entities.profile.typing_predicates import TYPING_PREDICATES
from hybridkg.errors import UnknownNameError
from hybridkg.kb.search.queries import WantedTypes
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


def resolve_types(names: Sequence[str], base: SearchedBase) -> WantedTypes:
    """The classes, each once, and which of the predicates of hk:types lead to them.

    Raises:
        UnknownNameError: no entity has a class of that name, or several classes have it; lists what there is.
    """
    classes = tuple(dict.fromkeys(_resolved(name, base) for name in names))
    leading = (p for p, own in base.classes_by_predicate.items() if not own.keys().isdisjoint(classes))
    return WantedTypes(classes, tuple(leading)) if classes else WantedTypes()


def _resolved(name: str, base: SearchedBase) -> str:
    if not any(map(str.isalnum, name)):
        raise _unknown(name, [], base)
    found = _named(name, base.classes, base)
    if len(found) > 1:
        meanings = ", ".join(_counted(iri, base.classes, base) for iri in found)
        raise UnknownNameError(
            f"the type {name!r} has {len(found)} meanings here: {meanings}", hint="write one of them"
        )
    if not found:
        raise _by_other_predicate(name, base) or _unknown(name, _near(name, base), base)
    return found[0]


def _named(name: str, classes: Mapping[str, int], base: SearchedBase) -> list[str]:
    """The IRIs of the classes of that name."""
    iri = _as_iri(name, base.prefixes)
    if iri is not None:
        return [iri] if iri in classes else []
    found = [iri for iri in classes if iri.endswith(name) and last_part(iri) == name]
    found = found or [iri for iri in classes if same_words(local_name(iri), name)]
    if not found:
        found = [
            iri for iri, labels in _labelled(classes, base).items() if any(same_words(label, name) for label in labels)
        ]
    return found


def _labelled(classes: Mapping[str, int], base: SearchedBase) -> dict[str, list[str]]:
    """The labels of the most frequent classes, in every language."""
    frequent = list(classes)[:MAX_LABELLED]
    labels = base.all_labels_of(map(NamedNode, frequent))
    return {iri: labels.get(NamedNode(iri), []) for iri in frequent}


def _near(name: str, base: SearchedBase) -> list[str]:
    """IRIs of classes with a similar local name or label."""
    iri = _as_iri(name, base.prefixes)
    if iri is not None:
        return similar_iris(iri, base.classes)
    named: dict[str, list[str]] = {}
    for iri in base.classes:
        named.setdefault(last_part(iri).lower(), []).append(iri)
    for iri, labels in _labelled(base.classes, base).items():
        for label in labels:
            named.setdefault(label.lower(), []).append(iri)
    near = difflib.get_close_matches(name.lower(), named, MAX_SHOWN)
    return [iri for part in near for iri in named[part]]


def _by_other_predicate(name: str, base: SearchedBase) -> UnknownNameError | None:
    """The error of a class to which only a predicate leads that hk:types does not list; None for other names."""
    own = base.type_predicates
    for predicate in TYPING_PREDICATES:
        if predicate in own or predicate not in base.predicates():
            continue
        classes = base.classes_by(predicate)
        if not (found := _named(name, classes, base)):
            continue
        step, prefixes = shortened(predicate, base.prefixes), base.prefixes
        condition = f"{step} {shortened(found[0], prefixes)}"
        types = " ".join(shortened(iri, prefixes) for iri in (*own, predicate))
        return UnknownNameError(
            f"no entity has the type {name!r} by {' or '.join(shortened(iri, prefixes) for iri in own)}, "
            f"but by {step}: {', '.join(_counted(iri, classes, base) for iri in found[:MAX_SHOWN])}",
            hint=f"add --where {shlex.quote(condition)} (in Python: where={condition!r}); with hk:types ( {types} ) in "
            f"the profile, --type means {step} too",
        )
    return None


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
        hint = "did you mean " + ", or ".join(_counted(iri, base.classes, base) for iri in shown)
    elif base.classes:
        hint = "there are " + ", ".join(_counted(iri, base.classes, base) for iri in list(base.classes)[:MAX_SHOWN])
    else:
        hint = "nothing in this graph has a type"
    return UnknownNameError(f"no entity has the type {name!r}", hint=hint)


def _counted(iri: str, classes: Mapping[str, int], base: SearchedBase) -> str:
    """A class that can be typed, its label where the IRI is a code, and its instances."""
    n, name, written = classes[iri], base.class_names([iri])[iri], base.shortened(NamedNode(iri))
    label = f"{name!r}, " if name != written else ""
    return f"{written} ({label}{n:,} {'instance' if n == 1 else 'instances'})"
