"""Delegation of a query without ranked predicates to the SPARQL engine."""

from __future__ import annotations

from hybridkg.algebra.nodes import Plan, SparqlQuery
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.meter import ADJACENCY, ROWS_PASSED, STORE_QUESTIONS, STORE_ROWS
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.any_solution import AnySolution
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.bind_join import FragmentProbe
from hybridkg.operators.construct import Construct
from hybridkg.operators.count_groups import CountGroups
from hybridkg.operators.describe import Describe
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.extend import Extend
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.join import HashJoin
from hybridkg.operators.left_join import LeftJoin
from hybridkg.operators.minus import Minus
from hybridkg.operators.order_rows import OrderRows
from hybridkg.operators.project import Project, Slice
from hybridkg.operators.sparql_query import StoreQuery
from hybridkg.planner.lower import lower
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.strategies.columns import below_slice, column_query, declined


class OxigraphStrategy(Strategy):
    """Whole query, in canonical text, as one request to the store."""

    preference = 0

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        return isinstance(below_slice(logical), SparqlQuery)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """The price of what Oxigraph reads and joins, by the estimates of the operators over columns."""
        columns = column_query(logical, planning)
        if columns is None:
            return UNPRICED
        read, joined = _read(columns.child, planning.estimates)
        us = planning.cost.price({STORE_QUESTIONS: 1, STORE_ROWS: read, ROWS_PASSED: joined})
        return Cardinality(us, us, us)

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return None
        return lower(logical, {id(query): StoreQuery(query.form, declined(query, planning))})


OXIGRAPH = OxigraphStrategy()

JOINS = (HashJoin, LeftJoin, Minus, FragmentProbe)

WHOLE = (GroupRows, CountGroups, OrderRows)
"""Operators whose first row comes after the last one that they read."""


def _read(root: PhysicalOperator, estimates: EstimationContext) -> tuple[float, float]:
    """(entries that Oxigraph reads, rows that it joins) for the rows of some operators.

    Every entry that a pattern reads costs as much as a row: Oxigraph decodes its terms. It stops after the last
    solution that is wanted, which are spread evenly over what it reads; what is grouped or sorted, and the right side
    of a join of sub-plans, it reads whole.
    """
    solutions = root.child if isinstance(root, Construct | Describe) else root
    whole = streamed = joined = 0.0
    waiting: list[tuple[PhysicalOperator, bool]] = [(solutions, False)]
    while waiting:
        operator, is_whole = waiting.pop()
        is_whole = is_whole or isinstance(operator, WHOLE)
        entries = _entries(operator, estimates)
        whole, streamed = (whole + entries, streamed) if is_whole else (whole, streamed + entries)
        first, rest = operator.children[:1], operator.children[1:]
        waiting += [*((child, is_whole) for child in first), *((child, True) for child in rest)]
        if isinstance(operator, JOINS):
            joined += estimates.rows(operator) or 0.0
    below = solutions
    while isinstance(below, Slice | Project | Extend):
        below = below.child
    rows = estimates.rows(below.fragment if isinstance(below, AnySolution) else below) or 0.0
    wanted = estimates.rows(solutions) or 0.0
    share = wanted / rows if wanted < rows and not isinstance(below, WHOLE) else 1.0
    read, joined = max(wanted, whole + share * streamed), share * joined
    if solutions is not root:
        read = max(read + _entries(root, estimates), estimates.rows(root) or 0.0)
    return read, joined


def _entries(operator: PhysicalOperator, estimates: EstimationContext) -> float:
    """Entries that an operator reads, or its rows of a pattern if they are more."""
    match operator:
        case GraphFragment(relational=None) if operator.group.elements:
            rows = estimates.rows(operator)
        case FragmentProbe():
            size = operator.size(estimates)
            rows = None if size is None else size.pairs
        case CountGroups(fragment) | AnySolution(fragment):
            rows = estimates.rows(fragment)
        case Describe():
            rows = 0.0
        case _:
            return 0.0
    return max(rows or 0.0, (operator.work(estimates) or {}).get(ADJACENCY, 0.0))
