"""Columnar solutions on disk, and their partitions by ranges of keys, for what does not fit in memory.

Ids and numbers are written as they are held, 4 or 8 bytes a cell. Terms that a query has made have no id: they stay in
memory and are counted. Partitioning by ranges is recursive, so the partitions come in the order of the keys: a radix
sort from the most significant digit (Knuth, The Art of Computer Programming, vol. 3, section 5.2.5).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, NamedTuple, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import QueryLimitError, StorageError
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_join import as_terms, concatenated, stacked
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn
from hybridkg.operators.context import CELL_BYTES, ExecutionContext
from hybridkg.operators.partition import Keys
from hybridkg.rdf.terms import Term

PARTS = 64
"""Maximum partitions of one pass; each write of a block is then still some thousand rows."""

SplitBy = Callable[[InColumns], Keys]
"""Numbers of some rows, by whose ranges they are partitioned; they do not depend on the block that a row is in."""


class Disk:
    """Temporary files of an operator, in the folder of `tempfile`.

    They have no name, so the system removes them with the process, also after a crash; and when the block ends, also by
    an error. An array that is mapped lives on until it is released.

    >>> with Disk() as disk:
    ...     place = disk.write(disk.file(), np.arange(3, dtype=np.uint32))
    ...     (place.read().tolist(), disk.written)
    ([0, 1, 2], 12)
    """

    def __init__(self) -> None:
        self._files: list[IO[bytes]] = []
        self.written = 0
        self.partitions = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()

    def record(self, context: ExecutionContext, operator: PhysicalOperator) -> None:
        """Shows in EXPLAIN ANALYZE what an operator has written."""
        context.record_detail(operator, partitions=self.partitions, bytes_on_disk=self.written)

    def file(self) -> IO[bytes]:
        """A new file."""
        file: IO[bytes] = tempfile.TemporaryFile(prefix="hybridkg-", buffering=0)  # noqa: SIM115 - __exit__ closes it
        self._files.append(file)
        return file

    def write(self, file: IO[bytes], array: NDArray[Any]) -> WrittenArray:
        """Appends an array.

        Raises:
            QueryLimitError: the disk is full.
        """
        written = WrittenArray(file, file.seek(0, 2), array.dtype, len(array))
        left = np.ascontiguousarray(array).view(np.uint8).data
        self.written += len(left)
        try:
            while left:
                left = left[file.write(left) :]
        except OSError as e:
            raise QueryLimitError(
                f"cannot write to the folder for temporary files, {tempfile.gettempdir()!r}: {e.strerror}",
                hint="make room there, set TMPDIR to another folder, or raise the limit on memory",
            ) from e
        return written


class WrittenArray(NamedTuple):
    """An array in a file."""

    file: IO[bytes]
    offset: int
    dtype: np.dtype[Any]
    size: int

    def read(self) -> NDArray[Any]:
        """The array.

        Raises:
            StorageError: the file is shorter than what was written.
        """
        self.file.seek(self.offset)
        array: NDArray[Any] = np.fromfile(self.file, self.dtype, self.size)
        if len(array) < self.size:
            raise StorageError("a temporary file of the query has become shorter", hint="ask again")
        return array


class _Cells(NamedTuple):
    """Cells of a column on disk: ids or numbers as in `column`, which is empty; codes of terms where it is None."""

    column: IdColumn | NumberColumn | None
    array: WrittenArray


@dataclass(eq=False)
class _Terms:
    """Terms by code, in memory."""

    code_of: dict[Term | None, int] = field(default_factory=dict)

    def codes(self, column: Column) -> NDArray[np.int32]:
        distinct, place = column.each()
        codes = [self.code_of.setdefault(term, len(self.code_of)) for term in distinct.cells()]
        return np.array(codes, np.int32)[place]

    @property
    def terms(self) -> NDArray[np.object_]:
        terms = np.empty(len(self.code_of), object)
        terms[:] = list(self.code_of)
        return terms


@dataclass(eq=False)
class RowsOnDisk:
    """Rows of one operator, block by block.

    Args:
        disk: their files.
        context: of the run.
        shared: file of all columns; None for one of each column, which can be mapped as a whole.
    """

    disk: Disk
    context: ExecutionContext
    shared: IO[bytes] | None = None
    size: int = 0
    _empty: InColumns | None = None
    _blocks: list[tuple[int, dict[str, _Cells]]] = field(default_factory=list)
    _files: dict[str, IO[bytes]] = field(default_factory=dict)
    _terms: dict[str, _Terms] = field(default_factory=dict)

    def append(self, block: InColumns) -> None:
        """Writes the rows of a block; all have the same variables.

        Raises:
            QueryLimitError: the disk is full, or terms that the query has made take more memory than the limit.
            QueryStoppedError: the run is over its time limit or cancelled.
        """
        self.context.meter.check()
        if self._empty is None:
            self._empty = block.take([])
        if block.size:
            cells = {name: self._cells(name, column) for name, column in block.columns.items()}
            self._blocks.append((block.size, cells))
            self.size += block.size

    def _cells(self, name: str, column: Column) -> _Cells:
        file = self.shared or self._files.get(name)
        if file is None:
            file = self._files[name] = self.disk.file()
        if isinstance(column, IdColumn):
            return _Cells(IdColumn(column.ids[:0].copy(), column.graph), self.disk.write(file, column.ids))
        if isinstance(column, NumberColumn):
            return _Cells(
                NumberColumn(column.numbers[:0].copy(), column.literal), self.disk.write(file, column.numbers)
            )
        codes = self._terms.setdefault(name, _Terms()).codes(column)
        self.context.hold_bytes(CELL_BYTES * sum(len(terms.code_of) for terms in self._terms.values()))
        return _Cells(None, self.disk.write(file, codes))

    def _column(self, name: str, kind: IdColumn | NumberColumn | None, array: NDArray[Any]) -> Column:
        if isinstance(kind, IdColumn):
            return IdColumn(array, kind.graph)
        if isinstance(kind, NumberColumn):
            return NumberColumn(array, kind.literal)
        return TermColumn(self._terms[name].terms, array)

    @property
    def empty(self) -> InColumns:
        """The columns without rows."""
        assert self._empty is not None
        return self._empty

    def blocks(self) -> Iterator[InColumns]:
        """The blocks that were written."""
        for size, cells in self._blocks:
            self.context.meter.check()
            columns = {name: self._column(name, one.column, one.array.read()) for name, one in cells.items()}
            yield self.empty.having(columns, size)

    def read(self) -> InColumns:
        """All rows, in memory."""
        return stacked(list(self.blocks())) if self._blocks else self.empty

    def mapped(self) -> InColumns:
        """All rows. Where they do not fit in memory, ids and numbers stay on disk and are read as needed."""
        if self.size <= self.context.rows_at_once(len(self.empty.variables)):
            return self.read()
        return self.empty.having({name: self._mapped(name) for name in self.empty.variables}, self.size)

    def _mapped(self, name: str) -> Column:
        parts = [cells[name] for _, cells in self._blocks]
        kinds = [part.column for part in parts]
        if len({getattr(kind, "literal", type(kind)) for kind in kinds}) > 1:
            self.context.hold(self.size, 1)
            return concatenated([self._column(name, part.column, part.array.read()) for part in parts])
        # The column of a variable that a whole block leaves unbound has no graph of its own.
        named = [kind for kind in kinds if not isinstance(kind, IdColumn) or kind.graph.n_nodes] or kinds
        array = np.memmap(parts[0].array.file, parts[0].array.dtype, "r", shape=(self.size,))
        return self._column(name, named[0], array)

    def of_cells(self, names: Sequence[str]) -> list[SplitBy]:
        """Numbers of the cells of some columns: the ids where all are ids, else checksums of the terms."""
        return [self._ids_of(name) or _checksums_of(name) for name in names if name in self.empty.columns]

    def _ids_of(self, name: str) -> SplitBy | None:
        if all(isinstance(cells[name].column, IdColumn) for _, cells in self._blocks):
            return lambda rows: rows.column(name).keys
        return None

    def partitions(self, by: Sequence[SplitBy], limit: int) -> Iterator[InColumns]:
        """The rows in partitions of at most `limit` rows, in the order of the numbers; afterwards this object has none.

        Rows with the same numbers are in one partition, in the order in which they were written.

        Raises:
            QueryLimitError: more rows than `limit` have the same numbers.
        """
        if self.size <= limit:
            self.disk.partitions += 1
            yield self.read()
            return
        if not by:
            raise QueryLimitError(
                f"{self.size:,} rows of one group do not fit in memory",
                hint="add a condition to the pattern, or raise the limit on memory",
            )
        numbers, *further = by
        spans = [(int(found.min()), int(found.max())) for found in map(numbers, self.blocks())]
        low, high = min(span[0] for span in spans), max(span[1] for span in spans)
        if low == high:
            yield from self.partitions(further, limit)
            return
        count = min(PARTS, -(-2 * self.size // limit), high - low + 1)
        width = -(-(high - low + 1) // count)
        file = self.shared or self.disk.file()
        parts = [RowsOnDisk(self.disk, self.context, file, _terms=self._terms) for _ in range(count)]
        for block in self.blocks():
            place = (numbers(block).astype(np.int64) - low) // width
            order, ends = np.argsort(place, kind="stable"), np.bincount(place, minlength=count).cumsum().tolist()
            for part, begin, end in zip(parts, [0, *ends], ends, strict=False):
                if begin < end:
                    part.append(block.take(order[begin:end]))
        self._blocks.clear()
        for part in parts:
            if part.size:
                yield from part.partitions(by, limit)


def _checksums_of(name: str) -> SplitBy:
    def checksums(rows: InColumns) -> Keys:
        terms = as_terms(rows.column(name)).stored
        return np.array([crc32(str(term).encode()) for term in terms.terms.tolist()], np.uint32)[terms.codes]

    return checksums
