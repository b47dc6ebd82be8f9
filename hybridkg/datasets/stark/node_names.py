"""The names of all nodes in a file, read by id: 16 bytes of memory a node."""

from __future__ import annotations

import mmap
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from hybridkg.datasets.stark.documents import node_iri
from hybridkg.datasets.stark.layout import StarkLayout
from hybridkg.datasets.stark.rendering import name
from hybridkg.datasets.stark.size_limits import check_size


class StarkNames:
    """Names by id, as `rendering.name` has them; a context manager, which closes the file.

    Args:
        path: of the file, in UTF-8 without separators.
        starts: int64[nodes], the place of the first byte of each name.
        ends: int64[nodes], the place behind the last one.
    """

    def __init__(self, path: Path, starts: np.ndarray, ends: np.ndarray):
        self._starts, self._ends = starts, ends
        self._map: mmap.mmap | None = None
        if path.stat().st_size:  # an empty file cannot be mapped
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    @classmethod
    def write(cls, layout: StarkLayout, path: Path) -> Self:
        """Writes the file in one pass over the nodes.

        Raises:
            LoadError: a node is damaged or too large.
            OSError: the file cannot be written.
        """
        starts, ends = np.zeros((2, len(layout.node_types)), np.int64)
        place = 0
        with path.open("wb") as file:
            for number, attributes in layout.nodes():
                check_size(node_iri(layout.kb, number), attributes)
                kind = layout.node_names[int(layout.node_types[number])]
                starts[number] = place
                place += file.write(name(layout.kb, kind, attributes).encode())
                ends[number] = place
        return cls(path, starts, ends)

    def __getitem__(self, node: int) -> str:
        start, end = int(self._starts[node]), int(self._ends[node])
        return "" if self._map is None else self._map[start:end].decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._map is not None:
            self._map.close()
