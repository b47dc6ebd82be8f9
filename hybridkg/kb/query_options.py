"""Options of one run: the keywords that `query` and `explain` share, at every door."""

from __future__ import annotations

import threading
from typing import NamedTuple


class QueryOptions(NamedTuple):
    """The keywords of `KnowledgeBase.query`, `KnowledgeBase.explain` and their namesakes of PreparedQuery.

    tests/kb/test_query_options.py holds the four signatures to this list.

    Args:
        limit: rows wanted at most, beside the query's own LIMIT; None for all.
        strategy: a name of STRATEGIES; None for the best that applies.
        timeout: seconds that the query may take; 0 for no limit; None for that of kb.toml.
        max_rows: rows that an intermediate result may have; None for that of kb.toml.
        max_megabytes: megabytes that it may take, as they are estimated; None for that of kb.toml.
        cancel: ends the query once it is set.
        name: of the query text, for errors.
    """

    limit: int | None = None
    strategy: str | None = None
    timeout: float | None = None
    max_rows: int | None = None
    max_megabytes: float | None = None
    cancel: threading.Event | None = None
    name: str = "query"
