"""Proof from unit costs alone that operators over columns cost no more than the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hybridkg.interfaces.meter import ADJACENCY, COLUMN_CELLS, GRAPH_QUESTIONS, Work
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.construct import Construct
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.extend import Extend
from hybridkg.operators.filter import Filter
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.join_size import PAIR_CELLS
from hybridkg.operators.order_rows import OrderRows
from hybridkg.operators.project import Project, Slice
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.store_reading import WHOLE, StoreReading

SHRINKING = frozenset({ColumnQuery, Extend, Filter, GroupRows, OrderRows, Project, Slice})
"""Operators of one child that have no more rows than it has, or one."""

ABOVE = SHRINKING | {Construct}
"""Operators of one child over one pattern; the triples of a CONSTRUCT are those of the answer."""


PRICING_US = 25.0
"""Microseconds that pricing one bind join takes (2-core machine, warm caches). A plan that may cost that much more than
the store is taken without a price, because pricing it would not pay."""


@dataclass(frozen=True)
class ColumnsBound:
    """Upper bound of the price of a plan over columns: of one pattern, to which bind joins add others, where Oxigraph
    cannot stop early.

    Oxigraph reads at least n quads (StoreReading): as many as there are entries of the projection that the patterns
    read, rows that they have, or rows of the answer, whatever is most; and makes m rows of joins. The operators handle
    at most max(n + m, 1) rows each. So for every n and m, the price is at most `fixed + max(n, 1) * (each + of_answer)`
    without joins, and that of the store at least `one question + n * one row`. With joins, one half of the n rows of
    the store outweighs those of the answer, the other half and m all others.

    Of an ASK, the store may stop after one solution, so n has to be known: the price of the store is at least that of a
    question.

    Args:
        fixed: requests to the projection.
        each: work for each entry and each row.
        of_answer: work for each row of the answer.
        joins: number of bind joins.
        is_any: whether it is an ASK.
    """

    fixed: Work
    each: Work
    of_answer: Work
    joins: int = 0
    is_any: bool = False

    @classmethod
    def of(cls, operators: Sequence[PhysicalOperator]) -> ColumnsBound | None:
        """The bound of a plan; None if there is none."""
        reading, each, of_answer = StoreReading.of(operators), defaultdict[str, float](float), dict[str, float]()
        sources = (*reading.whole, *reading.streamed)
        joins = [one for one in sources if type(one) is BindJoin]
        if len(sources) != len(joins) + 1 or not _is_read_whole(reading):
            return None
        (source,) = (one for one in sources if type(one) is not BindJoin)
        is_any = isinstance(source, AnySolution)
        if not is_any and not isinstance(source, CountGroups) and not _is_one_pattern(source):
            return None
        for operator in operators:
            if operator is source or type(operator) is BindJoin:
                continue
            if type(operator) not in ABOVE or len(operator.children) != 1:
                return None
            work = operator.work(_ONE_ROW_EACH) or {}
            if isinstance(operator, ColumnQuery | Construct):
                of_answer.update(work)
                continue
            for kind, n in work.items():
                each[kind] += n
        each[ADJACENCY] += 1 + len(joins)
        each[COLUMN_CELLS] += 1 + (1 + PAIR_CELLS) * len(joins)
        questions = len(source.counted) if isinstance(source, CountGroups) else 1
        return cls({GRAPH_QUESTIONS: questions + len(joins)}, each, of_answer, len(joins), is_any)

    def is_below_store(self, cost: CostModel, entries: float = 1.0) -> bool:
        """Whether the plan costs less than the store, or PRICING_US more for each join, whatever the estimates are; of
        an ASK, whether it does with so many entries.

        >>> bound = ColumnsBound({"graph questions": 1}, {"adjacency": 1}, {"rows": 1})
        >>> costs = CostModel(us_per_graph_question=30.0, us_per_row_of_terms=2.0, us_per_adjacency_entry=0.5)
        >>> bound.is_below_store(costs)  # 30 + 2.5 below the 100 of a question, 2.5 below the 8 of a row
        True
        >>> bound.is_below_store(CostModel(us_per_graph_question=98.0))  # 98 + 2.52 is above 100
        False
        """
        each, of_answer, row = cost.price(self.each), cost.price(self.of_answer), cost.us_per_store_row
        if self.joins:
            grows_slower = of_answer <= row / 2 and each <= min(row / 2, cost.us_per_row_passed)
        else:
            grows_slower = each + of_answer < row
        least = cost.price(self.fixed) + max(entries, 1.0) * each + of_answer
        return grows_slower and least < cost.us_per_store_question + self.joins * PRICING_US


def _is_read_whole(reading: StoreReading) -> bool:
    """Whether Oxigraph reads all of its patterns, or looks for one solution, and lists the rows of the last operator or
    its triples.
    """
    listed = reading.solutions
    if reading.root is not listed and not isinstance(reading.root, Construct):
        return False
    while listed is not reading.listed:
        if isinstance(listed, Slice) and type(reading.listed) not in WHOLE:
            return False
        (listed,) = listed.children
    return True


def _is_one_pattern(operator: PhysicalOperator) -> bool:
    """Whether an operator evaluates one pattern of the projection, and lists its rows."""
    if not isinstance(operator, GraphFragment) or operator.relational is not None:
        return False
    return bool(operator.group.elements) and not operator.counted


class _OneRowEach(EstimationContext):
    """Estimates in which each operator has one row. Work is linear in rows, so that of an operator is then its work for
    each row.
    """

    def rows(self, operator: PhysicalOperator) -> float:
        return 1.0


_ONE_ROW_EACH = _OneRowEach()
