"""The links of some nodes in the graph, as the edges of a document graph are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.text_index import Ids


@dataclass(frozen=True, eq=False)
class GraphLinks:
    """The triples between nodes (not literals) with some nodes at one end, one entry for each of these ends.

    Args:
        rows: int64[n], ascending: the node by its number among those asked for.
        predicates: int64[n], numbers in `names`.
        inverse: bool[n], whether the node is the object.
        others: uint32[n], ids of the other ends.
        shared: int64[n], triples of this predicate and direction with this other end.
        names: IRIs of predicates, sorted.
    """

    rows: NDArray[np.int64]
    predicates: NDArray[np.int64]
    inverse: NDArray[np.bool_]
    others: Ids
    shared: NDArray[np.int64]
    names: tuple[str, ...]
