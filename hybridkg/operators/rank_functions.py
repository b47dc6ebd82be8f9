"""Rank functions of RANK BY: functions of all surviving scores (interfaces/fusion.py), over rows and over arrays.

Ranks and statistics are over the distinct surviving (subject, score) pairs of a relation, never over rows: a paper with
five authors has one rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import fsum, inf, isnan, nan, sqrt
from typing import TYPE_CHECKING, Self

from hybridkg.interfaces.fusion import FUSIONS, FusedList, Fusion, Spread
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk
from hybridkg.rdf.order import term_key
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal, Term, double

if TYPE_CHECKING:
    from hybridkg.interfaces.text_index import Scores


@dataclass(frozen=True)
class ListStatistics:
    """Ranks of the subjects (from 1, best first, ties by term) and spread of all surviving scores of one relation."""

    rank: Mapping[Term | None, int] = field(default_factory=dict)
    spread: Spread = field(default_factory=Spread)

    @classmethod
    def of(cls, pairs: Iterable[tuple[Term | None, float]], least: float = -inf) -> Self:
        """Statistics of the distinct surviving (subject, score); a subject with several scores has the rank of its
        best.

        >>> from hybridkg.rdf.terms import NamedNode
        >>> of = ListStatistics.of([(NamedNode("e:a"), 1.0), (NamedNode("e:b"), 3.0)])
        >>> list(of.rank.values()), of.spread.mean, of.spread.deviation
        ([1, 2], 2.0, 1.0)
        """
        pairs = list(pairs)
        best: dict[Term | None, float] = {}
        for subject, score in pairs:
            best[subject] = max(score, best.get(subject, score))
        order = sorted(best.items(), key=lambda item: (-item[1], term_key(item[0])))
        rank = {node: number for number, (node, _) in enumerate(order, 1)}
        return cls(rank, spread([score for _, score in pairs], least))


def spread(scores: Sequence[float], least: float = -inf) -> Spread:
    """Minimum, maximum, mean and population deviation, independent of the order of the scores.

    >>> spread([3.0, 1.0])
    Spread(low=1.0, high=3.0, mean=2.0, deviation=1.0, least=-inf)
    """
    if not scores:
        return Spread(least=least)
    low, high, mean = min(scores), max(scores), fsum(scores) / len(scores)
    deviation = 0.0 if low == high else sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))
    return Spread(low, high, mean, deviation, least)


def functions_of(expression: ast.Expression) -> tuple[ast.RankFunction, ...]:
    """Functions in an expression, each once."""
    return tuple(dict.fromkeys(node for node in walk(expression) if isinstance(node, ast.RankFunction)))


@cache
def fusion_of(name: str) -> Fusion:
    """Fusion function of a name."""
    fusion: Fusion = FUSIONS.get(name)()
    return fusion


def reads(function: ast.RankFunction) -> frozenset[str]:
    """Statistics of all surviving scores that a function requires."""
    return fusion_of(function.name).reads


def fused(function: ast.RankFunction, lists: Mapping[str, FusedList]) -> Scores:
    """float64[n], values of a function from the scores that it reads, of n rows or entities."""
    fusion = fusion_of(function.name)
    arguments = {a.name: float(a.value.lexical) for a in function.arguments if isinstance(a.value, ast.Lit)}
    weighted = [
        lists[item.score.name] if item.weight is None else replace(lists[item.score.name], weight=item.weight)
        for item in function.lists
    ]
    return fusion.values(weighted, {**fusion.arguments, **arguments})


def with_rank_functions(
    expression: ast.Expression,
    solutions: Solutions,
    floored: Solutions,
    subjects: Mapping[str, tuple[str, ...]],
    known: Mapping[str, ListStatistics] = {},
    least: Mapping[str, float] = {},
) -> tuple[ast.Expression, Solutions]:
    """Expression with a variable in place of each function, and the floored rows with those variables.

    Args:
        expression: of RANK BY.
        solutions: the rows.
        floored: the rows with floors for absent scores.
        subjects: for each score that a function reads, the variables of its entities.
        known: statistics of all survivors by score, if the rows are only some of the survivors.
        least: theoretical minimum of each score that needs it.
    """
    functions = functions_of(expression)
    if not functions:
        return expression, floored
    lists = {
        name: _list(name, entities, solutions, floored, known.get(name), least.get(name, -inf))
        for name, entities in subjects.items()
    }
    variable_of: dict[ast.RankFunction, ast.Var] = {}
    rows: list[Row] = floored.rows
    names = list(floored.variables)
    for number, function in enumerate(functions, 1):
        name = f"_{function.name}{number}"
        while name in names:
            name += "_"
        names.append(name)
        variable_of[function] = ast.Var(name)
        values = fused(function, lists).tolist()
        rows = [(*row, double(value)) for row, value in zip(rows, values, strict=True)]

    def change(node: ast.Syntax) -> ast.Syntax:
        return variable_of[node] if isinstance(node, ast.RankFunction) else rebuild(node, change)

    return change(expression), Solutions(tuple(names), rows)  # type: ignore[return-value]


def _list(
    name: str,
    entities: tuple[str, ...],
    solutions: Solutions,
    floored: Solutions,
    statistics: ListStatistics | None,
    least: float,
) -> FusedList:
    import numpy as np

    score_at = solutions.variables.index(name)
    entity_at = [solutions.variables.index(entity) for entity in entities]
    subjects = [next((row[i] for i in entity_at if row[i] is not None), None) for row in solutions.rows]
    scores = [_number(row[score_at]) for row in solutions.rows]
    if statistics is None:
        pairs = {(subject, score) for subject, score in zip(subjects, scores, strict=True) if not isnan(score)}
        statistics = ListStatistics.of(pairs, least)
    return FusedList(
        np.array(scores, np.float64),
        np.array([_number(row[score_at]) for row in floored.rows], np.float64),
        np.array([statistics.rank.get(subject, 1) for subject in subjects], np.float64),
        statistics.spread,
    )


def _number(cell: Term | None) -> float:
    return float(cell.value) if isinstance(cell, Literal) else nan
