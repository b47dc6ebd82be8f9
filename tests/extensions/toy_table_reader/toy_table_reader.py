"""A table format from outside: lines of `name=value` pairs between bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hybridkg.interfaces.table_reader import RowBatch, TableColumn


class ToyTable:
    """`id=1|title=Alien` on a line."""

    part = ""

    def __init__(self, path: Path):
        self.path, self.name, self.source = path, path.stem, str(path)
        self.size: int | None = None
        self.rows = [dict(pair.split("=") for pair in line.split("|")) for line in path.read_text().splitlines()]
        self.columns = list(self.rows[0])

    def batches(self) -> Iterator[RowBatch]:
        """All rows."""
        yield RowBatch(1, len(self.rows), [TableColumn([row[name] for row in self.rows]) for name in self.columns])

    def advanced(self) -> int:
        """Nothing."""
        return 0

    def place(self, row: int) -> str:
        """File and line."""
        return f"{self.path}:{row}"


class ToyReader:
    """Opens .toy files."""

    extensions = (".toy",)

    def open(self, path: Path) -> Sequence[ToyTable]:
        """One table a file."""
        return [ToyTable(path)]


READER = ToyReader()
