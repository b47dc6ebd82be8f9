"""Which strategy runs a query. Until statistics exist the order of preference is fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hybridkg.algebra.nodes import Plan, Project, Slice, Snippet, Whole
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.base import PhysicalOperator
from hybridkg.query import ast

PREFERENCE = ("oxigraph", "text_topk", "bind_join", "reference")
"""Best first; each gives the same rows, so the first that applies wins."""


@dataclass(frozen=True)
class PhysicalPlan:
    """The operators that will run, and why.

    Args:
        root: the operator that gives the result.
        strategy: name of the strategy that won.
        rejected: (strategy, why) for the others that apply, in order of preference.
        logical: what the operators compute.
    """

    root: PhysicalOperator
    strategy: str
    rejected: tuple[tuple[str, str], ...]
    logical: Plan


def choose(logical: Plan, strategy: str | None = None) -> PhysicalPlan:
    """The best applicable strategy, or the one asked for.

    Raises:
        UnknownNameError: no strategy of that name.
        UnsupportedQueryError: the strategy asked for does not apply to this query.
    """
    if strategy is not None:
        root = STRATEGIES.get(strategy).plan(logical)
        if root is None:
            raise UnsupportedQueryError(
                f"the strategy {strategy!r} does not apply to this query",
                hint="leave the strategy out, or use 'reference', which always applies",
            )
        return PhysicalPlan(root, strategy, (), logical)
    roots = {name: root for name in PREFERENCE if (root := STRATEGIES.get(name).plan(logical)) is not None}
    best, *others = roots
    rejected = tuple((name, "more work for the same rows") for name in others)
    return PhysicalPlan(roots[best], best, rejected, logical)


def with_limit(plan: Plan, limit: int | None) -> Plan:
    """The plan cut to `limit` rows, beside the query's own LIMIT; passages are still fetched last."""
    if limit is None:
        return plan
    match plan:
        case Snippet(child, _):
            return replace(plan, child=with_limit(child, limit))
        case Whole(ast.SelectQuery(modifiers=modifiers) as form):
            least = limit if modifiers.limit is None else min(modifiers.limit, limit)
            return Whole(replace(form, modifiers=replace(modifiers, limit=least)))
        case Whole(ast.AskQuery()) | Slice(Project(columns=())):
            return plan  # the answer of an ASK has no rows to limit
        case Slice(child, offset, own):
            return Slice(child, offset, limit if own is None else min(own, limit))
    return Slice(plan, 0, limit)
