"""Term numbering: an id for every term of all runs, and the arrays of the term table.

Each run is sorted, class by class; a merge of the runs gives a term of several runs one id, and an entity its id of the
node table. Memory: 8 bytes for each term of the largest run, and blocks of the output; the runs are memory-mapped.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybridkg.compute.kernels import LazyKernel
from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build.literal_pieces import LiteralPieces
from hybridkg.graph.build.nquads_reader import I64, U8, U32, UnsupportedGraphError
from hybridkg.graph.build.spool import mapped
from hybridkg.graph.build.term_runs import CLASSES, Runs
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS
from hybridkg.graph.stored_literals import PIECES
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.storage.arrays import Writer, smallest_unsigned

KERNEL = LazyKernel("hybridkg.graph.build.terms_kernel")

BLOCK_TERMS = 1 << 18
BLOCK_BYTES = 1 << 24
"""Terms and bytes that are written in one step, or one longer term."""

_FIRST_LITERALS, _FIRST_KINDS = 2, 3
"""The class of strings, and the first class with languages or datatypes."""


@dataclass(frozen=True)
class Numbers:
    """The ids, uint32[terms of all runs], and their part of the header."""

    ids: U32
    about: dict[str, Any]


@dataclass(frozen=True)
class _Terms:
    """The terms of all runs as arrays."""

    letters: U8
    starts: I64
    lengths: U32
    values: NDArray[np.float64]
    ranks: U32
    classes: U8

    def text(self, term: int) -> bytes:
        start = int(self.starts[term])
        return self.letters[start : start + int(self.lengths[term])].tobytes()


class ExistingNodes:
    """The nodes of the node table, in two ranges: blank nodes, with the prefix `_:`, and IRIs."""

    def __init__(self, nodes: NodeTable):
        self.letters, self.offsets = nodes.texts()
        self.count = len(nodes)
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.text(middle, 0)[:2] == b"_:" else (low, middle)
        self.blank = low

    def text(self, i: int, skip: int) -> bytes:
        return self.letters[int(self.offsets[i]) + skip : int(self.offsets[i + 1])].tobytes()

    def range(self, class_: int) -> tuple[int, int, int]:
        """(first, end, length of the prefix) of the nodes of a class."""
        return ((0, self.blank, 2), (self.blank, self.count, 0))[class_] if class_ < 2 else (0, 0, 0)


def number_terms(runs: Runs, nodes: NodeTable, out: Writer, folder: Path) -> Numbers:
    """Numbers the terms of all runs, and writes the arrays of the term table; `folder` is for temporary files.

    Raises:
        UnsupportedGraphError: there are more terms than ids.
    """
    names, ranks = _kind_ranks(runs)
    write_strings(out, "kinds", names)
    terms = _Terms(
        runs.letters.map(), runs.starts.map(), runs.lengths.map(), runs.values.map(), ranks[runs.kind.map()],
        runs.classes.map()
    )  # fmt: skip
    kernel = KERNEL.for_work(8 * runs.terms)
    order = mapped(folder / "order", np.uint32, (runs.terms,))
    bounds = np.zeros((len(runs.runs), CLASSES + 1), np.int64)
    for i, run in enumerate(runs.runs):
        bounds[i] = run.first + _sort(terms, run.first, run.end, order[run.first : run.end], kernel)
    ids = mapped(folder / "ids", np.uint32, (runs.terms,))
    merging = _Merging(
        terms, order, np.array([run.first for run in runs.runs], np.int64), ids, ExistingNodes(nodes), kernel
    )
    others, literals = StringStreams(out, "others"), LiteralPieces(out)
    kinds = out.stream("literals.kinds", smallest_unsigned(max(0, len(names) - 1)))
    values = out.stream("literals.values", np.float64)
    next_id, ends = len(nodes), []
    for class_ in range(CLASSES):
        strings = others if class_ < _FIRST_LITERALS else literals
        for block in merging.run(class_, bounds[:, class_], bounds[:, class_ + 1], next_id):
            next_id += len(block)
            if next_id >= int(UNBOUND):
                raise UnsupportedGraphError(f"it has more than {int(UNBOUND):,} distinct terms")
            strings.append(merging.texts(block), terms.lengths[block])
            if class_ >= _FIRST_LITERALS + FIRST_VALUED:
                values.append(terms.values[block])
            if class_ >= _FIRST_KINDS:
                kinds.append(terms.ranks[block])
        ends.append(next_id)
    for stream in (others, literals, kinds, values):
        stream.close()
    about = {
        "n_entities": len(nodes),
        "n_nodes": ends[1],
        "n_terms": next_id,
        "other_blank_nodes": ends[0] - len(nodes),
        "segments": [[ends[1 + i], ends[2 + i]] for i in range(len(SEGMENTS))],
        PIECES: literals.sizes,
    }
    return Numbers(ids, about)


def _kind_ranks(runs: Runs) -> tuple[list[bytes], U32]:
    """The sorted names of languages and datatypes that occur, and the rank of each kind; 0 for others."""
    kinds = runs.kind.map()
    used = np.zeros(len(runs.kinds.numbers), bool)
    used[kinds] = True
    used[:3] = False
    names = sorted(name for name, number in runs.kinds.numbers.items() if used[number])
    ranks = np.zeros(len(used), np.uint32)
    for place, name in enumerate(names):
        ranks[runs.kinds.numbers[name]] = place
    return names, ranks


def _sort(terms: _Terms, first: int, end: int, order: U32, kernel: ModuleType | None) -> I64:
    """Writes the sorted places, from 0, of a run's terms; returns int64[CLASSES + 1], the bounds of the classes."""
    classes = terms.classes[first:end]
    order[:] = np.argsort(classes, kind="stable")
    bounds = np.searchsorted(classes[order], np.arange(CLASSES + 1)).astype(np.int64)
    values, ranks = terms.values[first:end], terms.ranks[first:end]
    starts, lengths = terms.starts[first:end], terms.lengths[first:end]

    def sort(class_: int) -> None:
        part = order[int(bounds[class_]) : int(bounds[class_ + 1])]
        if class_ >= _FIRST_KINDS:
            part[:] = part[np.lexsort((ranks[part], values[part]))]
        own_ranks, own_values = ranks[part], values[part]
        cuts = np.flatnonzero((own_ranks[1:] != own_ranks[:-1]) | (own_values[1:] != own_values[:-1])) + 1
        edges = np.concatenate(([0], cuts, [len(part)]))
        for i in np.flatnonzero(np.diff(edges) > 1).tolist():
            low, high = int(edges[i]), int(edges[i + 1])
            if kernel is None:
                part[low:high] = sorted(part[low:high].tolist(), key=lambda i: terms.text(first + i))
            else:
                kernel.sort_strings(terms.letters, starts, lengths, part, low, high)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        list(threads.map(sort, range(CLASSES)))
    return bounds


class _Merging:
    """The merge of sorted runs."""

    def __init__(
        self, terms: _Terms, order: U32, bases: I64, ids: U32, existing: ExistingNodes, kernel: ModuleType | None
    ):
        self._terms, self._order, self._bases, self._ids = terms, order, bases, ids
        self._existing, self._kernel = existing, kernel

    def run(self, class_: int, begins: I64, ends: I64, next_id: int) -> Iterator[I64]:
        """Numbers the terms of a class, begins[run]..ends[run] of `order`; yields terms with new ids, sorted."""
        if self._kernel is None:
            yield from self._run_plain(class_, begins, ends, next_id)
            return
        terms, (node, node_end, skip) = self._terms, self._existing.range(class_)
        cursors, heap = begins.copy(), np.zeros(len(begins), np.int64)
        state = np.array([0, -1, 0, next_id, node, node_end], np.int64)
        out, fresh = np.empty(BLOCK_TERMS, np.int64), True
        while fresh or state[0]:
            n = self._kernel.merge(
                terms.letters, terms.starts, terms.lengths, terms.values, terms.ranks, self._order, self._bases,
                cursors, ends.copy(), heap, state, fresh,
                self._existing.letters, self._existing.offsets, skip, self._ids, out, BLOCK_BYTES
            )  # fmt: skip
            fresh = False
            yield out[:n].copy()

    def _run_plain(self, class_: int, begins: I64, ends: I64, next_id: int) -> Iterator[I64]:
        terms, (node, node_end, skip) = self._terms, self._existing.range(class_)

        def keys(run: int) -> Iterator[tuple[float, int, bytes, int]]:
            for place in range(int(begins[run]), int(ends[run])):
                term = int(self._bases[run]) + int(self._order[place])
                yield float(terms.values[term]), int(terms.ranks[term]), terms.text(term), term

        block: list[int] = []
        last, last_id = None, 0
        for value, rank, text, term in heapq.merge(*map(keys, range(len(begins)))):
            if (value, rank, text) != last:
                last = value, rank, text
                while node < node_end and self._existing.text(node, skip) < text:
                    node += 1
                if node < node_end and self._existing.text(node, skip) == text:
                    last_id = node
                else:
                    last_id, next_id = next_id, next_id + 1
                    block.append(term)
            self._ids[term] = last_id
        yield np.array(block, np.int64)

    def texts(self, block: I64) -> U8:
        terms = self._terms
        if self._kernel is None:
            return np.frombuffer(b"".join(terms.text(i) for i in block.tolist()), np.uint8)
        out = np.empty(int(terms.lengths[block].sum(dtype=np.int64)), np.uint8)
        self._kernel.gather(terms.letters, terms.starts, terms.lengths, block, out)
        return out


class StringStreams:
    """Output streams of concatenated texts and their offsets."""

    def __init__(self, out: Writer, name: str):
        self._text, self._offsets = out.stream(f"{name}.text", np.uint8), out.stream(f"{name}.offsets", np.uint64)
        self._offsets.append(np.zeros(1, np.uint64))

    def append(self, text: U8, lengths: U32) -> None:
        ends = np.cumsum(lengths, dtype=np.uint64) + np.uint64(self._text.rows)
        self._text.append(text)
        self._offsets.append(ends)

    def close(self) -> None:
        self._text.close()
        self._offsets.close()


def write_strings(out: Writer, name: str, items: list[bytes]) -> None:
    strings = StringStreams(out, name)
    strings.append(np.frombuffer(b"".join(items), np.uint8), np.array([len(item) for item in items], np.uint32))
    strings.close()
