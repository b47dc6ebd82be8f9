"""Brief runs: plans that the thread of the caller executes, also under a time limit.

Their work checks the meter, so a deadline ends them; nothing in them waits for a store, a server or a model.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NoReturn, TypeVar, cast

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.meter import NotBriefError
from hybridkg.kb.query_template import QueryTemplate
from hybridkg.kb.snapshot import Snapshot
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.choose import PhysicalPlan

T = TypeVar("T")

MAX_BRIEF_US = 20_000.0
"""Maximum expected microseconds of a brief run. A kernel does not check the meter, and delays Ctrl-C by its time."""

MAX_BRIEF_ENTRIES = 7_500
"""Maximum entries of a brief run without a price: MAX_BRIEF_US if each becomes a row of terms; a path of as many steps
takes 23 ms. Before it reads more, the run begins again as its price decides."""

LIMIT_US = 50_000.0
"""Microseconds of joins and expressions after which a run is not brief, whatever was expected."""


class _NoStore:
    """In place of the store; every request to it raises NotBriefError."""

    url = ""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotBriefError


_NO_STORE = cast(GraphStore, _NoStore())


def briefly(work: Callable[[ExecutionContext], T], context: ExecutionContext, most_entries: float) -> T:
    """The value of work in a context that has no store, and bounds it.

    Raises:
        ManyEntriesError: patterns have more than `most_entries`.
        NotBriefError: an operator asked the store, or has more to do than LIMIT_US.
    """
    store, meter = context.store, context.meter
    context.store, context.brief_us = _NO_STORE, LIMIT_US
    meter.most_entries = most_entries
    try:
        return work(context)
    finally:
        context.store, context.brief_us, meter.most_entries = store, None, inf


def is_planned_here(template: QueryTemplate, snapshot: Snapshot) -> bool:
    """Whether planning asks neither a server, an encoder of vectors, nor an entity linker."""
    is_local = not snapshot.endpoint and (snapshot.text is None or not snapshot.text.is_remote)
    return is_local and template.ranks_here


def most_entries(template: QueryTemplate, plan: PhysicalPlan, snapshot: Snapshot, *, reads_many: bool) -> float:
    """The entries that a brief run of a plan that `is_planned_here` may read: inf if it is expected to take no longer
    than MAX_BRIEF_US, 0 if longer.

    A plan over columns without a price has MAX_BRIEF_ENTRIES; LIMIT_US bounds its joins and expressions. `reads_many`
    is whether another plan of the template would have read more; then its price decides.
    """
    if snapshot.graph is None or plan.strategy == "oxigraph" or template.reranks:
        return 0.0
    if plan.compared is None and isinstance(plan.root, ColumnQuery) and not reads_many:
        return MAX_BRIEF_ENTRIES
    return inf if plan.cost.estimate <= MAX_BRIEF_US else 0.0
