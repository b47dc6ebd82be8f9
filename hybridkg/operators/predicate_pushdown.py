"""Predicate pushdown: graph conditions sent with a MATCH to a remote text index."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery
from hybridkg.interfaces.text_index import AnyCondition, PushdownCondition, TextQuery
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.pushdown_conditions import conditions, leaves


def pushdown_conditions(variable: str, fragment: GraphFragment) -> tuple[PushdownCondition | AnyCondition, ...]:
    """Conditions of a fragment on an entity; none for a dataset clause, as the index has the default graph only."""
    return () if fragment.dataset else conditions(fragment.bound_group, variable)


def with_conditions(
    query: RankedQuery, find: Callable[[], Sequence[PushdownCondition | AnyCondition]], index: RankedIndex
) -> RankedQuery:
    """Query with the conditions that the index supports; they are computed for a remote index only."""
    if not index.is_remote or not isinstance(query, TextQuery):
        return query
    supported = tuple(one for one in find() if all(map(index.supports_pushdown, leaves(one))))
    return query._replace(conditions=supported) if supported else query


def shown(pushed: Sequence[PushdownCondition | AnyCondition]) -> str:
    """Conditions for EXPLAIN: ` where 2018 <= <year> <= 2022`; empty without any."""
    return f" where {' and '.join(map(_shown, pushed))}" if pushed else ""


def _shown(condition: PushdownCondition | AnyCondition) -> str:
    """Condition for EXPLAIN: `2018 <= <year> <= 2022`."""
    if isinstance(condition, AnyCondition):
        return f"({' or '.join(' and '.join(map(_shown, branch)) for branch in condition.branches)})"
    if condition.equals is not None:
        return f"<{condition.predicate}> = {condition.equals}"
    low = "" if condition.low is None else f"{condition.low:.10g} <= "
    high = "" if condition.high is None else f" <= {condition.high:.10g}"
    return f"{low}<{condition.predicate}>{high}"
