"""Answers that came while a query was planned, for its run to begin with."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from hybridkg.rdf.solutions import Row

KEPT_S = 1.0
"""Seconds: a run follows its plan at once, and no answer is to be older than that."""

MAX_CACHED = 8
"""Answers: a plan that is not run leaves them behind."""

_SELECT, _DISTINCT = "SELECT ", "SELECT DISTINCT "


class _Kept(NamedTuple):
    at: float
    variables: tuple[str, ...]
    rows: list[Row]


class KeptAnswers:
    """Whole answers by their query in canonical form; each is given once, and soon. Safe to use from many threads."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def put(self, query: str, variables: tuple[str, ...], rows: list[Row]) -> None:
        """Keeps all rows of a SELECT."""
        with self._lock:
            self._kept.pop(query, None)
            while len(self._kept) >= MAX_CACHED:
                del self._kept[next(iter(self._kept))]
            self._kept[query] = _Kept(time.monotonic(), variables, rows)

    def take(self, query: str) -> tuple[tuple[str, ...], list[Row]] | None:
        """The variables and rows of a SELECT, or of the same with DISTINCT; None where none are kept."""
        if not self._kept:
            return None
        is_distinct = query.startswith(_DISTINCT)
        with self._lock:
            found = self._kept.pop(_SELECT + query.removeprefix(_DISTINCT) if is_distinct else query, None)
        if found is None or time.monotonic() - found.at > KEPT_S:
            return None
        return found.variables, list(dict.fromkeys(found.rows)) if is_distinct else found.rows
