"""Brief runs: plans that the thread of the caller executes, also under a time limit.

Their work checks the meter, so a deadline ends them; nothing in them waits for a store, a server or a model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar, cast

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.kb.query_template import QueryTemplate
from hybridkg.kb.snapshot import Snapshot
from hybridkg.operators.context import ExecutionContext, NotBriefError
from hybridkg.planner.choose import PhysicalPlan

T = TypeVar("T")

MAX_BRIEF_US = 20_000.0
"""Maximum expected microseconds of a brief run. A kernel does not check the meter, and delays Ctrl-C by its time."""

LIMIT_US = 50_000.0
"""Microseconds of joins and expressions after which a run is not brief, whatever was expected."""


class _NoStore:
    """In place of the store; every request to it raises NotBriefError."""

    url = ""

    def __getattr__(self, name: str) -> NoReturn:
        raise NotBriefError


_NO_STORE = cast(GraphStore, _NoStore())


def briefly(work: Callable[[ExecutionContext], T], context: ExecutionContext) -> T:
    """The value of work in a context that has no store, and bounds it.

    Raises:
        NotBriefError: an operator asked the store, or has more to do than LIMIT_US.
    """
    store = context.store
    context.store, context.brief_us = _NO_STORE, LIMIT_US
    try:
        return work(context)
    finally:
        context.store, context.brief_us = store, None


def is_planned_here(template: QueryTemplate, snapshot: Snapshot) -> bool:
    """Whether planning asks neither a server, an encoder of vectors, nor an entity linker."""
    is_local = not snapshot.endpoint and (snapshot.text is None or not snapshot.text.is_remote)
    return is_local and template.ranks_here


def is_brief(template: QueryTemplate, plan: PhysicalPlan, snapshot: Snapshot) -> bool:
    """Whether a plan that `is_planned_here` is expected to take no longer than MAX_BRIEF_US, without the store."""
    if plan.cost is None or plan.cost.estimate > MAX_BRIEF_US or snapshot.graph is None or plan.strategy == "oxigraph":
        return False
    return not template.reranks
