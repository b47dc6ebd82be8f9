"""The quads among many that a graph may have: the store need not be asked for those that its projection lacks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, ProjectionColumns
from hybridkg.graph.pair_places import HALF, I64, places_of_pairs
from hybridkg.rdf.terms import BlankNode, DefaultGraph, NamedNode, Quad, Term

MAX_LITERALS = 0.25
"""Distinct literals a quad, above which the store is asked: a look-up takes 8 us there, and 20 us in a projection."""


def candidate_quads(
    columns: ProjectionColumns, quads: Sequence[Quad], *, union_default_graph: bool, literals: int = 0
) -> Sequence[Quad]:
    """Those of some quads that a graph may have, in their order: all but those whose triple its projection lacks.

    Where most literals differ, quads are candidates without a look, which would take longer than asking the store.

    Args:
        columns: the projection of the graph.
        quads: with literals in the store's form.
        union_default_graph: whether the projection has the triples of all graphs, or of the default graph only.
        literals: distinct literals of a predicate that are always looked up.

    >>> from hybridkg.graph.build.reference_builder import columns_of
    >>> from hybridkg.rdf.terms import Triple
    >>> a, p, b = (NamedNode(f"e:{x}") for x in "apb")
    >>> quads = [Quad(a, p, b), Quad(b, p, a)]
    >>> len(candidate_quads(columns_of([Triple(a, p, b)]), quads, union_default_graph=False))
    1
    """
    by_predicate: dict[NamedNode, list[int]] = {}
    for place, quad in enumerate(quads):
        if union_default_graph or isinstance(quad.graph_name, DefaultGraph):
            by_predicate.setdefault(quad.predicate, []).append(place)
    is_absent = np.zeros(len(quads), bool)
    for predicate, places in by_predicate.items():
        if predicate.value not in columns.omitted:
            is_absent[np.array(places)] = _are_absent(columns, predicate, [quads[place] for place in places], literals)
    return [quads[place] for place in np.flatnonzero(~is_absent).tolist()]


def _are_absent(
    columns: ProjectionColumns, predicate: NamedNode, quads: Sequence[Quad], most_literals: int
) -> NDArray[np.bool_]:
    """bool[n]: whether the projection lacks the triple of each quad; all quads have one predicate."""
    own = columns.predicates.get(predicate.value)
    if own is None:
        return np.ones(len(quads), bool)
    targets: list[Term] = [quad.object for quad in quads]
    distinct = dict.fromkeys(targets)
    literals = sum(not isinstance(term, NamedNode | BlankNode) for term in distinct)
    if literals > max(MAX_LITERALS * len(quads), most_literals):
        return np.zeros(len(quads), bool)
    ids = dict(zip(distinct, columns.terms.find([*distinct]).tolist(), strict=True))
    objects = np.fromiter(map(ids.__getitem__, targets), np.int64, len(quads))
    known = np.flatnonzero(objects >= 0)
    subjects = columns.terms.find([quads[place].subject for place in known.tolist()])
    is_absent = objects < 0
    is_absent[known] = ~_are_pairs(own.forward, subjects, objects[known])
    return is_absent


def _are_pairs(forward: Adjacency, subjects: I64, objects: I64) -> NDArray[np.bool_]:
    """bool[n]: whether a predicate has the pairs of some ids; -1 is that of no term."""
    found = np.zeros(len(subjects), bool)
    known = np.flatnonzero(subjects >= 0)
    pairs = (subjects[known].astype(np.uint64) << HALF) | objects[known].astype(np.uint64)
    found[known] = places_of_pairs(forward, pairs).is_there
    return found
