"""Builds the projection from N-Quads, in bounded memory; docs/projection.md tells how.

`add` may be called while the graph is being loaded: a thread of the builder reads what it is given. `finish` comes
when the node table is there. The same set of quads gives the same bytes, in any order and however it is cut.
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
    """Bounds of memory; what is built does not depend on them.

    Args:
        chunk_bytes: text that is read at once; at most three such chunks wait.
        run_terms: distinct terms that are held before they are written to a file; about 40 bytes each.
        run_bytes: bytes of their texts.
    """

    chunk_bytes: int = 4_000_000
    run_terms: int = 2_000_000
    run_bytes: int = 200_000_000


class ProjectionBuilder:
    """Takes the statements of a graph, then writes its projection.

    Args:
        work: a folder for temporary files, which is made, and removed at the end.
        union_default_graph: whether a query sees all graphs, or the default graph only.
        stored: the statements come from a store, so literals have its form.
        sizes: bounds of memory.
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
        """Takes some whole lines of N-Quads as Oxigraph writes them; the last one may lack its end.

        Raises:
            OSError: the disk is full or fails; perhaps because of what came earlier.
        """
        self._add(text, None)

    def add_rows(self, predicate: str, text: bytes) -> None:
        """Takes subjects and objects of one predicate, as Oxigraph writes them in SPARQL's table format (TSV)."""
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
        """Writes the projection; the builder has then done its work.

        Args:
            folder: a folder, which is made.
            nodes: the entities.

        Returns:
            What its header says; with `note` alone where the projection cannot hold this graph.

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
        """Ends the thread and removes the temporary files; may be called at any time, and again."""
        if self._failure is None:
            self._failure = UnsupportedGraphError("it was given up")
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

    # --- in the thread ----------------------------------------------------------

    def _read_all(self) -> None:
        """Reads until there is nothing more; after a failure it only empties the queue."""
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

    # --- at the end ---------------------------------------------------------------

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
