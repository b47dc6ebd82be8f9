"""What each way to run a ranking is expected to cost, in microseconds, before anything has run.

The candidate set is the unknown: its size comes from the projection with two bounds. The matching entities of a MATCH
are known to the posting. What the graph and the text have to do with each other is not known, and it decides: words
that belong to the filter leave ten times as many entities as chance would, words of another subject none. So a cost is
the mean over three cases (CORRELATIONS), and a plan that is cheap in one of them and ruinous in another loses to one
that is fair in all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import NamedTuple

from hybridkg.algebra.certain import certain
from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.rank_first import DEEPER, LEAST_DEPTH
from hybridkg.operators.rank_join import FIRST_DEPTH
from hybridkg.operators.text_join import MATCHES_PER_PROBE
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.settled import settled

OPERATORS = 4
"""Operators of a ranked plan beside those of its fragments and MATCHes: LIMIT, projection, order, choice of rows."""

UNKNOWN_SHARE = 0.1
"""Of the entities in a pattern that only the store can say anything about, before it is asked."""

CORRELATIONS = (1 / 8, 1.0, 8.0)
"""So many times as many entities as chance would leave satisfy graph and text: they exclude each other, have nothing to
do with each other, belong together. Taken to be equally likely."""


@dataclass(frozen=True, slots=True)
class Graph:
    """What the patterns of a ranking leave of the entities of one variable, and what it takes to find out.

    Args:
        size: of the candidate set.
        whole_us: to find all of it.
        each_us: to find out about one entity, asked with others.
        question_us: once for every set that is asked about.
        rows_each: rows of the patterns for one entity.
    """

    size: Size
    whole_us: float
    each_us: float
    question_us: float
    rows_each: float


def graph_of(ranking: Ranking, variable: str, planning: Planning) -> Graph:
    """What is known of the candidate set of a variable; found out once."""
    return planning.once((id(ranking), variable), lambda: _graph_of(ranking, variable, planning))


def _graph_of(ranking: Ranking, variable: str, planning: Planning) -> Graph:
    cost, n = planning.cost, float(planning.entities)
    low = guess = high = n
    whole = each = question = 0.0
    rows = 1.0
    fragments = ranking.fragments_with(variable)
    for fragment in fragments:
        prepared = planning.prepared(fragment)
        if prepared is None:
            own = Size(0.0, n * UNKNOWN_SHARE, n)
            whole += own.guess * cost.us_per_store_row
            each += cost.us_per_probe_in_store
            question += cost.us_per_store_question
        else:
            own = prepared.size(variable)
            whole += prepared.work(variable) * cost.us_per_adjacency_entry
            each += prepared.work_each(variable) * cost.us_per_adjacency_entry
            question += cost.us_per_graph_question
            if len(prepared.variables) > 1:
                rows *= max(1.0, prepared.size().guess / max(own.guess, 1.0))
        low, guess, high = max(0.0, low + own.low - n), guess * own.guess / max(n, 1.0), min(high, own.high)
    for match in ranking.filters:
        entity, most = match.match.entity.name, float(planning.most(match.match))
        share = min(1.0, most / max(n, 1.0))
        question += cost.us_per_text_scoring
        if entity == variable:
            # Scored are the entities that the fragments leave, or else all that match.
            whole += min(most * cost.us_per_scored_posting, _scored_us(guess, guess * share, planning))
            each += _scored_us(1.0, share, planning)
            guess, high = guess * share, min(high, most)
        else:
            whole += most * cost.us_per_scored_posting
            if any(entity in certain(fragment.group) for fragment in fragments):
                guess *= share
        low = 0.0
    return Graph(Size(low, max(guess, 1.0), max(high, 1.0)), whole, each, question, rows)


# --- one ranked variable -------------------------------------------------------------


def filter_first_cost(ranking: Ranking, planning: Planning) -> Size:
    """To find the candidate set and to score it."""
    return planning.once((id(ranking), "filter_first"), lambda: _filter_first_cost(ranking, planning))


def _filter_first_cost(ranking: Ranking, planning: Planning) -> Size:
    (variable,) = ranking.variables
    graph, cost = graph_of(ranking, variable, planning), planning.cost
    before = graph.whole_us + graph.question_us + len(ranking.scored) * cost.us_per_text_scoring
    each = 0.0
    if not ranking.fragments_with(variable) and not ranking.filters:
        before += sum(planning.most(match.match) for match in ranking.scored) * cost.us_per_scored_posting
    else:
        before += graph.size.guess * len(ranking.scored) * cost.us_per_scored_candidate
        each = len(ranking.scored) * _scored_us(0.0, 1.0, planning)

    rest = _rest(ranking, planning, graph)
    return _expected(ranking, graph, planning, lambda joined: before + joined * each + rest.us(joined))


def filtered_topk_cost(ranking: Ranking, planning: Planning) -> Size:
    """To find the candidate set and to rank it in the index."""
    return planning.once((id(ranking), "filtered_topk"), lambda: _filtered_topk_cost(ranking, planning))


def _filtered_topk_cost(ranking: Ranking, planning: Planning) -> Size:
    if planning.is_far:
        return filter_first_cost(ranking, planning)  # which is what a server does
    (variable,) = ranking.variables
    graph, cost = graph_of(ranking, variable, planning), planning.cost
    most = planning.most(ranking.scored[0].match)
    before = graph.whole_us + graph.question_us + cost.us_per_text_question + most * cost.us_per_posting
    before += graph.size.guess * cost.us_per_masked_candidate

    rest = _rest(ranking, planning, graph)

    def with_matches(joined: float) -> float:
        return before + min(joined, ranking.k or joined) * cost.us_per_hit + rest.us(joined)

    return _expected(ranking, graph, planning, with_matches)


def candidates_first_cost(ranking: Ranking, planning: Planning) -> Size:
    """The better way to score a candidate set."""
    scored = filter_first_cost(ranking, planning)
    if len(ranking.scored) > 1 or ranking.scored[0].match.top is not None:
        return scored
    return min(scored, filtered_topk_cost(ranking, planning), key=lambda size: size.guess)


def rank_first_cost(ranking: Ranking, planning: Planning) -> Size:
    """To read the lists as deep as it takes and to ask the graph about what they bring; at most until as much is spent
    as the candidate set would cost, which then is found after all.
    """
    (variable,) = ranking.variables
    graph, k = graph_of(ranking, variable, planning), float(ranking.k or 1)
    lists = [float(planning.most(match.match)) for match in ranking.scored]
    restricted = bool(ranking.fragments_with(variable) or ranking.filters)
    instead = candidates_first_cost(ranking, planning).guess if restricted and planning.switching else None

    rest, longest = _rest(ranking, planning, graph), max(lists)

    def with_matches(joined: float) -> float:
        spread = k if len(lists) == 1 else 4.0 * k  # the best of one list are seldom those of the other
        wanted = longest if joined < spread else spread * longest / joined
        depth, us = max(LEAST_DEPTH, 2.0 * k), 0.0
        while True:
            us += _look_us(depth, lists, graph if restricted else None, planning)
            if depth >= min(wanted, longest):
                return us + rest.us(joined)
            if instead is not None and us > instead:
                return us + instead
            depth *= DEEPER

    return _expected(ranking, graph, planning, with_matches)


def _look_us(depth: float, lists: list[float], graph: Graph | None, planning: Planning) -> float:
    """One look at the best of some lists, and what it takes to test and score what it brings."""
    cost = planning.cost
    us = cost.us_per_look + sum(
        cost.us_per_text_question + most * cost.us_per_posting + min(depth, most) * cost.us_per_hit for most in lists
    )
    fresh = sum(min(depth, most) for most in lists) * (1.0 - 1.0 / DEEPER)
    if graph is not None:
        us += graph.question_us + min(fresh * graph.each_us, graph.whole_us)
    if len(lists) > 1:
        us += len(lists) * (cost.us_per_text_scoring + _scored_us(fresh, fresh / len(lists), planning))
    return us


# --- several ranked variables, and none ----------------------------------------------


def rank_join_cost(ranking: Ranking, planning: Planning) -> Size:
    """To read the lists, deeper than k, and to join what they bring."""
    graphs = [graph_of(ranking, variable, planning) for variable in ranking.variables]
    cost, k, n = planning.cost, float(ranking.k or 1), max(float(planning.entities), 1.0)
    lists = [float(planning.most(match.match)) for match in ranking.scored]
    linked = max(1.0, min(graph.size.guess * graph.rows_each for graph in graphs))

    def with_links(factor: float) -> float:
        # So deep in both lists there are k pairs; to be sure that no other is better takes another look.
        wanted = DEEPER * n * sqrt(k / (linked * factor))
        depth, us = max(LEAST_DEPTH, FIRST_DEPTH * k), 0.0
        while True:
            us += cost.us_per_look + max(graph.question_us for graph in graphs)
            us += min(min(depth, most) * graph.each_us for most, graph in zip(lists, graphs, strict=True))
            us += sum(
                cost.us_per_text_question + most * cost.us_per_posting + min(depth, most) * cost.us_per_hit
                for most in lists
            )
            pairs = linked * factor
            for most in lists:
                pairs *= min(depth, most) / n
            us += _above(ranking, planning, graphs[0], pairs)
            if depth >= min(wanted, max(lists)):
                return us
            if planning.switching and us > instead:
                return us + instead
            depth *= DEEPER

    instead = bind_join_cost(ranking, planning).guess
    return _mean([with_links(factor) for factor in CORRELATIONS])


def bind_join_cost(ranking: Ranking | None, planning: Planning) -> Size:
    """To read every relation to its end and to make rows of all that joins."""
    if ranking is None:
        return Size(0.0, float("inf"), float("inf"))
    cost, n = planning.cost, max(float(planning.entities), 1.0)
    matches = ranking.spine.matches
    first = matches[0].match.entity.name
    graph = graph_of(ranking, first, planning)
    most = float(planning.most(matches[0].match))
    before = cost.us_per_text_scoring + most * cost.us_per_scored_posting
    for variable in dict.fromkeys(match.match.entity.name for match in matches):
        own = graph_of(ranking, variable, planning)
        before += min(own.whole_us, most * own.each_us)
    if ranking.spine.leading > 1:  # the second one scores rows of the first, not ids
        before += most * (cost.us_per_row_of_terms + cost.us_per_row_passed)

    def with_matches(joined: float) -> float:
        us, rows = before, joined * graph.rows_each
        us += _above(ranking, planning, graph, rows)
        for match in matches[1:]:
            us += cost.us_per_text_scoring + _looked_up_us(rows, float(planning.most(match.match)), planning)
            rows *= min(1.0, planning.most(match.match) / n)
        return us

    return _expected_of(most, _of_fragments(ranking, first, planning), n, with_matches)


def _of_fragments(ranking: Ranking, variable: str, planning: Planning) -> Size:
    """The candidate set without the filters by text."""
    graph = graph_of(ranking, variable, planning)
    share = 1.0
    for match in ranking.filters:
        share *= min(1.0, max(planning.most(match.match), 1) / max(planning.entities, 1))
    guess = min(graph.size.guess / share, float(planning.entities))
    return Size(graph.size.low, guess, max(graph.size.high, guess))


def _looked_up_us(entities: float, most: float, planning: Planning) -> float:
    """To score some entities, or all that match where these are not many times as many."""
    cost = planning.cost
    if planning.is_far or entities * MATCHES_PER_PROBE < most:
        return _scored_us(entities, entities * min(1.0, most / max(planning.entities, 1)), planning)
    return most * cost.us_per_scored_posting


def _scored_us(entities: float, matching: float, planning: Planning) -> float:
    """To score some entities: of a server, each that matches is a row that comes back."""
    cost = planning.cost
    return entities * cost.us_per_scored_candidate + (matching * cost.us_per_scored_posting if planning.is_far else 0.0)


def text_topk_cost(ranking: Ranking | None, planning: Planning) -> Size:
    """To ask the index for its best."""
    cost = planning.cost
    postings = 0 if ranking is None else sum(planning.most(match.match) for match in ranking.scored)
    us = cost.us_per_text_question + postings * cost.us_per_posting
    return Size(us, us, us)


# --- what all have in common ---------------------------------------------------------


def _expected(ranking: Ranking, graph: Graph, planning: Planning, us: Callable[[float], float]) -> Size:
    """A cost that depends on how many entities satisfy the graph and match every scored text."""
    n = max(float(planning.entities), 1.0)
    matching = planning.once((id(ranking), "matching"), lambda: _matching(ranking, planning, n))
    return _expected_of(matching, graph.size, n, us)


def _matching(ranking: Ranking, planning: Planning, n: float) -> float:
    """Entities that match every scored text, if these have nothing to do with each other."""
    least, *others = sorted(float(planning.most(match.match)) for match in ranking.scored) or [n]
    for most in others:
        least *= min(1.0, most / n)
    return least


def _expected_of(most: float, size: Size, n: float, us: Callable[[float], float]) -> Size:
    by_chance = most * size.guess / n
    cases = [min(max(by_chance * factor, most + size.low - n), most, size.high) for factor in CORRELATIONS]
    return _mean([us(joined) for joined in cases])


def _mean(costs: list[float]) -> Size:
    return Size(min(costs), sum(costs) / len(costs), max(costs))


class Rest(NamedTuple):
    """What is left to do once the entities are chosen, in microseconds.

    Args:
        whole: however few they are.
        each: for one of them.
        most: no more than these get rows.
    """

    whole: float
    each: float
    most: float

    def us(self, entities: float) -> float:
        """For so many."""
        return self.whole + self.each * min(entities, self.most)


def _rest(ranking: Ranking, planning: Planning, graph: Graph) -> Rest:
    """The operators above the choice of the entities, over the rows that are wanted, or all of them."""
    return planning.once((id(graph), "rest"), lambda: _found_rest(ranking, planning, graph))


def _found_rest(ranking: Ranking, planning: Planning, graph: Graph) -> Rest:
    cut = ranking.k is not None and ranking.value is not None
    asked = len(ranking.spine.fragments) - len(settled(ranking, planning))
    whole, each = _way(ranking, planning.cost, graph, asked)
    return Rest(whole, each * (graph.rows_each if asked else 1.0), float(ranking.k or 0) if cut else inf)


def _above(ranking: Ranking, planning: Planning, graph: Graph, rows: float) -> float:
    """Rows of terms out of the fragments, and the way that they go through the operators."""
    fragments = len(ranking.spine.fragments)
    whole, each = planning.once((id(graph), "above"), lambda: _way(ranking, planning.cost, graph, fragments))
    return whole + rows * each


def _way(ranking: Ranking, cost: CostModel, graph: Graph, fragments: int) -> tuple[float, float]:
    """(once, for each row)."""
    operators = OPERATORS + fragments + len(ranking.spine.matches)
    each = operators * cost.us_per_row_passed
    if fragments:
        each += fragments * cost.us_per_row_of_terms + graph.each_us
    return fragments * cost.us_per_graph_question + operators * cost.us_per_operator, each
