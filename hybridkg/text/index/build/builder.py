"""The builder of the embedded text index: text in, packed postings out.

Four steps, each in bounded memory and on all cores. Texts become streams of term numbers (tokens.py), long fields in
batches in worker processes (worker_pool.py). Streams are sorted in chunks (sorting.py), chunks are merged range by
range (merging.py) and packed (posting_lists.py). Memory holds the vocabulary, a few batches, chunks or ranges, and
about 30 bytes for each pair of entity and field; tokens and postings are in temporary files. The same input gives the
same bytes, whatever the number of processes and the size of batches.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from hybridkg.errors import ProfileError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.build import batch_cache
from hybridkg.text.index.build.analysis_batch import AnalyzedBatch
from hybridkg.text.index.build.batch_collector import BATCH_BYTES, PendingTexts
from hybridkg.text.index.build.field_stream import FieldStream
from hybridkg.text.index.build.merging import RANGE_TOKENS, Blocks, ListRanges, RunSpill, SpilledRun, merged
from hybridkg.text.index.build.posting_lists import ListsWriter, Piece
from hybridkg.text.index.build.runs import CHUNK_TOKENS, U32
from hybridkg.text.index.build.segment_tail import SEGMENT, WrittenLists, finish_index
from hybridkg.text.index.build.sorting import FieldInOrder, SortedChunk, table_of
from hybridkg.text.index.build.tokens import TermNumberer, TokenStream, Values
from hybridkg.text.index.build.worker_pool import WorkerPool, cores
from hybridkg.text.index.field_presence import MAX_FIELDS
from hybridkg.text.index.language_view import LanguageRuns
from hybridkg.text.index.layout import Array, ArrayWriter
from hybridkg.text.index.postings import prefixes_of

DIRECT_BYTES = 2_000_000
"""Text of each field that is analysed immediately, without batches: a quarter of a second."""

FIRST_BATCH_BYTES = 4_000_000
"""Further text of a field for which processes are started, which takes 0.5 s."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class BuildLimits:
    """Bounds of memory and work, which do not change the result.

    Args:
        direct_bytes: text of each field that is analysed in this thread.
        batch_bytes: text of a batch, and 32 more for each value.
        chunk_tokens, range_tokens: tokens of a sorted chunk, and of a merged range.
        workers: processes that analyse, and threads that sort and merge; None for one per core.
    """

    direct_bytes: int = DIRECT_BYTES
    batch_bytes: int = BATCH_BYTES
    chunk_tokens: int = CHUNK_TOKENS
    range_tokens: int = RANGE_TOKENS
    workers: int | None = None


class EmbeddedTextBuilder:
    """Builds a text index in an empty folder; nothing is readable before `finish` returns.

    Args:
        folder: an existing empty folder.
        fields: of the index, in the profile's order; at most 64.
        n_nodes: exclusive upper bound of ids.
        sizes: bounds.
        cache: folder of the batch cache, which outlives an interrupted build; None for a temporary one.
        progress: of `finish`.

    Raises:
        UnknownNameError: a field names an unknown analyzer.
        ProfileError: too many fields, or two of one name.
    """

    def __init__(
        self,
        folder: Path,
        fields: Sequence[IndexedField],
        n_nodes: int,
        *,
        sizes: BuildLimits = BuildLimits(),
        cache: Path | None = None,
        progress: Progress = SILENT,
    ):
        if len(fields) > MAX_FIELDS:
            raise ProfileError(f"{len(fields)} text fields; an index holds at most {MAX_FIELDS}")
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                raise ProfileError(f"two text fields are named {name!r}")
        self._folder, self._fields, self._n_nodes = folder, fields, n_nodes
        self._sizes, self._progress = sizes, progress
        self._cache, self._is_persistent = (cache, True) if cache is not None else (folder / "batches.tmp", False)
        self._analyzers: dict[str, Analyzer] = {
            name: ANALYZERS.get(name)() for name in sorted({f.analyzer for f in fields})
        }
        self._streams = [FieldStream(folder / f"field{i}.tokens.tmp") for i in range(len(fields))]
        self._direct: list[TokenStream | None] = [TokenStream() for _ in fields]
        self._collected = [PendingTexts(f.analyzer, self._analyzers[f.analyzer].chain) for f in fields]
        self._analysis = TermNumberer(self._analyzers)
        self._text_bytes = 0
        self._threads = cores() if sizes.workers is None else sizes.workers
        self._pool: WorkerPool | None = None
        self._pending: deque[tuple[int, U32, Future[AnalyzedBatch]]] = deque()
        self._executor: ThreadPoolExecutor | None = None
        self._spill: RunSpill | None = None

    def add(self, entity: int, field: int, values: Values) -> None:
        """Adds all values of one field of one entity: (text, language tag or ""), in a deterministic order.

        Args:
            entity: id of the node; ascending order is fastest, any order gives the same index.
            field: position in the list of fields.
            values: the texts; a phrase never matches across two of them.
        """
        self.add_all(field, ((entity, values),))

    def add_all(self, field: int, records: Iterable[tuple[int, Values]]) -> None:
        """`add` for many entities, (entity, values) each; a third faster for short texts."""
        remaining = iter(records)
        direct = self._direct[field]
        if direct is not None:
            limit = self._sizes.direct_bytes
            self._analysis.add(self._fields[field].analyzer, remaining, direct, self._n_nodes, limit)
            if direct.text_bytes < limit:
                return
            self._end_direct(field)
        collected = self._collected[field]
        while collected.add(remaining, self._n_nodes, self._sizes.batch_bytes):
            self._submit(field)

    def _end_direct(self, field: int) -> None:
        """Moves the tokens analysed in this thread to the field's stream."""
        direct = self._direct[field]
        if direct is not None:
            self._add_stream(field, direct)
            self._direct[field] = None

    def _add_stream(self, field: int, stream: TokenStream) -> None:
        self._streams[field].add_stream(stream, len(self._analysis.numbers))
        self._text_bytes += stream.text_bytes

    def _submit(self, field: int) -> None:
        """Submits the collected texts of a field as a batch."""
        if self._pool is None:
            self._pool = WorkerPool(batch_cache.opened(self._cache), self._analyzers, self._threads)
        payload, entities = self._collected[field].taken()
        self._pending.append((field, entities, self._pool.submit(payload, len(entities))))
        self._collect(2 * max(1, self._threads))

    def _collect(self, max_pending: int) -> None:
        """Takes analysed batches in the order of submission, until at most `max_pending` are pending."""
        numbers = self._analysis.numbers
        while len(self._pending) > max_pending:
            field, entities, future = self._pending.popleft()
            batch = future.result()
            table = np.fromiter(
                (numbers.setdefault(term, len(numbers)) for term in batch.terms), np.uint32, len(batch.terms)
            )
            self._streams[field].add_batch(batch, entities, table)
            self._text_bytes += batch.text_bytes

    def renumber(self, ids: Sequence[int], n_nodes: int) -> None:
        """Replaces the provisional numbers of the entities added so far by distinct `ids`, all below `n_nodes`."""
        final = np.asarray(ids, np.uint32)
        self._collect(0)
        for i, stream in enumerate(self._streams):
            self._end_direct(i)
            stream.entities = array("I", final[np.frombuffer(stream.entities, np.uint32)].tobytes())
            self._collected[i].renumber(final)
        self._n_nodes = n_nodes

    def complete(self, field: int) -> None:
        """Ends a field, so that its analysis can start before `finish`; does not change the result."""
        self._end_direct(field)
        collected = self._collected[field]
        min_size = 0 if self._pool is not None else min(FIRST_BATCH_BYTES, self._sizes.batch_bytes)
        if collected.entities and collected.size >= min_size:
            self._submit(field)
        elif collected.entities:  # too little to start a process
            rest = TokenStream()
            self._analysis.add(self._fields[field].analyzer, collected.records(), rest, self._n_nodes, float("inf"))
            self._add_stream(field, rest)

    @property
    def batches(self) -> int:
        """The number of batches in the cache that outlives this builder."""
        return len(batch_cache.files(self._cache)) if self._is_persistent and self._pool is not None else 0

    def close(self) -> None:
        """Stops background work and removes its files; required if `finish` is not reached."""
        if self._pool is not None:
            self._pool.close()
            if not self._is_persistent:
                batch_cache.remove(self._cache)
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        if self._spill is not None:
            self._spill.close()

    def finish(self) -> dict[str, int]:
        """Writes the index and returns its counts: entities, terms, postings, tokens, text_bytes."""
        for i in range(len(self._fields)):
            self.complete(i)
        self._collect(0)
        if self._pool is not None:
            self._pool.close()
        out = ArrayWriter(self._folder, SEGMENT)
        terms = sorted(self._analysis.numbers)
        places = self._placed(terms)
        lengths = out.create("lengths", "<u4", (len(self._fields), self._n_nodes))
        self._executor = ThreadPoolExecutor(max(1, self._threads), "hybridkg-builder")
        runs, largest, languages = self._sort(places, lengths)
        postings = self._merge(out, runs, len(terms) * len(self._fields), largest)
        self.close()
        self._write_terms(out, terms)
        chains = {name: analyzer.chain for name, analyzer in self._analyzers.items()}
        lists = WrittenLists(out, len(terms), postings, lengths, languages, self._text_bytes)
        return finish_index(self._folder, self._fields, chains, lists)

    def _placed(self, terms: list[str]) -> U32:
        """uint32[terms], the final number of each provisional one; ends the analysis."""
        numbers = self._analysis.numbers
        places = np.zeros(len(terms), np.uint32)
        places[np.fromiter((numbers[term] for term in terms), np.int64, len(terms))] = np.arange(len(terms))
        self._analysis = TermNumberer(self._analyzers)
        return places

    def _sort(self, places: U32, lengths: Array) -> tuple[list[SpilledRun], int, list[LanguageRuns]]:
        """Sorts all fields; fills `lengths`; returns the runs, the largest position and the languages."""
        n_terms = len(places)
        cf = [np.zeros(n_terms, np.int64) for _ in self._streams]
        for own, stream in zip(cf, self._streams, strict=True):
            own[places] = stream.counts(n_terms)
        self._spill = spill = RunSpill(self._folder / "postings.tmp", ListRanges.of(cf, self._sizes.range_tokens))
        del cf
        total = sum(stream.n_tokens for stream in self._streams)
        self._progress.start("sorting words", total)
        table, runs, largest, languages = table_of(places), [], 0, []
        for i, stream in enumerate(self._streams):
            stream.finish()
            field = FieldInOrder(self._fields[i].name, i, stream)

            def sort(chunk: tuple[int, int], field: FieldInOrder = field) -> SortedChunk:
                return field.sort(*chunk, table, spill)

            for chunk in self._concurrently(sort, field.chunks(self._sizes.chunk_tokens)):
                lengths[i][chunk.entities] = chunk.counts
                runs.append(chunk.run)
                largest = max(largest, chunk.largest_position)
                self._progress.advance(chunk.slots, chunk.slots)
            languages.append(field.languages())
            stream.remove()
        self._progress.done(total)
        return runs, largest, languages

    def _merge(self, out: ArrayWriter, runs: list[SpilledRun], n_lists: int, largest: int) -> int:
        """Writes the posting lists and returns the number of postings."""
        spill = self._spill
        assert spill is not None
        writer = ListsWriter(out, n_lists, largest)

        def piece(i: int) -> Piece:
            own = int(spill.ranges.bounds[i + 1] - spill.ranges.bounds[i])
            return writer.packed(*merged(Blocks.read(spill, runs, i), own))

        total = sum(int(run.tokens[-1]) for run in runs)
        self._progress.start("merging postings", total)
        try:
            for packed in self._concurrently(piece, range(len(spill.ranges))):
                writer.add(packed)
                self._progress.advance(len(packed.positions), int(packed.df.sum(dtype=np.int64)))
        except BaseException:
            writer.close()
            raise
        postings = writer.finish()
        spill.close()
        self._progress.done(postings)
        return postings

    def _concurrently(self, work: Callable[[_Item], _Result], items: Sequence[_Item]) -> Iterator[_Result]:
        """The results in the order of the items, computed in threads a few ahead."""
        if len(items) < 2 or self._executor is None:
            yield from map(work, items)
            return
        waiting: deque[Future[_Result]] = deque()
        for item in items:
            waiting.append(self._executor.submit(work, item))
            if len(waiting) > max(1, self._threads):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _write_terms(self, out: ArrayWriter, terms: list[str]) -> None:
        encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.uint64)
        out.write("terms.offsets", ends)
        out.write("terms.prefixes", prefixes_of(encoded))
        out.write("terms.text", np.frombuffer(b"".join(encoded), np.uint8))
