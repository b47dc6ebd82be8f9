"""What the costs of a ranking are computed from, beside the lengths of its relations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hybridkg.interfaces.graph_index import PreparedPattern, Size
from hybridkg.planner.planning import Planning
from hybridkg.planner.ranked import fuses
from hybridkg.planner.ranking import Ranking
from hybridkg.planner.settled import settled
from hybridkg.query import ast

UNKNOWN_SHARE = 0.1
"""Of the entities in a pattern that only the store can say anything about, before it is asked."""


class Fixed(NamedTuple):
    """What no value of a parameter changes.

    Args:
        asked: fragments that are asked for rows once the entities are chosen.
        is_fused: whether lists are fused.
        only_texts: whether none of the MATCHes that score is a NEAR.
        is_far: whether a relation is on a server.
        entities: of the index.
        scored: the places of the scored MATCHes among those of the spine.
    """

    asked: int
    is_fused: bool
    only_texts: bool
    is_far: bool
    entities: float
    scored: tuple[int, ...]

    @classmethod
    def of(cls, ranking: Ranking, planning: Planning) -> Fixed:
        """Of a plan with holes, too."""
        asked = len(ranking.spine.fragments) - len(settled(ranking, planning))
        only_texts = all(isinstance(match.match, ast.Match) for match in ranking.scored)
        place = {id(match): at for at, match in enumerate(ranking.spine.matches)}
        scored = tuple(place[id(match)] for match in ranking.scored)
        is_far = planning.is_far(ranking.matches)
        return cls(asked, fuses(ranking), only_texts, is_far, float(planning.entities), scored)


class Graph(NamedTuple):
    """What the patterns of a ranking leave of the entities of one variable, and what it takes to find out.

    Args:
        size: of the candidate set.
        whole_us: to find all of it.
        question_us: once for every set that is asked about.
        patterns: of its fragments, and how many values each leaves to the variable; None where the store is asked.
    """

    size: Size
    whole_us: float
    question_us: float
    patterns: list[tuple[PreparedPattern | None, float]]


def graph_of(
    ranking: Ranking,
    variable: str,
    planning: Planning,
    entities: float,
    filters: Sequence[float],
    scored_us: Callable[[float, float], float],
) -> Graph:
    """What is known of the candidate set of a variable.

    Args:
        ranking: the plan, taken apart.
        variable: whose entities a MATCH ranks or filters.
        planning: sizes and unit costs.
        entities: of the index.
        filters: how many match each MATCH that filters.
        scored_us: what it takes to score some entities, so many of which match.
    """
    cost, n = planning.cost, max(entities, 1.0)
    low = guess = high = entities
    whole = question = 0.0
    patterns: list[tuple[PreparedPattern | None, float]] = []
    for fragment in ranking.by_variable[variable]:
        prepared = planning.prepared(fragment)
        if prepared is None:
            own = Size(0.0, entities * UNKNOWN_SHARE, entities)
            whole += own.guess * cost.us_per_store_row
            question += cost.us_per_store_question
        else:
            own = prepared.size(variable)
            whole += prepared.work(variable) * cost.us_per_adjacency_entry
            question += cost.us_per_graph_question
        patterns.append((prepared, own.guess))
        low, guess, high = max(0.0, low + own.low - entities), guess * own.guess / n, min(high, own.high)
    for match, most in zip(ranking.filters, filters, strict=True) if filters else ():
        entity, share = match.match.entity.name, min(1.0, most / n)
        question += cost.us_per_text_scoring
        if entity == variable:
            # Scored are the entities that the fragments leave, or else all that match.
            whole += min(most * cost.us_per_scored_posting, scored_us(guess, guess * share))
            guess, high = guess * share, min(high, most)
        else:
            whole += most * cost.us_per_scored_posting
            if ranking.links(variable, entity):
                guess *= share
        low = 0.0
    return Graph(Size(low, max(guess, 1.0), max(high, 1.0)), whole, question, patterns)
