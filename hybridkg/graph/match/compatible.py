"""Compatible pairs: the estimated pairs of solutions of two sides that agree, unbound variables included.

As in join_cardinality.py, the sides are independent, and the smaller value set of a variable is contained in the
larger. An unbound variable agrees with every value (SPARQL 1.1, section 18.3): one that an OPTIONAL may leave unbound
joins all solutions of the other side.
"""

from __future__ import annotations

from typing import NamedTuple

from hybridkg.graph.match.nodes import PatternNode


class CompatiblePairs(NamedTuple):
    """Expected compatible pairs of the solutions of two sides, and the share of the left solutions that are in one."""

    pairs: float
    matched: float


def compatible_pairs(left: PatternNode, right: PatternNode) -> CompatiblePairs:
    """The expected pairs of the solutions of two nodes."""
    rows, matched = left.estimate(None), 1.0
    pairs = rows * right.estimate(None)
    for name in right.variables:
        if name not in left.variables:
            continue
        domain, its = max(left.domain(name), right.domain(name), 1.0), right.estimate(name)
        is_unbound = 1.0 - (1.0 - left.unbound_share(name)) * (1.0 - right.unbound_share(name))
        pairs *= is_unbound + (1.0 - is_unbound) / domain
        matched *= is_unbound + (1.0 - is_unbound) * min(1.0, its / domain)
    return CompatiblePairs(pairs, min(matched, pairs / max(rows, 1.0), 1.0))
