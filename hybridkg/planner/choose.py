"""Which strategy runs a query. Until statistics exist the order of preference is fixed."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.algebra.nodes import Plan
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.base import PhysicalOperator

PREFERENCE = ("text_topk", "reference")
"""Best first; each gives the same rows, so the first that applies wins."""


@dataclass(frozen=True)
class PhysicalPlan:
    """The operators that will run, and why.

    Args:
        root: the operator that gives the result.
        strategy: name of the strategy that won.
        rejected: (strategy, why) for the others, in order of preference.
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
    rejected: list[tuple[str, str]] = []
    for name in (strategy,) if strategy else PREFERENCE:
        root = STRATEGIES.get(name).plan(logical)
        if root is not None:
            others = tuple((other, "later in the order of preference") for other in PREFERENCE if other not in (name, *dict(rejected)))
            return PhysicalPlan(root, name, (*rejected, *(() if strategy else others)), logical)
        rejected.append((name, "does not apply"))
    raise UnsupportedQueryError(
        f"the strategy {strategy!r} does not apply to this query",
        hint="leave the strategy out, or use 'reference', which always applies",
    )
