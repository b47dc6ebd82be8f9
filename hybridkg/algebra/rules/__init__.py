"""Rewrites of the logical plan: pure functions, applied in the order of RULES.

Each keeps rows and order (architecture.md, law d); tests/algebra runs every
query with and without them.
"""

from __future__ import annotations

from collections.abc import Callable

from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules.gather_fragments import gather_fragments
from hybridkg.algebra.rules.narrow_distinct import narrow_distinct
from hybridkg.algebra.rules.push_filters import push_filters
from hybridkg.algebra.rules.push_minus import push_minus

RULES: tuple[Callable[[Plan], Plan], ...] = (gather_fragments, push_filters, push_minus, narrow_distinct)
"""gather_fragments first: a filter and MINUS find the widest fragment to go into. push_minus after push_filters: what
MINUS removes may then be one fragment. narrow_distinct last: what a filter in a fragment reads need not leave it."""


def rewrite(plan: Plan) -> Plan:
    """The plan after every rule."""
    for rule in RULES:
        plan = rule(plan)
    return plan
