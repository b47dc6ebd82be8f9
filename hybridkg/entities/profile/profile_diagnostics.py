"""Diagnosis of empty fields and classes of a profile: a misspelt IRI is no error, only an empty field."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from hybridkg.entities.profile.paths import (
    Path,
    Repeat,
    Sequence,
    ShaclAlternative,
    ShaclInverse,
    ShaclPredicate,
    single_steps,
)
from hybridkg.entities.profile.profile import Field, Profile
from hybridkg.entities.profile.profile_reader import known_profiles
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.similar import similar_iris

MAX_SHOWN = 3
"""Predicates named in one note; with more the note has their number."""

MAX_TRIPLES_SEARCHED = 5_000_000
"""Maximum size of a graph that is searched for similar names, which reads all of it."""


def doubts(profile: Profile, store: GraphStore, empty: Collection[str]) -> list[str]:
    """A note for each class without an instance and each field without text.

    Args:
        profile: of the index, with the documents' fields.
        store: the graph.
        empty: names of the fields without a word.

    Returns:
        Sentences without a full stop, classes first, then fields in the order of the profile. The fields of a built-in
        profile share one, because nobody has misspelt them.
    """
    if len(store) and not store.ask("ASK { ?s ?p ?o }"):
        setting = 'set default_graph = "union" in kb.toml'
        return [f"all statements are in named graphs; to index them as one graph, {setting}"]
    types = "|".join(f"<{iri}>" for iri in profile.types)
    notes = [
        f"the class <{iri}> of hk:entities has no instance{_similar(store, f'?s {types} ?name', iri)}"
        for iri in profile.entities
        if not store.ask(f"ASK {{ ?s {types} <{iri}> }}")
    ]
    fields = [field for field in profile.fields if field.name in empty]
    if notes and len(notes) == len(profile.entities):
        return notes  # without entities every field is empty
    if profile.name in known_profiles() and fields:
        names = ", ".join(repr(field.name) for field in fields)
        return [*notes, f"nothing in this graph feeds the field{'s' * (len(fields) > 1)} {names}"]
    return [*notes, *(f"the field {field.name!r} is empty: {_reason(field, store)}" for field in fields)]


def _reason(field: Field, store: GraphStore) -> str:
    if field.path is None:
        return "no entity has text for it" if field.rest or field.local_name else "no text document has it"
    predicates = sorted(set(_predicates(field.path)))
    missing = [iri for iri in predicates if not store.ask(f"ASK {{ ?s <{iri}> ?o }}")]
    if len(missing) > MAX_SHOWN:
        return f"{len(missing)} of the {len(predicates)} predicates of its path are in no statement"
    if missing:
        named = " or ".join(f"<{iri}>" for iri in missing)
        return f"no statement has the predicate {named}{_similar(store, '?s ?name ?o', missing[0])}"
    nodes = (f"ASK {{ ?s <{iri}> ?o FILTER(!isLiteral(?o)) }}" for iri in single_steps(field.path))
    if field.text != "labels" and any(map(store.ask, nodes)):
        return "its path leads to nodes; to take their labels write hk:text hk:Labels"
    return "no entity has such text at the end of its path"


def _predicates(path: Path) -> Iterator[str]:
    match path:
        case ShaclPredicate(iri):
            yield iri
        case Sequence(parts) | ShaclAlternative(parts):
            for part in parts:
                yield from _predicates(part)
        case ShaclInverse(inner) | Repeat(inner, _):
            yield from _predicates(inner)


def _similar(store: GraphStore, pattern: str, iri: str) -> str:
    """`; did you mean <...>?` with the most similar name of the graph, or nothing."""
    if len(store) > MAX_TRIPLES_SEARCHED:
        return ""
    rows = store.select(f"SELECT DISTINCT ?name WHERE {{ {pattern} FILTER(isIRI(?name)) }}").rows
    near = similar_iris(iri, {str(row[0])[1:-1]: 0 for row in rows})
    return f"; did you mean <{near[0]}>?" if near else ""
