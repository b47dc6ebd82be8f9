"""Sources of the edges of a document graph: what two documents have in common. A new one is one file and one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.reranker import Surroundings
from hybridkg.rdf.terms import Node
from hybridkg.registry import Registry

MAX_DF = 10_000
"""An item of more entities is left out: it says nothing about two of them."""


@dataclass(frozen=True, eq=False)
class Items:
    """Sets of items of some documents: one channel of a source.

    Args:
        rows: int64[n], number of a document.
        items: int64[n], number of an item that it has; a pair occurs once.
        df: int64[n], entities with the item.
    """

    rows: NDArray[np.int64]
    items: NDArray[np.int64]
    df: NDArray[np.int64]


class DocumentEdges(Protocol):
    """A function that gives documents their items."""

    channels: tuple[str, ...]
    """Names of its channels."""

    def items(self, nodes: Sequence[Node], around: Surroundings) -> list[Items]:
        """The items of each channel.

        Raises:
            RerankerError: the knowledge base has nothing that the source reads.
        """


EDGE_SOURCES = Registry(
    "source of edges",
    "hybridkg.edge_sources",
    {
        "graph": "hybridkg.ranking.rerankers.edges.graph:GRAPH",
        "types": "hybridkg.ranking.rerankers.edges.types:TYPES",
    },
    default="graph",
)
"""Objects of DocumentEdges."""
