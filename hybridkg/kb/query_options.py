"""Options of one run: the keywords that `query` and `explain` share."""

from __future__ import annotations

import threading
from typing import NamedTuple


class QueryOptions(NamedTuple):
    """The keywords of `query`, which documents them, and `explain`; tests/kb/test_query_options.py compares them."""

    limit: int | None = None
    strategy: str | None = None
    timeout: float | None = None
    max_rows: int | None = None
    max_megabytes: float | None = None
    cancel: threading.Event | None = None
    name: str = "query"
