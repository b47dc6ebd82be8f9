"""Rewrites of the logical plan: pure functions, applied in the order of RULES.

Each keeps rows and order (architecture.md, law d); tests/algebra runs every
query with and without them.
"""

from __future__ import annotations

from collections.abc import Callable

from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.rules.gather_fragments import gather_fragments
from hybridkg.algebra.rules.push_filters import push_filters

RULES: tuple[Callable[[Plan], Plan], ...] = (gather_fragments, push_filters)
"""gather_fragments first: a filter finds the widest fragment to go into."""


def rewrite(plan: Plan) -> Plan:
    """The plan after every rule."""
    for rule in RULES:
        plan = rule(plan)
    return plan
