"""What each way to run a ranking is expected to cost, in microseconds, before anything has run.

The candidate set is the unknown: its size comes from the projection with two bounds. The matching entities of a MATCH
are known to the posting. What the graph and the text have to do with each other is not known: a guess takes them to be
independent, the bounds do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log

from hybridkg.algebra.certain import certain
from hybridkg.interfaces.graph_index import Size
from hybridkg.operators.rank_first import DEEPER, LEAST_DEPTH
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranking import Ranking

OPERATORS = 8
"""About as many stand above the choice of the rows, whatever the strategy."""

UNKNOWN_SHARE = 0.1
"""Of the entities in a pattern that only the store can say anything about, before it is asked."""


@dataclass(frozen=True)
class Graph:
    """What the patterns of a ranking leave of the entities of one variable, and what it takes to find out.

    Args:
        size: of the candidate set.
        whole_us: to find all of it.
        each_us: to find out about one entity, asked with others.
        question_us: once for every set that is asked about.
    """

    size: Size
    whole_us: float
    each_us: float
    question_us: float


def graph_of(ranking: Ranking, variable: str, planning: Planning) -> Graph:
    """What is known of the candidate set of a variable."""
    cost, n = planning.cost, float(planning.entities)
    low = guess = high = n
    whole = each = question = 0.0
    for fragment in ranking.fragments_with(variable):
        prepared = planning.prepared(fragment)
        question += cost.us_per_graph_question
        if prepared is None:
            own = Size(0.0, n * UNKNOWN_SHARE, n)
            whole += cost.us_per_store_question + own.guess * cost.us_per_store_row
            each += cost.us_per_probe_in_store
            question += cost.us_per_store_question
        else:
            own = prepared.size(variable)
            whole += prepared.work(variable) * cost.us_per_adjacency_entry
            each += prepared.work_each(variable) * cost.us_per_adjacency_entry
        low, guess, high = max(0.0, low + own.low - n), guess * own.guess / max(n, 1.0), min(high, own.high)
    for match in ranking.filters:
        entity, most = match.match.entity.name, float(planning.most(match.match))
        question += cost.us_per_text_question
        whole += most * cost.us_per_posting
        if entity == variable:
            guess, high = guess * most / max(n, 1.0), min(high, most)
        elif any(entity in certain(fragment.group) for fragment in ranking.fragments_with(variable)):
            guess *= min(1.0, most / max(n, 1.0))
        low = 0.0
    return Graph(Size(low, max(guess, 1.0), max(high, 1.0)), whole, each, question)


def filter_first_cost(ranking: Ranking, planning: Planning) -> Size:
    """To find the candidate set and to score it."""
    (variable,) = ranking.variables
    graph, cost = graph_of(ranking, variable, planning), planning.cost
    before = (
        graph.whole_us + graph.question_us + len(ranking.scored) * cost.us_per_text_question + _rest(ranking, planning)
    )

    def with_candidates(n: float) -> float:
        if not ranking.fragments_with(variable) and not ranking.filters:
            return sum(planning.most(match.match) for match in ranking.scored) * cost.us_per_scored_posting
        return n * len(ranking.scored) * cost.us_per_scored_candidate

    size = graph.size
    return Size(*(before + with_candidates(n) + _rows(ranking, n, planning) for n in (size.low, size.guess, size.high)))


def filtered_topk_cost(ranking: Ranking, planning: Planning) -> Size:
    """To find the candidate set and to rank it in the index."""
    (variable,) = ranking.variables
    graph, cost = graph_of(ranking, variable, planning), planning.cost
    before = graph.whole_us + graph.question_us + cost.us_per_text_question + _rest(ranking, planning)
    most = planning.most(ranking.scored[0].match)

    def with_candidates(n: float) -> float:
        return most * cost.us_per_posting + min(n, float(most)) * cost.us_per_masked_candidate

    size = graph.size
    return Size(*(before + with_candidates(n) for n in (size.low, size.guess, size.high)))


def rank_first_cost(ranking: Ranking, planning: Planning) -> Size:
    """To read the lists as deep as it takes and to ask the graph about what they bring."""
    (variable,) = ranking.variables
    graph, cost, k = graph_of(ranking, variable, planning), planning.cost, float(ranking.k or 1)
    most = max((planning.most(match.match) for match in ranking.scored), default=0)
    postings = sum(planning.most(match.match) for match in ranking.scored)

    def at_depth(depth: float) -> float:
        depth = min(max(depth, LEAST_DEPTH), float(most))
        looks = 1 + max(0, ceil(log(max(depth, 1.0) / max(LEAST_DEPTH, 2 * k), DEEPER)))
        each_look = len(ranking.scored) * cost.us_per_text_question + postings * cost.us_per_posting + graph.question_us
        scored = depth * cost.us_per_scored_candidate * (len(ranking.scored) - 1)
        return looks * each_look + depth * graph.each_us + scored + _rest(ranking, planning)

    share = max(graph.size.guess, 1.0) / max(planning.entities, 1)
    spread = 1.0 if len(ranking.scored) == 1 else 8.0  # the best of one list are seldom those of the other
    return Size(at_depth(k), at_depth(spread * k / share), at_depth(float(most)))


def rank_join_cost(ranking: Ranking, planning: Planning) -> Size:
    """To read the lists, deeper than k, and to join what they bring."""
    graphs = [graph_of(ranking, variable, planning) for variable in ranking.variables]
    cost, k = planning.cost, float(ranking.k or 1)
    postings = [float(planning.most(match.match)) for match in ranking.scored]

    def at_depth(depth: float) -> float:
        each = sum(
            min(depth, m) * (g.each_us + cost.us_per_row_of_terms) for g, m in zip(graphs, postings, strict=True)
        )
        looks = 1 + max(0, ceil(log(max(depth, 1.0) / max(LEAST_DEPTH, 4 * k), DEEPER)))
        return looks * (len(graphs) * cost.us_per_text_question + sum(postings) * cost.us_per_posting) + each

    return Size(at_depth(4 * k), at_depth(64 * k), at_depth(max(postings, default=0.0)))


def bind_join_cost(ranking: Ranking | None, planning: Planning) -> Size:
    """To read every relation to its end and to make rows of all that joins."""
    if ranking is None:
        return Size(0.0, float("inf"), float("inf"))
    cost = planning.cost
    postings = float(sum(planning.most(match.match) for match in ranking.spine.matches))
    joined, asked = postings, 0.0
    for variable in dict.fromkeys(match.match.entity.name for match in ranking.spine.matches):
        graph = graph_of(ranking, variable, planning)
        joined = min(joined, postings * graph.size.guess / max(planning.entities, 1))
        asked += min(graph.whole_us, postings * graph.each_us)
    before = len(ranking.spine.matches) * cost.us_per_text_question + postings * cost.us_per_scored_posting + asked

    def with_rows(n: float) -> float:
        return before + n * cost.us_per_row_of_terms * OPERATORS / 2 + _rest(ranking, planning)

    return Size(before, with_rows(joined), with_rows(postings))


def text_topk_cost(ranking: Ranking | None, planning: Planning) -> Size:
    """To ask the index for its best."""
    cost = planning.cost
    postings = 0 if ranking is None else sum(planning.most(match.match) for match in ranking.scored)
    us = cost.us_per_text_question + postings * cost.us_per_posting
    return Size(us, us, us)


def _rest(ranking: Ranking, planning: Planning) -> float:
    """The operators above the choice, over the rows that are wanted."""
    return OPERATORS * (planning.cost.us_per_operator + (ranking.k or 0) * planning.cost.us_per_row_of_terms / 2)


def _rows(ranking: Ranking, candidates: float, planning: Planning) -> float:
    """Without a limit every candidate that matches gets rows."""
    if ranking.k is not None and ranking.value is not None:
        return 0.0
    share = min(1.0, sum(planning.most(match.match) for match in ranking.scored) / max(planning.entities, 1))
    return candidates * share * planning.cost.us_per_row_of_terms * OPERATORS / 2
