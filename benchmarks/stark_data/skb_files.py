"""Writing of a knowledge base in STaRK's files, node by node.

The attributes go to `node_info.pkl` as they come: a pickle of protocol 3 without memo is a sequence of instructions
that can be written in parts, so memory holds the types and the edges only.
"""

from __future__ import annotations

import pickle
from array import array
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stark_made import SKB, pickle_to, save_tensor

BATCH = 1000
"""Entries of a dictionary that pickle writes at once."""


class SkbWriter:
    """FOLDER/skb of a knowledge base.

    `number` gives a node its id, and `attributes` writes its dictionary, each once and in any order; `edge` and `edges`
    add edges; `close` writes the rest.
    """

    def __init__(self, folder: Path, kb: str, types: tuple[str, ...], relations: tuple[str, ...]):
        self.kb, self.node_names, self.relations = kb, types, relations
        self.folder = folder / "skb" / SKB[kb]
        self.folder.mkdir(parents=True)
        self.types, self.heads, self.tails, self.edge_types = (array("q") for _ in range(4))
        self.written = 0
        self._file = (self.folder / "node_info.pkl").open("wb")
        self._file.write(b"\x80\x03}")
        self._batch: list[bytes] = []

    def number(self, type_: str) -> int:
        """The id of a new node."""
        self.types.append(self.node_names.index(type_))
        return len(self.types) - 1

    def attributes(self, node: int, values: dict[str, Any]) -> None:
        """Writes the attributes of a node."""
        self._batch.append(_plain(node) + _plain(values))
        self.written += 1
        if len(self._batch) == BATCH:
            self._flush()

    def node(self, type_: str, values: dict[str, Any]) -> int:
        """The id of a new node whose attributes are known."""
        node = self.number(type_)
        self.attributes(node, values)
        return node

    def edge(self, head: int, tail: int, relation: str, *, both: bool = False) -> None:
        """Adds an edge, and with `both` its opposite."""
        number = self.relations.index(relation)
        self.heads.append(head)
        self.tails.append(tail)
        self.edge_types.append(number)
        if both:
            self.edge(tail, head, relation)

    def edges(self, heads: np.ndarray, tails: np.ndarray, relation: str) -> None:
        """Adds edges and their opposites."""
        for one, other in ((heads, tails), (tails, heads)):
            self.heads.frombytes(one.astype("<i8").tobytes())
            self.tails.frombytes(other.astype("<i8").tobytes())
        number = self.relations.index(relation)
        self.edge_types.frombytes(np.full(2 * len(heads), number, "<i8").tobytes())

    def close(self) -> None:
        """Writes types, edges and names."""
        self._flush()
        self._file.write(b".")
        self._file.close()
        if self.written != len(self.types):
            raise ValueError(f"{len(self.types)} nodes, and attributes of {self.written}")
        save_tensor(self.folder / "node_types.pt", np.frombuffer(self.types, np.int64)[np.newaxis], 0)
        ends = np.stack([np.frombuffer(self.heads, np.int64), np.frombuffer(self.tails, np.int64)])
        save_tensor(self.folder / "edge_index.pt", ends, slice(0, 2))
        save_tensor(self.folder / "edge_types.pt", np.frombuffer(self.edge_types, np.int64)[np.newaxis], 0)
        if self.kb != "mag":
            pickle_to(self.folder / "node_type_dict.pkl", dict(enumerate(self.node_names)))
            pickle_to(self.folder / "edge_type_dict.pkl", dict(enumerate(self.relations)))

    def _flush(self) -> None:
        if self._batch:
            self._file.write(b"(" + b"".join(self._batch) + b"u")
            self._batch.clear()


def _plain(value: object) -> bytes:
    """The instructions for a value, without those that begin and end a pickle."""
    out = BytesIO()
    pickler = pickle.Pickler(out, protocol=3)
    pickler.fast = True
    pickler.dump(value)
    return out.getvalue()[2:-1]
