"""DataFrames as tables: pandas, polars, and any other object with Arrow's or the interchange protocol."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from hybridkg.errors import LoadError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.table_reader import RowBatch
from hybridkg.tables.headers import checked_header, rows_of_batch
from hybridkg.tables.readers.arrow_columns import arrow_column

if TYPE_CHECKING:
    import pyarrow


def is_frame(value: Any) -> bool:
    """Whether an object is a DataFrame, or a table of Arrow."""
    return any(hasattr(type(value), name) for name in ("__dataframe__", "__arrow_c_stream__"))


class FrameTable:
    """The rows of a DataFrame in memory; converted batch by batch where it is one of pandas.

    Args:
        frame: the DataFrame. An index with a name is a column, another one is not.
        name: of the table.
    """

    part = ""
    size: int | None = None

    def __init__(self, frame: Any, name: str = "table"):
        self.source = self.name = name
        if hasattr(frame, "to_frame") and not hasattr(frame, "columns"):
            raise LoadError(
                f"a {type(frame).__name__} is one column, and a table is a DataFrame",
                hint='make one of it: series.to_frame("name")',
            )
        self._frame = _with_index(_whole_numbers(frame)) if _is_pandas(frame) else _arrow(frame)
        names = self._frame.columns if _is_pandas(frame) else self._frame.column_names
        self.columns = checked_header([*names], self.source)
        self._days = _days(self._frame) if _is_pandas(frame) else frozenset()

    def batches(self) -> Iterator[RowBatch]:
        """The rows in batches. Raises LoadError: a column has values without a text, or of several types."""
        size = rows_of_batch(len(self.columns))
        for start in range(0, len(self._frame), size):
            arrays = [self._array(i, start, size) for i in range(len(self.columns))]
            columns = [arrow_column(array, name, self.source) for name, array in zip(self.columns, arrays, strict=True)]
            yield RowBatch(start + 1, len(arrays[0]), columns)

    def _array(self, column: int, start: int, size: int) -> pyarrow.Array:
        with needs_extra("tables", "a DataFrame"):
            import pyarrow
        if not _is_pandas(self._frame):
            return self._frame.column(column).slice(start, size).combine_chunks()
        values = self._frame.iloc[start : start + size, column]
        try:
            array = pyarrow.array(values, from_pandas=True)
        except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, pyarrow.ArrowNotImplementedError) as e:
            raise LoadError(
                f"column {self.columns[column]!r} has values of several types: {str(e).partition(chr(10))[0]}",
                hint="convert it to one: df[column] = df[column].astype(str)",
                place=self.source,
            ) from e
        array = array.combine_chunks() if isinstance(array, pyarrow.ChunkedArray) else array
        return array.cast("date32") if column in self._days else array

    def advanced(self) -> int:
        """0: it is in memory."""
        return 0

    def place(self, row: int) -> str:
        """The place of a row."""
        return f"{self.source}, row {row}"


def _is_pandas(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "pandas"


def _with_index(frame: Any) -> Any:
    """The frame with the named parts of its index as columns."""
    names = frame.index.names
    if twice := [name for name in names if name is not None and name in frame.columns]:
        raise LoadError(
            f"the index and a column are both called {twice[0]!r}",
            hint="leave the index out: df.reset_index(drop=True)",
            place="DataFrame",
        )
    levels = [i for i, name in enumerate(names) if name is not None]
    return frame.reset_index(level=levels) if levels else frame


def _whole_numbers(frame: Any) -> Any:
    """The frame with integers where pandas has made floats of them, because some were missing."""
    whole = {}
    for name, kind in zip(frame.columns, frame.dtypes, strict=True):
        column = frame[name]
        if getattr(kind, "kind", "") == "f" and getattr(column, "ndim", 1) == 1 and column.isna().any():
            present = column.dropna()
            if len(present) and (present % 1 == 0).all() and present.abs().max() < 1 << 53:
                whole[name] = column.astype("Int64")
    return frame.assign(**whole) if whole and all(isinstance(name, str) for name in whole) else frame


def _days(frame: Any) -> frozenset[int]:
    """The places of the columns in which every moment is the midnight of no time zone: pandas has no type for dates."""
    found = set()
    for i, kind in enumerate(frame.dtypes):
        if getattr(kind, "kind", "") == "M" and getattr(kind, "tz", None) is None:
            present = frame.iloc[:, i].dropna()
            if len(present) and (present == present.dt.normalize()).all():
                found.add(i)
    return frozenset(found)


def _arrow(frame: Any) -> pyarrow.Table:
    with needs_extra("tables", "a DataFrame"):
        import pyarrow
        import pyarrow.interchange
    if isinstance(frame, pyarrow.Table):
        return frame
    try:
        if hasattr(type(frame), "__arrow_c_stream__"):
            return pyarrow.table(frame)
        return pyarrow.interchange.from_dataframe(frame)
    except (pyarrow.ArrowException, TypeError, ValueError, RuntimeError) as e:
        raise LoadError(f"not readable as a DataFrame: {type(frame).__name__}: {e}") from e
