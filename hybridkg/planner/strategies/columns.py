"""Evaluation of a query without ranked predicates over columns of the projection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hybridkg.algebra.nodes import Fragment, Plan, Slice, SparqlQuery
from hybridkg.algebra.open_answers import open_answer
from hybridkg.algebra.to_pattern import DeclinedPattern
from hybridkg.interfaces.graph_index import Cardinality
from hybridkg.interfaces.strategy import Strategy
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_query import ColumnQuery
from hybridkg.operators.graph_fragment import not_held
from hybridkg.planner.columns_bound import ColumnsBound
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.joins import joined
from hybridkg.planner.lower import lower
from hybridkg.planner.plan_template import store_query
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.planner.ranking_costs import UNPRICED
from hybridkg.planner.relational import fragments_of, is_computed, over_columns


class ColumnsStrategy(Strategy):
    """Operators over columns of ids: a query without ranked predicates from the projection alone, any other one with
    its relations complete.
    """

    preference = 85

    def applies(self, logical: Plan, planning: PlannerContext) -> bool:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return planning.ranking(logical) is None
        if planning.store is not None:
            return False  # an endpoint may have changed since its graph was exported
        return not unsupported(query, planning)

    def cost(self, logical: Plan, planning: PlannerContext) -> Cardinality:
        """The sum of the prices of its operators, which EXPLAIN shows one by one."""
        operators = priced_operators(logical, planning)
        us = None if operators is None else planning.cost.of_operators(operators, planning.estimates)
        return UNPRICED if us is None else Cardinality(us, us, us)

    def is_cheapest(self, others: frozenset[str], logical: Plan, planning: PlannerContext) -> bool:
        """Whether the store, which alone has a price as well, has to read at least what columns read."""
        if not others <= {"oxigraph", "reference"}:
            return False
        proof = planning.memoize_for_template(("proof", id(logical)), lambda: _Proof.of(logical, planning))
        if proof is None or not proof.holds_at(planning.cost):
            return False
        prepared = [*map(planning.prepared, proof.fragments)]
        if None in prepared:
            return False
        asked = prepared[0] if proof.bound.is_any else None
        return asked is None or proof.bound.is_below_store(planning.cost, asked.any_work())

    def plan(self, logical: Plan, planning: PlannerContext) -> PhysicalOperator | None:
        query = below_slice(logical)
        if not isinstance(query, SparqlQuery):
            return joined(logical, planning)
        algebra = algebra_of(logical, planning)
        if algebra is None or not algebra.is_held(planning):
            return None
        root = over_columns(algebra.plan, planning.fragment)
        return None if root is None else lower(logical, {id(query): ColumnQuery(root, store_query(query.form))})


COLUMNS = ColumnsStrategy()


def below_slice(logical: Plan) -> Plan:
    """The plan below the LIMIT of a call, which cuts the triples of a graph."""
    return logical.child if isinstance(logical, Slice) else logical


def unsupported(query: SparqlQuery, planning: PlannerContext) -> str:
    """The part of a query that columns do not answer, whatever its parameters; empty if there is none."""
    form = query.form
    if query.relational is None:
        if form.dataset:
            return "FROM"
        return open_answer(form) or "an expression that one engine has to evaluate"
    if planning.repeats_triples:
        return "triples in several graphs of the union, each of which counts"
    return "" if is_computed(query.relational) else "an aggregate that columns do not compute"


def declined(query: SparqlQuery, planning: PlannerContext) -> str:
    """Why columns do not answer a query; empty if they could."""
    if planning.store is not None:
        return ""
    if reason := unsupported(query, planning):
        return reason
    if planning.graph is None:
        return "no projection"
    plan = planning.relational(query)
    assert plan is not None
    for fragment in fragments_of(plan):
        pattern = planning.pattern(fragment)
        if isinstance(pattern, DeclinedPattern):
            return pattern.reason
        if planning.prepared(fragment) is None:
            return not_held(planning.graph, pattern)
    return ""


class Algebra(NamedTuple):
    """Algebra of a query without ranked predicates, and its fragments."""

    plan: Plan
    fragments: list[Fragment]

    def is_held(self, planning: PlannerContext) -> bool:
        """Whether the projection holds every fragment."""
        return all(map(planning.prepared, self.fragments))


def algebra_of(logical: Plan, planning: PlannerContext) -> Algebra | None:
    """Algebra of a query, found once for its template; None where columns have none."""
    return planning.memoize_for_template(("algebra", id(logical)), lambda: _algebra_of(logical, planning))


def _algebra_of(logical: Plan, planning: PlannerContext) -> Algebra | None:
    query = below_slice(logical)
    plan = planning.relational(query) if isinstance(query, SparqlQuery) else None
    return None if plan is None else Algebra(plan, fragments_of(plan))


@dataclass(eq=False)
class _Proof:
    """What a template has for a proof that columns are the cheapest.

    Args:
        bound: of the price of its operators.
        fragments: those that the projection has to hold.
        known: the unit costs that it was asked for last, and whether it holds at these.
    """

    bound: ColumnsBound
    fragments: Sequence[Fragment]
    known: tuple[CostModel | None, bool] = (None, False)

    @classmethod
    def of(cls, logical: Plan, planning: PlannerContext) -> _Proof | None:
        algebra = algebra_of(logical, planning)
        if algebra is None or any(isinstance(planning.fragment(f).pattern, DeclinedPattern) for f in algebra.fragments):
            return None  # operators without open parameters are those of one set of values
        operators = priced_operators(logical, planning)
        bound = None if operators is None else ColumnsBound.of(operators)
        return None if bound is None else cls(bound, algebra.fragments)

    def holds_at(self, cost: CostModel) -> bool:
        """Whether the plan is below the store; of an ASK, whether it can be."""
        known = self.known
        if known[0] is not cost:
            known = self.known = cost, self.bound.is_below_store(cost)
        return known[1]


def priced_operators(logical: Plan, planning: PlannerContext) -> tuple[PhysicalOperator, ...] | None:
    """Operators over columns of a query without ranked predicates, in the order of EXPLAIN, for estimates: parameters
    may be open. None if the projection does not answer the query.
    """
    return planning.memoize(("priced", id(logical)), lambda: _priced_operators(logical, planning))


def _priced_operators(logical: Plan, planning: PlannerContext) -> tuple[PhysicalOperator, ...] | None:
    algebra = algebra_of(logical, planning)
    if algebra is None or not algebra.is_held(planning):
        return None
    root = planning.open_root("columns", logical, algebra.fragments)
    return None if root is None else planning.memoize_for_root("walk", "columns", root, lambda: (*root.walk(),))
