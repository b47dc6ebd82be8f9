"""HNSW graph: FAISS's implementation over 8-bit codes, in one file with a header.

Source: Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical Navigable
Small World graphs" (2018). C++ reads the file without checks, so its size and hash are verified first.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError, StorageError
from hybridkg.extras import check_extra, needs_extra
from hybridkg.interfaces.encoder import Vectors
from hybridkg.interfaces.progress import Progress
from hybridkg.storage.arrays import FolderLayout, MappedArrays, Writer

LAYOUT = FolderLayout("hybridkg vector graph", 1, "graph.json", "graph of vectors")

FILE = "graph.faiss"

LINKS = 32
"""M of the paper: links of a vector, twice as many on the lowest level."""

BREADTH = 100
"""Vectors visited by an insertion (efConstruction). 100,000 x 384 in 19 s of one core; recall@10 .995 with 64 visited
by a search."""

TRAINED_ON = 25_000
"""Vectors that train the scales of the codes, evenly spread."""

AT_ONCE = 10_000
"""Vectors inserted between two checks for Ctrl-C. The graph depends on it, not on the number of threads: FAISS 1.15
inserts in rounds that give the same links on any number."""


@dataclass(frozen=True)
class GraphHeader:
    """Header of a graph.

    Args:
        breadth: vectors visited by a search for the best few (efSearch).
        recall: recall@10 against the exact search: of vectors of the index, near them, and between two of them.
        sample: queries of each kind.
        seed: of the sample, and of the levels of the graph.
    """

    breadth: int
    recall: tuple[float, ...]
    sample: int
    seed: int


FEATURE = "vector index 'hnsw'"


def check_installed() -> None:
    """Raises MissingExtraError unless FAISS is installed; imports nothing."""
    check_extra("hnsw", FEATURE, "faiss")


def _faiss() -> Any:
    with needs_extra("hnsw", FEATURE):
        return import_module("faiss")


class HnswGraph:
    """A graph in memory, or mapped; safe to search from many threads."""

    def __init__(self, index: Any, faiss: Any):
        self._index, self._faiss = index, faiss

    @classmethod
    def of(cls, vectors: Vectors, seed: int, progress: Progress) -> HnswGraph:
        """Builds the graph of vectors float32[n, columns] of length 1; about 660 bytes for each of 384 numbers.

        Raises:
            StorageError: there is not enough memory.
        """
        faiss = _faiss()
        n, columns = vectors.shape
        index = faiss.IndexHNSWSQ(columns, faiss.ScalarQuantizer.QT_8bit, LINKS, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = BREADTH
        index.hnsw.rng = faiss.RandomGenerator(seed)
        progress.start("linking vectors", n)
        try:
            index.train(np.ascontiguousarray(vectors[:: -(-n // TRAINED_ON)]))
            for first in range(0, n, AT_ONCE):
                part = np.ascontiguousarray(vectors[first : first + AT_ONCE])
                index.add(part)
                progress.advance(len(part), len(part))
        except (MemoryError, RuntimeError) as e:
            raise StorageError(
                f"the graph of {n:,} vectors cannot be built: {str(e) or 'out of memory'}",
                hint='it takes about 660 bytes for a vector of 384 numbers; index = "flat" needs none',
            ) from e
        progress.done(n)
        return cls(index, faiss)

    def write(self, folder: Path, header: GraphHeader) -> None:
        self._faiss.write_index(self._index, str(folder / FILE))
        with (folder / FILE).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        about = {"bytes": (folder / FILE).stat().st_size, "sha256": digest, "links": LINKS, **asdict(header)}
        Writer(LAYOUT, folder).finish(about)

    @classmethod
    def read(cls, folder: Path, shape: tuple[int, ...]) -> HnswGraph:
        """Maps the graph of a folder, after verifying its hash.

        Raises:
            CorruptError: it is damaged, or its vectors do not have this shape.
        """
        faiss = _faiss()
        expected = MappedArrays(LAYOUT, folder).about("sha256")
        try:
            with (folder / FILE).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != expected:
                    raise CorruptError("the graph of vectors is damaged", hint="index again", place=str(folder / FILE))
            index = faiss.read_index(str(folder / FILE), faiss.IO_FLAG_MMAP_IFC)
        except (OSError, RuntimeError) as e:
            raise CorruptError(
                "the graph of vectors cannot be read", hint="index again", place=str(folder / FILE)
            ) from e
        if not isinstance(index, faiss.IndexHNSWSQ) or (index.ntotal, index.d) != shape:
            raise CorruptError("the graph has other vectors", hint="index again", place=str(folder / FILE))
        return cls(index, faiss)

    def near(self, vector: Vectors, breadth: int) -> NDArray[np.int64]:
        """Rows of about the `breadth` vectors nearest to one of length 1, in any order; possibly fewer."""
        parameters = self._faiss.SearchParametersHNSW(efSearch=breadth)
        (rows,) = self._index.search(vector[None], breadth, params=parameters)[1]
        near: NDArray[np.int64] = rows[rows >= 0]
        return near


def read_header(folder: Path) -> GraphHeader | None:
    """Header of the graph of a folder, None where there is none; raises CorruptError where it does not fit the file."""
    if not (folder / LAYOUT.header).exists():
        return None
    reader = MappedArrays(LAYOUT, folder)
    breadth, recall, sample, seed = (reader.about(key) for key in ("breadth", "recall", "sample", "seed"))
    size = (folder / FILE).stat().st_size if (folder / FILE).exists() else -1
    whole = all(isinstance(number, int) and number >= 0 for number in (breadth, sample, seed)) and breadth > 0
    shares = isinstance(recall, list) and len(recall) == 3 and all(isinstance(share, int | float) for share in recall)
    if not (whole and shares) or size != reader.about("bytes"):
        raise CorruptError("the graph does not fit its header", hint="index again", place=str(folder))
    return GraphHeader(breadth, tuple(map(float, recall)), sample, seed)
