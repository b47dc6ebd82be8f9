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
from hybridkg.graph.schema import read_schema
from hybridkg.interfaces.graph_index import Ids
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, Literal, NamedNode, Term

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

MAX_SCHEMA_TRIPLES = 300_000
"""Triples of a store without projection that are counted."""


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
        linked: sample of the distinct nodes.
        labelled: share of that sample with a label, 0..1.
    """

    iri: str
    triples: int
    subjects: int
    objects: int
    nodes: float
    literals: tuple[Literal, ...] = ()
    linked: tuple[Term, ...] = ()
    labelled: float = 0.0

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
        subjects: distinct subjects that have a literal.
        predicates: most triples first.
        classes: most instances first.
        untyped: of `subjects`, those without a class.
        speaking_names: share of a sample of `subjects` whose IRI ends in words without digits, 0..1.
        source: where the figures are from, in words.
        unread: predicates beyond MAX_PREDICATES.
    """

    triples: int
    subjects: int
    predicates: tuple[PredicateFigures, ...]
    classes: tuple[ClassFigures, ...]
    untyped: int
    speaking_names: float
    source: str
    unread: int = 0


def figures_of(snapshot: Snapshot) -> GraphFigures:
    """The figures of the graph of a snapshot."""
    columns = snapshot.projection
    return _of_columns(columns) if columns is not None else _of_store(snapshot)


def _of_columns(columns: ProjectionColumns) -> GraphFigures:
    own = {iri: columns.predicates[iri] for iri in columns.predicates}
    ordered = sorted(own, key=lambda iri: (-own[iri].triples, iri))
    empty: Ids = np.zeros(0, np.uint32)
    n_nodes = columns.terms.n_nodes
    with_literal = [own[iri].forward.keys for iri in ordered if _has_literal(own[iri], n_nodes)]
    subjects = np.unique(np.concatenate([empty, *with_literal]))
    named = _subjects_of(own, [iri for iri in ordered if iri in LABEL_PREDICATES])
    typed = _subjects_of(own, [RDF_TYPE])
    predicates = tuple(
        _predicate(iri, own[iri], columns, named if len(named) else subjects)
        for iri in ordered[:MAX_PREDICATES]
        if iri != RDF_TYPE
    )
    return GraphFigures(
        sum(one.triples for one in own.values()),
        len(subjects),
        predicates,
        tuple(_classes(own, columns, subjects)),
        int((~np.isin(subjects, typed)).sum()),
        speaking(columns.terms.terms(_spread(subjects))),
        f"counts from the columns of the projection; values from at most {SAMPLE} distinct ones of each predicate",
        max(0, len(ordered) - MAX_PREDICATES),
    )


def _subjects_of(predicates: Mapping[str, PredicateColumns], iris: Sequence[str]) -> Ids:
    empty: Ids = np.zeros(0, np.uint32)
    return np.unique(np.concatenate([empty, *(predicates[iri].forward.keys for iri in iris if iri in predicates)]))


def _has_literal(columns: PredicateColumns, n_nodes: int) -> bool:
    keys = columns.backward.keys
    return len(keys) > 0 and int(keys[-1]) >= n_nodes


def _predicate(iri: str, own: PredicateColumns, columns: ProjectionColumns, named: Ids) -> PredicateFigures:
    keys, offsets = own.backward.keys, own.backward.offsets
    first_literal = int(np.searchsorted(keys, columns.terms.n_nodes))
    nodes = _spread(keys[:first_literal])
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
    )


def _spread(ids: Ids) -> Ids:
    """At most SAMPLE ids, evenly spread and ascending."""
    if len(ids) <= SAMPLE:
        return np.asarray(ids)
    return np.asarray(ids[np.linspace(0, len(ids) - 1, SAMPLE).astype(np.int64)])


def _classes(
    predicates: Mapping[str, PredicateColumns], columns: ProjectionColumns, subjects: Ids
) -> Iterator[ClassFigures]:
    if RDF_TYPE not in predicates:
        return
    backward = predicates[RDF_TYPE].backward
    sizes = np.diff(np.asarray(backward.offsets).astype(np.int64))
    order = sorted(range(len(sizes)), key=lambda place: (-int(sizes[place]), place))[:MAX_CLASSES]
    for place in order:
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
    subjects = {s for iri in rows for s, o in rows[iri] if isinstance(o, Literal)}
    named = {s for iri in rows if iri in LABEL_PREDICATES for s, _ in rows[iri]} or subjects
    typed = {s for s, _ in rows.get(RDF_TYPE, [])}
    predicates = tuple(_sampled(iri, schema.predicates[iri], rows[iri], named) for iri in rows if iri != RDF_TYPE)
    instances: dict[str, set[Term]] = {}
    for s, o in rows.get(RDF_TYPE, []):
        if isinstance(o, NamedNode):
            instances.setdefault(o.value, set()).add(s)
    classes = tuple(
        ClassFigures(iri, count, round(count * len(instances[iri] & subjects) / len(instances[iri])))
        for iri, count in list(schema.classes.items())[:MAX_CLASSES]
        if instances.get(iri)
    )
    names = speaking(sorted(subjects, key=str)[:: max(1, -(-len(subjects) // SAMPLE))])
    source = f"samples of the store, of at most {MAX_TRIPLES_READ:,} triples of each predicate (index for exact counts)"
    return GraphFigures(
        sum(schema.predicates.values()),
        len(subjects),
        predicates,
        classes,
        len(subjects - typed),
        names,
        source,
        max(0, len(schema.predicates) - MAX_PREDICATES),
    )


def _sampled(iri: str, triples: int, rows: Sequence[tuple[Term, Term]], named: set[Term]) -> PredicateFigures:
    objects = sorted({o for _, o in rows}, key=str)
    literals = [o for o in objects if isinstance(o, Literal)]
    nodes = [o for o in objects if isinstance(o, NamedNode | BlankNode)]
    return PredicateFigures(
        iri,
        triples,
        len({s for s, _ in rows}),
        len(objects),
        sum(not isinstance(o, Literal) for _, o in rows) / len(rows) if rows else 0.0,
        tuple(literals[:: max(1, -(-len(literals) // SAMPLE))]),
        tuple(nodes[:: max(1, -(-len(nodes) // SAMPLE))]),
        sum(node in named for node in nodes) / len(nodes) if nodes else 0.0,
    )
