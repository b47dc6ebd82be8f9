"""Plain-text tables of the dot commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def listing(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows below their heads: numbers right-aligned with separators; the last column is never padded.

    >>> print(listing(("class", "instances"), [("films:Film", 1500)]))
    class       instances
    films:Film      1,500
    """
    texts = [tuple(heads), *(tuple(map(_shown, row)) for row in rows)]
    widths = [max(len(row[i]) for row in texts) for i in range(len(heads))]
    right = [bool(rows) and all(isinstance(row[i], int | float) for row in rows) for i in range(len(heads))]
    lines = (
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True))
        for row in texts
    )
    return "\n".join(line.rstrip() for line in lines)


def facts(values: dict[str, Any]) -> str:
    """`name  value` lines; nested ones are indented."""
    flat = list(_flat(values, ""))
    width = max((len(name) for name, _ in flat), default=0)
    return "\n".join(f"{name:<{width}}  {value}".rstrip() for name, value in flat)


def _flat(values: dict[str, Any], indent: str) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        label = indent + name.replace("_", " ")
        if isinstance(value, dict):
            lines += [(label, ""), *_flat(value, indent + "  ")]
        elif isinstance(value, list | tuple):
            lines.append((label, ", ".join(map(_shown, value)) or "none"))
        else:
            lines.append((label, _shown(value)))
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return "none" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)
