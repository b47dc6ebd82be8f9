"""Parquet, one row group after the other, with the types of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.table_reader import RowBatch
from hybridkg.rdf.input_file import check_readable
from hybridkg.tables.headers import checked_header, rows_of_batch
from hybridkg.tables.readers.arrow_columns import arrow_column


class ParquetTable:
    """The rows of a file."""

    part = ""

    def __init__(self, path: Path):
        with needs_extra("tables", "Parquet"):
            import pyarrow
            import pyarrow.parquet
        check_readable(path)
        self.path, self.source, self.name = path, str(path), path.name.partition(".")[0]
        self._failures = (pyarrow.ArrowException, OSError)
        self._read = 0
        try:
            self._open: Callable[[], Any] = partial(pyarrow.parquet.ParquetFile, path)
            with self._open() as file:
                self.columns = checked_header(file.schema_arrow.names, str(path))
                self._rows = file.metadata.num_rows
        except self._failures as e:
            raise self._unreadable(e) from e
        self.size: int | None = path.stat().st_size

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches. Raises LoadError: the file is damaged, or a column has no literals."""
        first = 1
        try:
            with self._open() as file:
                for batch in file.iter_batches(rows_of_batch(len(self.columns))):
                    self._read += batch.num_rows
                    yield RowBatch(
                        first,
                        batch.num_rows,
                        [
                            arrow_column(array, name, self.source)
                            for name, array in zip(self.columns, batch.columns, strict=True)
                        ],
                    )
                    first += batch.num_rows
        except self._failures as e:
            raise self._unreadable(e) from e

    def advanced(self) -> int:
        """The share of the bytes that the rows since the last call have."""
        rows, self._read = self._read, 0
        return int(rows * (self.size or 0) // max(self._rows, 1))

    def place(self, row: int) -> str:
        """The place of a row."""
        return f"{self.path}, row {row}"

    def _unreadable(self, error: Exception) -> LoadError:
        reason = str(error).partition("\n")[0].rstrip(".")
        return LoadError(f"not valid Parquet: {reason[:1].lower()}{reason[1:]}", place=str(self.path))


class ParquetReader:
    """Opens Parquet files."""

    extensions = (".parquet",)

    def open(self, path: Path) -> Sequence[ParquetTable]:
        """The only table of a file. Raises LoadError: it is damaged; MissingExtraError: pyarrow is missing."""
        return [ParquetTable(path)]


PARQUET = ParquetReader()
