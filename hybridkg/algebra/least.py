"""Theoretical minimum of a score: a property of the model, not of the entities in the answer."""

from __future__ import annotations

from math import inf

from hybridkg.algebra import nodes
from hybridkg.algebra.visible import visible_matches
from hybridkg.errors import UnsupportedQueryError
from hybridkg.interfaces.fusion import FUSIONS, LEAST
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.query import ast
from hybridkg.query.walk import walk

NUMBERS = tuple(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "double"))


def least_score(item: ast.RankedItem) -> float:
    """Lower bound of the scores of a MATCH or NEAR: -1 for a cosine, -inf for a model without a minimum."""
    if isinstance(item, ast.Near):
        return -1.0
    if item.model is None:
        return 0.0
    words = [a for a in item.model.arguments if not (isinstance(a.value, ast.Lit) and a.value.datatype in NUMBERS)]
    return -inf if words else float(RANKING_MODELS.get(item.model.name).traits.least_score)


def least_of_lists(plan: nodes.Plan, expression: ast.Expression) -> tuple[tuple[str, float], ...]:
    """The theoretical minimum of each score whose rank function needs it.

    Raises:
        UnsupportedQueryError: the scores of a model have none.
    """
    minima: dict[str, float] = {}
    for function in walk(expression):
        if not isinstance(function, ast.RankFunction) or LEAST not in FUSIONS.get(function.name).reads:
            continue
        for ranked in function.lists:
            matches = [match.match for match in visible_matches(plan) if match.score == ranked.score.name]
            for item in matches:
                if least_score(item) == -inf:
                    assert isinstance(item, ast.Match)
                    name = item.model.name if item.model else ""
                    raise UnsupportedQueryError(
                        f"{function.name} starts at the minimum score of the model, and {name!r} as used here has none",
                        hint=f"minmax(?{ranked.score.name}) starts at the lowest score of the answer; or rank by bm25f",
                        span=ranked.span,
                    )
            minima[ranked.score.name] = min(map(least_score, matches), default=-inf)
    return tuple(sorted(minima.items()))
