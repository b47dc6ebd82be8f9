"""The second look at the pattern of a query with blank cells, within bounds of its own.

A warning must cost the user neither the answer nor its time, and no other machine may be asked twice. Oxigraph cannot
be stopped inside a query, and a look that takes too long goes on in an orphaned thread. So there is no look after a
long run, and none while an orphaned thread is at work.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from time import monotonic

from hybridkg.errors import HybridkgError, QueryStoppedError
from hybridkg.kb.brief_run import is_planned_here
from hybridkg.kb.cancellation import PATIENCE_S, POLL_S, StoppableThread, count_orphans
from hybridkg.kb.limits import Limits
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.query_template import BoundQuery

LOOK_S = 0.2
"""Seconds of a look: five times those in which Oxigraph returns the 20,000 solutions of an easy pattern."""

MAX_RUN_S = 2.0
"""Seconds of a run after which there is no look: a pattern that is slow to find all solutions may be to find one."""

RESERVE_S = PATIENCE_S + POLL_S
"""Seconds of the time limit that are left for the end of a look that is stopped."""


def blank_warnings(
    session: QuerySession,
    query: BoundQuery,
    blank: Mapping[str, int],
    rows: int,
    *,
    limits: Limits,
    cancel: threading.Event | None,
    spent: float,
    deadline: float | None,
) -> list[HybridkgError]:
    """Warnings about the blank cells of aggregates; none where a look would reach another machine or take long.

    Args:
        session: runs the look.
        query: the query that has run.
        blank: the number of blank cells of each column that has one.
        rows: the number of its rows.
        limits: on rows and memory of the look.
        cancel: ends the look and the query when another thread sets it.
        spent: seconds that the run has taken.
        deadline: the end of the run as a time of `time.monotonic`; None for none.

    Raises:
        QueryStoppedError: the query was cancelled.
    """
    if spent > MAX_RUN_S or count_orphans() or not is_planned_here(query.template, session.snapshot):
        return []
    seconds = LOOK_S if deadline is None else min(LOOK_S, deadline - monotonic() - RESERVE_S)
    if seconds <= 0:
        return []
    context = limits.apply_to(session.snapshot.context())
    with StoppableThread(timeout=seconds, cancel=cancel, doing=context.doing) as thread:
        context.meter = thread.meter
        try:
            return thread(session.blank_aggregates, query, blank, rows, context)
        except HybridkgError:  # the answer stands without a warning, unless nobody wants it any more
            if cancel is not None and cancel.is_set():
                raise QueryStoppedError("the query was cancelled") from None
            return []
