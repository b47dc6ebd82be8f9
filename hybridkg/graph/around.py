"""The links of some nodes, read from the adjacency of every predicate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, ProjectionColumns
from hybridkg.interfaces.graph_index import Ids
from hybridkg.interfaces.graph_links import GraphLinks


def around(columns: ProjectionColumns, ids: Ids, most: int) -> GraphLinks:
    """See GraphIndex.around."""
    names = tuple(sorted(columns.predicates))
    n_nodes = columns.terms.n_nodes
    parts = []
    for number, name in enumerate(names):
        predicate = columns.predicates[name]
        for inverse, one, back in (
            (False, predicate.forward, predicate.backward),
            (True, predicate.backward, predicate.forward),
        ):
            first, count = _ranges(one, ids)
            rows = np.flatnonzero((count > 0) & (count <= most))
            if not len(rows):
                continue
            counts = count[rows]
            starts = np.repeat(first[rows] - (np.cumsum(counts) - counts), counts)
            others = one.targets[starts + np.arange(counts.sum())]
            owners = np.repeat(rows, counts)
            nodes = others < n_nodes
            owners, others = owners[nodes], others[nodes]
            shared = _ranges(back, others)[1]
            parts.append((owners, np.full(len(owners), number), np.full(len(owners), inverse), others, shared))
    if not parts:
        none = np.zeros(0, np.int64)
        return GraphLinks(none, none, np.zeros(0, bool), np.zeros(0, np.uint32), none, names)
    joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    owners, numbers, inverses, others, shared = (column[order] for column in joined)
    return GraphLinks(owners, numbers, inverses, others.astype(np.uint32), shared, names)


def degrees(columns: ProjectionColumns, ids: Ids, without: str) -> NDArray[np.int64]:
    """See GraphIndex.degrees."""
    found = np.zeros(len(ids), np.int64)
    for name, predicate in columns.predicates.items():
        if name != without:
            found += _ranges(predicate.forward, ids)[1] + _ranges(predicate.backward, ids)[1]
    return found


def _ranges(adjacency: Adjacency, ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """First target and number of targets of each id."""
    keys, offsets = adjacency.keys, adjacency.offsets
    if not len(keys):
        return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
    at = np.minimum(np.searchsorted(keys, ids), len(keys) - 1)
    has = keys[at] == ids
    first, end = offsets[at].astype(np.int64), offsets[at + 1].astype(np.int64)
    return np.where(has, first, 0), np.where(has, end - first, 0)
