"""Proof from unit costs alone that operators over columns cost less than the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hybridkg.interfaces.meter import ADJACENCY, COLUMN_CELLS, GRAPH_QUESTIONS, Work
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.construct import Construct
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.extend import Extend
from hybridkg.operators.filter import Filter
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.order_rows import OrderRows
from hybridkg.operators.project import Project, Slice
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.store_reading import WHOLE, StoreReading

SHRINKING = frozenset({ColumnQuery, Extend, Filter, GroupRows, OrderRows, Project, Slice})
"""Operators of one child that have no more rows than it has, or one."""

ABOVE = SHRINKING | {Construct}
"""Operators of one child over one pattern; the triples of a CONSTRUCT are those of the answer."""


@dataclass(frozen=True)
class ColumnsBound:
    """Upper bound of the price of a plan over columns of one pattern, from which Oxigraph cannot stop early.

    Oxigraph reads at least n quads, n being the entries of the projection that the pattern reads, the rows that it has,
    or the triples of a CONSTRUCT, whatever is most (StoreReading). The operators above handle at most max(n, 1) rows
    each. So the price is at most `fixed + max(n, 1) * each`, that of the store at least `one question + n * one row`,
    whatever n is. Of an ASK, the store may stop after one solution, so n has to be known: the price is at most
    `fixed + n * each`, that of the store at least that of a question.

    Args:
        fixed: requests to the projection, and all other work of an ASK.
        each: work for each entry.
        is_any: whether it is an ASK.
    """

    fixed: Work
    each: Work
    is_any: bool = False

    @classmethod
    def of(cls, operators: Sequence[PhysicalOperator]) -> ColumnsBound | None:
        """The bound of a plan; None if there is none."""
        reading, above = StoreReading.of(operators), Counter[str]()
        if not _is_read_whole(reading):
            return None
        (source,) = *reading.whole, *reading.streamed
        for operator in operators:
            if operator is source:
                continue
            if type(operator) not in ABOVE or len(operator.children) != 1:
                return None
            above.update(operator.work(_ONE_ROW_EACH) or {})
        if isinstance(source, AnySolution):  # has one row at most
            return cls({GRAPH_QUESTIONS: 1, **above}, {ADJACENCY: 1}, is_any=True)
        questions = len(source.counted) if isinstance(source, CountGroups) else 1
        return cls({GRAPH_QUESTIONS: questions}, {**above, ADJACENCY: 1, COLUMN_CELLS: above[COLUMN_CELLS] + 1})

    def is_below_store(self, cost: CostModel, entries: float = 1.0) -> bool:
        """Whether the plan costs less than the store, whatever the estimates are; of an ASK that reads so many entries,
        less than one question to the store.

        >>> bound = ColumnsBound({"graph questions": 1}, {"rows": 1, "adjacency": 1})
        >>> costs = CostModel(us_per_graph_question=30.0, us_per_row_of_terms=2.0, us_per_adjacency_entry=0.5)
        >>> bound.is_below_store(costs)  # 30 + 2.5 below the 100 of a question, 2.5 below the 8 of a row
        True
        >>> bound.is_below_store(CostModel(us_per_graph_question=98.0))  # 98 + 2.52 is above 100
        False
        """
        each = cost.price(self.each)
        if each >= cost.us_per_store_row:
            return False
        return cost.price(self.fixed) + max(entries, 1.0) * each < cost.us_per_store_question


def _is_read_whole(reading: StoreReading) -> bool:
    """Whether Oxigraph reads all of one pattern, or looks for one solution, and lists the rows of the last operator or
    its triples.
    """
    sources, listed = (*reading.whole, *reading.streamed), reading.solutions
    if len(sources) != 1 or not (reading.root is listed or isinstance(reading.root, Construct)):
        return False
    if not isinstance(source := sources[0], CountGroups | AnySolution) and not _is_one_pattern(source):
        return False
    while listed is not reading.listed and not isinstance(source, AnySolution):
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
    """Estimates in which each operator has one row: the work of an operator is then that for each row."""

    def rows(self, operator: PhysicalOperator) -> float:
        return 1.0


_ONE_ROW_EACH = _OneRowEach()
