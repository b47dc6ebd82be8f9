"""Rewrite rules of the logical plan: pure functions, applied in the order of RULES.

Each preserves rows and order (architecture.md, law d); tests/algebra runs every query with and without them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hybridkg.algebra.nodes import Plan, SparqlQuery
from hybridkg.algebra.rules.count_solutions import count_solutions
from hybridkg.algebra.rules.delay_binds import delay_binds
from hybridkg.algebra.rules.gather_fragments import gather_fragments
from hybridkg.algebra.rules.join_exists import join_exists
from hybridkg.algebra.rules.narrow_distinct import narrow_distinct
from hybridkg.algebra.rules.push_filters import push_filters, push_translated_filters
from hybridkg.algebra.rules.push_minus import push_minus

RULES: tuple[Callable[[Plan], Plan], ...] = (
    delay_binds,
    gather_fragments,
    push_filters,
    join_exists,
    push_minus,
    narrow_distinct,
    count_solutions,
)
"""delay_binds first: fragments on both sides of a BIND may then be one. gather_fragments before the next three: filters
and MINUS are pushed into the largest fragments. join_exists after push_filters, for what cannot be pushed, and before
push_minus, which pushes what it makes. push_minus after push_filters: the right side of MINUS may then be one fragment.
narrow_distinct and count_solutions last: they drop variables that only pushed filters read."""


RELATIONAL_RULES: tuple[Callable[[Plan], Plan], ...] = (
    delay_binds,
    gather_fragments,
    push_translated_filters,
    push_minus,
    narrow_distinct,
    count_solutions,
)
"""Rules of a query without ranked predicates: a fragment stays one that the projection can answer."""


def rewrite(plan: Plan) -> Plan:
    if isinstance(plan, SparqlQuery) and plan.relational is not None:
        return replace(plan, relational=rewrite_relational(plan.relational))
    return _applied(RULES, plan)


def rewrite_relational(plan: Plan) -> Plan:
    """A plan without ranked predicates, by RELATIONAL_RULES."""
    return _applied(RELATIONAL_RULES, plan)


def _applied(rules: tuple[Callable[[Plan], Plan], ...], plan: Plan) -> Plan:
    for rule in rules:
        plan = rule(plan)
    return plan
