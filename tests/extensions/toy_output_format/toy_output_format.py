"""An output format from outside: how many rows, and then their cells between bars."""

from __future__ import annotations

from typing import TextIO

from hybridkg.results.result_set import ResultSet


def write_toy(result: ResultSet, out: TextIO) -> None:
    """`2 rows`, and a line for each."""
    rows = result.to_python()
    out.write(f"{len(rows)} rows\n")
    for row in rows:
        out.write("|".join(str(row[name]) for name in result.columns) + "\n")
