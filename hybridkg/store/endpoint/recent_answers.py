"""A cache of the results that arrived while a query was planned, for its run."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from hybridkg.rdf.solutions import Row

MAX_AGE_S = 1.0
"""Seconds; a run follows its plan at once."""

MAX_CACHED = 8
"""Entries; a plan that is not run leaves its own behind."""

_SELECT, _DISTINCT = "SELECT ", "SELECT DISTINCT "


class _Entry(NamedTuple):
    at: float
    variables: tuple[str, ...]
    rows: list[Row]


class RecentAnswers:
    """Complete results by query in canonical form; each is used once, and soon. Safe to use from many threads."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    def put(self, query: str, variables: tuple[str, ...], rows: list[Row]) -> None:
        """Caches all rows of a SELECT."""
        with self._lock:
            self._entries.pop(query, None)
            while len(self._entries) >= MAX_CACHED:
                del self._entries[next(iter(self._entries))]
            self._entries[query] = _Entry(time.monotonic(), variables, rows)

    def take(self, query: str) -> tuple[tuple[str, ...], list[Row]] | None:
        """The variables and rows of a SELECT, or of the same with DISTINCT; None if they are not cached."""
        if not self._entries:
            return None
        is_distinct = query.startswith(_DISTINCT)
        with self._lock:
            entry = self._entries.pop(_SELECT + query.removeprefix(_DISTINCT) if is_distinct else query, None)
        if entry is None or time.monotonic() - entry.at > MAX_AGE_S:
            return None
        return entry.variables, list(dict.fromkeys(entry.rows)) if is_distinct else entry.rows
