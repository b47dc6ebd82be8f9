"""Figures of the predicates and classes of a graph, from which a profile is suggested.

They are counts and bounded samples: of each of at most MAX_PREDICATES predicates at most SAMPLE distinct objects are
read, evenly spread over their order. `figures_of` reads the columns of the projection; where there is none, it asks the
store for the first triples of each predicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.entities.profile.labels import LABEL_PREDICATES, speaking
from hybridkg.entities.profile.typing_predicates import TYPING_PREDICATES
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.graph.schema import read_schema
from hybridkg.interfaces.graph_index import Ids
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from hybridkg.graph.columns import PredicateColumns, ProjectionColumns

SAMPLE = 400
"""Distinct objects of a predicate that are read."""

MAX_PREDICATES = 300
"""Predicates with the most triples; others are left to the fields of the rest."""

MAX_CLASSES = 50
"""Classes with the most instances."""

MAX_TRIPLES_READ = 4_000
"""Triples of a predicate that are read from a store without projection."""

MAX_SCHEMA_TRIPLES = 3_000_000
"""Triples of a store without projection that are counted, in about two seconds; of more, a sample is."""

MAX_NODES_READ = 4 * SAMPLE
"""Linked nodes of a predicate that are read, to find IRIs among blank nodes."""


@dataclass(frozen=True)
class PredicateFigures:
    """Figures of one predicate.

    Args:
        iri: the predicate.
        triples: their number.
        subjects: distinct ones.
        objects: distinct ones.
        nodes: share of the triples whose object is a node, 0..1.
        literals: sample of the distinct literals.
        linked: sample of the distinct IRIs that it links to, of the blank nodes where it links to no IRI.
        labelled: share of that sample with a label, 0..1.
        blank: share of the linked nodes that are blank, 0..1, in a sample of MAX_NODES_READ.
        read: triples from which subjects, objects and shares are estimated; 0 where they are counted.
        label: the label of the predicate in the graph; empty for none.
    """

    iri: str
    triples: int
    subjects: int
    objects: int
    nodes: float
    literals: tuple[Literal, ...] = ()
    linked: tuple[Term, ...] = ()
    labelled: float = 0.0
    blank: float = 0.0
    read: int = 0
    label: str = ""

    @property
    def is_code(self) -> bool:
        """Whether the local name says nothing, such as P1476, and the graph has a label."""
        return bool(self.label) and not speaking([NamedNode(self.iri)])

    @property
    def name(self) -> str:
        """The label where the local name is a code, else the local name."""
        return self.label if self.is_code else last_part(self.iri)

    @property
    def uniqueness(self) -> float:
        """Distinct objects for each triple, 0..1."""
        return self.objects / self.triples if self.triples else 0.0


@dataclass(frozen=True)
class ClassFigures:
    """A class: its instances, and how many of them have a label."""

    iri: str
    instances: int
    labelled: int


@dataclass(frozen=True)
class GraphFigures:
    """Figures of a graph.

    Args:
        triples: their number.
        subjects: distinct subjects that have a literal, without structure.
        predicates: most triples first; without those of hk:types, and those of structure alone.
        classes: most instances first.
        untyped: of `subjects`, those without a class.
        speaking_names: share of a sample of `subjects` whose IRI ends in words without digits, 0..1.
        source: where the figures are from, in words.
        unread: predicates beyond MAX_PREDICATES.
        types: the predicates that lead to classes, in the order of TYPING_PREDICATES.
        is_estimated: whether `subjects`, `untyped` and the classes are estimated.
    """

    triples: int
    subjects: int
    predicates: tuple[PredicateFigures, ...]
    classes: tuple[ClassFigures, ...]
    untyped: int
    speaking_names: float
    source: str
    unread: int = 0
    types: tuple[str, ...] = ()
    is_estimated: bool = False


def figures_of(snapshot: Snapshot) -> GraphFigures:
    """The figures of the graph of a snapshot."""
    columns = snapshot.projection
    return _of_columns(columns) if columns is not None else _of_store(snapshot)


def _of_columns(columns: ProjectionColumns) -> GraphFigures:
    own = {iri: columns.predicates[iri] for iri in columns.predicates}
    ordered = sorted(own, key=lambda iri: (-own[iri].triples, iri))
    empty: Ids = np.zeros(0, np.uint32)
    n_nodes = columns.terms.n_nodes
    structure = _structure(own, columns)
    with_literal = [own[iri].forward.keys for iri in ordered if _has_literal(own[iri], n_nodes)]
    subjects = np.setdiff1d(np.concatenate([empty, *with_literal]), structure)
    named = _subjects_of(own, [iri for iri in ordered if iri in LABEL_PREDICATES])
    types = [iri for iri in TYPING_PREDICATES if iri in own and own[iri].backward.keys[0] < n_nodes]
    typed = _subjects_of(own, types)
    read = [iri for iri in ordered if len(np.setdiff1d(own[iri].forward.keys, structure))]
    predicates = tuple(
        _predicate(iri, own[iri], columns, named if len(named) else subjects)
        for iri in read[:MAX_PREDICATES]
        if iri not in types
    )
    return GraphFigures(
        sum(one.triples for one in own.values()),
        len(subjects),
        predicates,
        tuple(_classes([own[iri] for iri in types], columns, subjects)),
        int((~np.isin(subjects, typed)).sum()),
        speaking(columns.terms.terms(_spread(subjects))),
        f"counts from the columns of the projection; values from at most {SAMPLE} distinct ones of each predicate",
        max(0, len(read) - MAX_PREDICATES),
        tuple(types),
    )


def _structure(predicates: Mapping[str, PredicateColumns], columns: ProjectionColumns) -> Ids:
    """The ids of the blank nodes that are structure, ascending."""
    ids = _subjects_of(predicates, STRUCTURAL_PREDICATES)
    blank = [isinstance(term, BlankNode) for term in columns.terms.terms(ids)]
    return np.asarray(ids[np.array(blank, np.bool_)])


def _subjects_of(predicates: Mapping[str, PredicateColumns], iris: Sequence[str]) -> Ids:
    empty: Ids = np.zeros(0, np.uint32)
    return sorted_distinct(
        np.concatenate([empty, *(predicates[iri].forward.keys for iri in iris if iri in predicates)])
    )


def _has_literal(columns: PredicateColumns, n_nodes: int) -> bool:
    keys = columns.backward.keys
    return len(keys) > 0 and int(keys[-1]) >= n_nodes


def _predicate(iri: str, own: PredicateColumns, columns: ProjectionColumns, named: Ids) -> PredicateFigures:
    keys, offsets = own.backward.keys, own.backward.offsets
    first_literal = int(np.searchsorted(keys, columns.terms.n_nodes))
    read = _spread(keys[:first_literal], MAX_NODES_READ)
    is_iri = np.array([isinstance(term, NamedNode) for term in columns.terms.terms(read)], np.bool_)
    nodes = _spread(read[is_iri] if is_iri.any() else read)
    terms = columns.terms.terms(_spread(keys[first_literal:]))
    return PredicateFigures(
        iri,
        own.triples,
        len(own.forward.keys),
        len(keys),
        int(offsets[first_literal]) / own.triples if own.triples else 0.0,
        tuple(term for term in terms if isinstance(term, Literal)),
        tuple(term for term in columns.terms.terms(nodes) if term is not None),
        float(np.isin(nodes, named).mean()) if len(nodes) else 0.0,
        1.0 - float(is_iri.mean()) if len(read) else 0.0,
    )


def _spread(ids: Ids, most: int = SAMPLE) -> Ids:
    """At most so many ids, evenly spread and ascending."""
    if len(ids) <= most:
        return np.asarray(ids)
    return np.asarray(ids[np.linspace(0, len(ids) - 1, most).astype(np.int64)])


def _classes(types: Sequence[PredicateColumns], columns: ProjectionColumns, subjects: Ids) -> Iterator[ClassFigures]:
    """The classes of most instances, the first first; one of two predicates counts for each."""
    found = []
    for number, own in enumerate(types):
        sizes = np.diff(np.asarray(own.backward.offsets).astype(np.int64))
        found += [(-int(size), number, place) for place, size in enumerate(sizes)]
    for _, number, place in sorted(found)[:MAX_CLASSES]:
        backward = types[number].backward
        (term,) = columns.terms.terms(np.asarray(backward.keys[place : place + 1]))
        instances = backward.targets[int(backward.offsets[place]) : int(backward.offsets[place + 1])]
        if isinstance(term, NamedNode):
            yield ClassFigures(term.value, len(instances), int(np.isin(instances, subjects).sum()))


def _of_store(snapshot: Snapshot) -> GraphFigures:
    store = snapshot.store
    is_small = snapshot.quads <= MAX_SCHEMA_TRIPLES
    schema = read_schema(store, sample=None if is_small else MAX_SCHEMA_TRIPLES)
    rows: dict[str, list[tuple[Term, Term]]] = {}
    for iri in list(schema.predicates)[:MAX_PREDICATES]:
        answer = store.select(f"SELECT ?s ?o WHERE {{ ?s {NamedNode(iri)} ?o }} LIMIT {MAX_TRIPLES_READ}").rows
        rows[iri] = [(s, o) for s, o in answer if s is not None and o is not None]
    structure = {s for iri in STRUCTURAL_PREDICATES for s, _ in rows.get(iri, ()) if isinstance(s, BlankNode)}
    subjects = {s for iri in rows for s, o in rows[iri] if isinstance(o, Literal)} - structure
    named = {s for iri in rows if iri in LABEL_PREDICATES for s, _ in rows[iri]} or subjects
    types = [iri for iri in TYPING_PREDICATES if any(not isinstance(o, Literal) for _, o in rows.get(iri, ()))]
    typed = {s for iri in types for s, _ in rows[iri]}
    read = [iri for iri in rows if any(s not in structure for s, _ in rows[iri])]
    predicates = tuple(
        _sampled(iri, max(schema.predicates[iri], len(rows[iri])), rows[iri], named) for iri in read if iri not in types
    )
    instances: dict[str, set[Term]] = {}
    for iri in types:
        for s, o in rows[iri]:
            if isinstance(o, NamedNode):
                instances.setdefault(o.value, set()).add(s)
    counts = {iri: schema.classes.get(iri, len(own)) for iri, own in instances.items()}
    classes = tuple(
        ClassFigures(iri, n, round(n * len(instances[iri] & subjects) / len(instances[iri])))
        for iri, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MAX_CLASSES]
    )
    is_estimated = not is_small or any(len(rows[iri]) < schema.predicates[iri] for iri in rows)
    most = max([len(subjects), *(one.subjects for one in predicates if one.nodes < 1)])
    source = "counted in the store"
    if is_estimated:
        source = (
            f"estimated from the first {MAX_TRIPLES_READ:,} triples of each predicate that has more (exact after "
            "hybridkg index)"
        )
    source += f"; values from at most {SAMPLE} distinct ones of each predicate"
    return GraphFigures(
        sum(schema.predicates.values()),
        most,
        predicates,
        classes,
        round(len(subjects - typed) * most / len(subjects)) if subjects else 0,
        speaking(sorted(subjects, key=str)[:: max(1, -(-len(subjects) // SAMPLE))]),
        source,
        max(0, len(schema.predicates) - MAX_PREDICATES),
        tuple(types),
        is_estimated,
    )


def _sampled(iri: str, triples: int, rows: Sequence[tuple[Term, Term]], named: set[Term]) -> PredicateFigures:
    """The figures of the first triples of a predicate; its subjects and objects grow as the triples do."""
    objects = sorted({o for _, o in rows}, key=str)
    literals = [o for o in objects if isinstance(o, Literal)]
    nodes = [o for o in objects if isinstance(o, NamedNode | BlankNode)]
    judged = [o for o in nodes if isinstance(o, NamedNode)] or nodes
    times = triples / len(rows) if rows else 1.0
    return PredicateFigures(
        iri,
        triples,
        round(len({s for s, _ in rows}) * times),
        round(len(objects) * times),
        sum(not isinstance(o, Literal) for _, o in rows) / len(rows) if rows else 0.0,
        tuple(literals[:: max(1, -(-len(literals) // SAMPLE))]),
        tuple(judged[:: max(1, -(-len(judged) // SAMPLE))]),
        sum(node in named for node in judged) / len(judged) if judged else 0.0,
        sum(isinstance(node, BlankNode) for node in nodes) / len(nodes) if nodes else 0.0,
        len(rows) if len(rows) < triples else 0,
    )
