"""Settings of the runs of queries and updates: the tables `[limits]` and `[updates]` of kb.toml."""

from __future__ import annotations

import os
from dataclasses import dataclass, field


def quarter_of_memory() -> int:
    """A quarter of the machine's memory, in whole megabytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4_000_000


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """The table `[limits]`: default limits of a query.

    Args:
        timeout: seconds; 0 for no limit.
        max_rows: rows of terms of an intermediate result.
        max_megabytes: estimated memory of an intermediate result, above which columns of ids go to disk. By default a
            quarter of the machine's memory.
    """

    timeout: float = 0.0
    max_rows: int = 10_000_000
    max_megabytes: float = field(default_factory=lambda: float(quarter_of_memory()))


@dataclass(frozen=True, slots=True)
class UpdateSettings:
    """The table `[updates]`; `load`: whether LOAD in an update may read: `refuse`, or `files` of this machine."""

    load: str = "refuse"
