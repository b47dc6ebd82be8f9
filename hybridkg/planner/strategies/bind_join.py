"""Text first, complete: the graph is asked only about the entities that matched."""

from __future__ import annotations

from math import inf
from operator import attrgetter

from hybridkg.algebra.nodes import Plan
from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.text_join import TextJoin
from hybridkg.planner.joins import joined
from hybridkg.planner.of_ranking import OfRanking
from hybridkg.planner.planning import Planning


class BindJoins:
    """The reference plan, with a fragment probed or read in ids wherever it meets a MATCH on a variable both bind.

    Exact: both have the rows of the HashJoin in whose place they stand.
    """

    exact = True
    cost = OfRanking(attrgetter("bind_join"), otherwise=Size(0.0, inf, inf), least=attrgetter("bind_join_least"))

    @staticmethod
    def plan(logical: Plan, planning: Planning) -> PhysicalOperator | None:
        """Operators, or None where no fragment meets a MATCH."""
        root = joined(logical, planning)
        return root if any(isinstance(op, TextJoin | BindJoin | BindLeftJoin) for op in root.walk()) else None
