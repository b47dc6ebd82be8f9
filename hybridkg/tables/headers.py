"""Checks of headers, and the sizes that every reader keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hybridkg.errors import LoadError

MAX_COLUMNS = 10_000
"""Columns of a table: more are a table on its side, or no table."""

MAX_CELL_LENGTH = 16_000_000
"""Characters of a cell: no term of Oxigraph's parsers is longer."""

MAX_LINE_LENGTH = 64 << 20
"""Bytes of a line of a text file, and of a row that has line ends in its cells."""

BATCH_CELLS = 5_000
"""Cells of a batch: 40,000 cost a quarter more, because their texts leave the cache of the processor."""

BATCH_CHARACTERS = 4_000_000
"""Characters after which a batch ends, so that rows with whole books in them are not held by the thousand."""


def rows_of_batch(columns: int) -> int:
    """Number of rows of a batch.

    >>> rows_of_batch(10), rows_of_batch(10_000)
    (500, 1)
    """
    return max(1, BATCH_CELLS // max(columns, 1))


def checked_header(names: Sequence[Any], place: str) -> tuple[str, ...]:
    """The names of the columns; one without a name, as pandas writes for its index, is called `column_N`.

    Raises:
        LoadError: no column, too many, or two of one name.

    >>> checked_header(["", " title "], "films.csv")
    ('column_1', 'title')
    """
    if len(names) > MAX_COLUMNS:
        raise LoadError(
            f"{len(names):,} columns, and a table may have {MAX_COLUMNS:,}",
            hint="is it the transpose of a table? turn it, or drop columns",
            place=place,
        )
    stripped = [str(name).strip() if name is not None else "" for name in names]
    if not any(stripped):
        raise LoadError("no header: the first row must have the names of the columns", place=place)
    found = tuple(name or f"column_{i}" for i, name in enumerate(stripped, 1))
    for i, name in enumerate(found, 1):
        if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
            raise LoadError(f"the name of column {i} has a NUL or half a character", hint="rename it", place=place)
    seen: dict[str, int] = {}
    for i, name in enumerate(found, 1):
        if name in seen:
            raise LoadError(
                f"two columns are called {name!r}: columns {seen[name]} and {i}",
                hint="rename one of them in the header",
                place=place,
            )
        seen[name] = i
    return found


def batched(rows: Iterator[Any], size: int, length: Callable[[Any], int]) -> Iterator[list[Any]]:
    """Lists of consecutive rows: at most `size`, and fewer where they reach BATCH_CHARACTERS.

    Args:
        rows: of a table.
        size: at least 1.
        length: characters of a row.

    >>> [*batched(iter(["a", "b", "c"]), 2, len)]
    [['a', 'b'], ['c']]
    """
    batch: list[Any] = []
    characters = 0
    for row in rows:
        batch.append(row)
        characters += length(row)
        if len(batch) >= size or characters >= BATCH_CHARACTERS:
            yield batch
            batch, characters = [], 0
    if batch:
        yield batch


def characters_of(value: Any) -> int:
    """The characters of the texts in a value of lists, tuples and dictionaries; names are not counted.

    >>> characters_of({"a": "bc", "d": [1, "e"]})
    3
    """
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(characters_of, value.values()))
    return sum(map(characters_of, value)) if isinstance(value, list | tuple) else 0
