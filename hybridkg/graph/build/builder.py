"""The builder of the projection from N-Quads, in bounded memory; docs/projection.md describes the algorithm.

`add` works while the graph is loaded: a thread of the builder reads the text. `finish` needs the node table. The same
set of quads gives the same bytes, in any order and any chunks.
"""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build.adjacency import write_adjacency
from hybridkg.graph.build.nquads_reader import KERNEL, CompiledReader, PlainReader, UnsupportedGraphError
from hybridkg.graph.build.numbering import number_terms
from hybridkg.graph.build.term_runs import Runs
from hybridkg.graph.stored_projection import LAYOUT
from hybridkg.storage.arrays import Writer


@dataclass(frozen=True)
class ProjectionBuildLimits:
    """Memory limits, which do not change the result: bytes of a chunk, of which three can be queued; distinct terms,
    about 40 bytes each, and bytes of their texts in memory before a run is written.
    """

    chunk_bytes: int = 4_000_000
    run_terms: int = 2_000_000
    run_bytes: int = 200_000_000


class ProjectionBuilder:
    """The builder of one projection.

    Args:
        work: a new folder for temporary files; removed at the end.
        union_default_graph: whether the default graph of queries is the union of all graphs.
        stored: literals are in the store's canonical form already.
        sizes: memory limits.
    """

    def __init__(
        self,
        work: Path,
        *,
        union_default_graph: bool,
        stored: bool,
        sizes: ProjectionBuildLimits = ProjectionBuildLimits(),
    ):
        self._work, self._union, self._stored, self._sizes = work, union_default_graph, stored, sizes
        work.mkdir()
        self._parts: list[bytes] = []
        self._bytes = 0
        self._rows_of: bytes | None = None
        self._chunks: queue.Queue[tuple[list[bytes], bytes | None] | None] = queue.Queue(2)
        self._failure: BaseException | None = None
        self._runs = Runs(work, stored=stored)
        self._reader: CompiledReader | PlainReader | None = None
        self.statements = 0
        self._thread = threading.Thread(target=self._read_all, name="hybridkg-projection", daemon=True)
        self._thread.start()

    def add(self, text: bytes) -> None:
        """Adds whole lines of Oxigraph's N-Quads; the last line may lack its newline.

        Raises:
            OSError: the disk is full or fails, possibly for earlier lines.
        """
        self._add(text, None)

    def add_rows(self, predicate: str, text: bytes) -> None:
        """Adds subjects and objects of one predicate, in Oxigraph's SPARQL TSV results."""
        self._add(text, predicate.encode())

    def _add(self, text: bytes, rows_of: bytes | None) -> None:
        if rows_of != self._rows_of:
            self._hand_on()
            self._rows_of = rows_of
        self._parts.append(text)
        self._bytes += len(text)
        if self._bytes >= self._sizes.chunk_bytes:
            self._hand_on()

    def finish(self, folder: Path, nodes: NodeTable) -> dict[str, Any]:
        """Writes the projection into a new folder, and discards the builder.

        Returns:
            The header; only `note` if the projection does not support the graph.

        Raises:
            OSError: the disk is full or fails.
        """
        try:
            self._hand_on()
            self._end()
            folder.mkdir()
            return self._write(folder, nodes)
        except UnsupportedGraphError as e:
            shutil.rmtree(folder, ignore_errors=True)
            return {"note": f"the graph has no projection, so queries are slower: {e}"}
        finally:
            self.discard()

    def discard(self) -> None:
        """Ends the thread and removes the temporary files; idempotent, at any time."""
        if self._failure is None:
            self._failure = UnsupportedGraphError("the build was discarded")
        self._end(raising=False)
        self._runs.close()
        shutil.rmtree(self._work, ignore_errors=True)

    def _end(self, *, raising: bool = True) -> None:
        if self._thread.is_alive():
            self._chunks.put(None)
            self._thread.join()
        if raising and self._failure is not None:
            raise self._failure

    def _hand_on(self) -> None:
        if self._failure is not None and not isinstance(self._failure, UnsupportedGraphError):
            raise self._failure
        parts, self._parts, self._bytes = self._parts, [], 0
        if parts:
            self._chunks.put((parts, self._rows_of))

    def _read_all(self) -> None:
        """Reads chunks until the end; after a failure, only empties the queue."""
        while (chunk := self._chunks.get()) is not None:
            if self._failure is None:
                self._attempt(partial(self._read, *chunk))
        if self._failure is None:
            self._attempt(self._end_run)

    def _attempt(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as e:
            self._failure = e

    def _read(self, parts: list[bytes], rows_of: bytes | None) -> None:
        text = np.frombuffer(bytearray(b"\n").join(parts), np.uint8)
        kernel = KERNEL.for_work(len(text) // 2)
        if isinstance(self._reader, PlainReader) and kernel is not None:
            self._end_run()
        if self._reader is None:
            self._reader = PlainReader() if kernel is None else CompiledReader(kernel)
        self.statements += self._reader.read(text, self._union, self._runs.triples.append, rows_of)
        terms, size = self._reader.size
        if terms >= self._sizes.run_terms or size >= self._sizes.run_bytes:
            self._end_run()

    def _end_run(self) -> None:
        if self._reader is not None:
            self._runs.add(self._reader.terms())
            self._reader = None

    def _write(self, folder: Path, nodes: NodeTable) -> dict[str, Any]:
        out = Writer(LAYOUT, folder)
        numbers = number_terms(self._runs, nodes, out, self._work)
        triples = write_adjacency(self._runs, numbers.ids, out, self._work)
        about = {
            **numbers.about,
            "omitted": sorted(name.decode() for name in self._runs.omitted),
            "triples": triples,
            "union_default_graph": self._union,
        }
        out.finish(about)
        return about
