"""How long each operator of a plan is expected to take by itself, for EXPLAIN: unit costs times expected rows."""

from __future__ import annotations

from math import isfinite

from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.best_rows import BestRows
from hybridkg.operators.bind_join import BindJoin
from hybridkg.operators.describe import Describe
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.graph_each import GraphEach
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.group import GroupRows
from hybridkg.operators.known import Known, times
from hybridkg.operators.left_join import BindLeftJoin
from hybridkg.operators.match_each import MatchEach
from hybridkg.operators.score_rows import ScoreRows
from hybridkg.operators.text_join import TextJoin
from hybridkg.operators.text_relation import TextRelation
from hybridkg.operators.whole_query import WholeQuery
from hybridkg.planner.choose import PhysicalPlan
from hybridkg.planner.cost_model import CostModel


def own_times(plan: PhysicalPlan, known: Known, cost: CostModel) -> dict[int, float]:
    """Microseconds by the identity of the operator, children excluded; operators of which nothing is known are left
    out. Of a BestRows it is what the others leave of the cost of the whole plan.
    """
    found: dict[int, float] = {}
    waiting: list[tuple[PhysicalOperator, Known]] = [(plan.root, known)]
    best: list[BestRows] = []
    while waiting:
        operator, here = waiting.pop()
        if isinstance(operator, BestRows):
            best.append(operator)
        elif (us := _own_us(operator, here, cost)) is not None:
            found[id(operator)] = us
        below = operator.below(here)
        waiting += [(child, below) for child in operator.children]
    if len(best) == 1 and plan.cost is not None and isfinite(plan.cost.guess):
        found[id(best[0])] = max(0.0, plan.cost.guess - sum(found.values()))
    return found


def _own_us(operator: PhysicalOperator, known: Known, cost: CostModel) -> float | None:
    rows = known.rows(operator)
    match operator:
        case WholeQuery() | MatchEach() | GraphEach() | GroupRows() | Describe():
            return None
        case TextRelation(match, _, top):
            matches, postings = cost.us_per_scored_posting, cost.us_per_posting
            of_index = times(known.most(match), matches if top is None else postings)
            return _sum(cost.us_per_text_question, of_index, _terms(rows, cost))
        case GraphFragment() | SparqlFragment():
            if not operator.group.elements:
                return 0.0
            prepared = None if isinstance(operator, SparqlFragment) else known.prepared(operator.pattern)
            if prepared is None:
                return _sum(cost.us_per_store_question, times(rows, cost.us_per_store_row))
            return _sum(_graph_us(prepared.work(), cost), _terms(rows, cost))
        case TextJoin(match, _, fragment):
            most = known.most(match)
            scores = _sum(cost.us_per_text_question, times(most, cost.us_per_scored_posting))
            return _sum(scores, _asked_us(fragment, match.entity.name, most, known, cost), _terms(rows, cost))
        case BindJoin() | BindLeftJoin():
            asked = _asked_us(operator.fragment, operator.variable, known.rows(operator.child), known, cost)
            return _sum(asked, _terms(rows, cost))
        case ScoreRows(child):
            scored = times(known.rows(child), cost.us_per_scored_candidate)
            return _sum(cost.us_per_text_question, scored)
    read = known.rows(operator.children[0]) if operator.children else rows
    return _sum(cost.us_per_operator, times(read, cost.us_per_row_of_terms / 2))


def _asked_us(
    fragment: GraphFragment, variable: str, values: float | None, known: Known, cost: CostModel
) -> float | None:
    """To ask a fragment about some values of a variable."""
    prepared = known.prepared(fragment.pattern)
    if prepared is None:
        return _sum(cost.us_per_store_question, times(values, cost.us_per_probe_in_store))
    each = times(values, prepared.work_each(variable))
    return None if each is None else _graph_us(min(prepared.work(), each), cost)


def _graph_us(entries: float, cost: CostModel) -> float:
    return cost.us_per_graph_question + entries * cost.us_per_adjacency_entry


def _terms(rows: float | None, cost: CostModel) -> float | None:
    return times(rows, cost.us_per_row_of_terms)


def _sum(*parts: float | None) -> float | None:
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
