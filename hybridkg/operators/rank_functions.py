"""The functions of RANK BY that read every surviving score: rrf, minmax, zscore.

Ranks and statistics are taken over the distinct surviving (subject, score)
pairs of a relation, never over rows: a paper with five authors takes one rank.
rrf: Cormack, Clarke and Buettcher, "Reciprocal rank fusion outperforms
Condorcet and individual rank learning methods", SIGIR 2009.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum, sqrt
from typing import Any, Self

from hybridkg.order import term_key
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, walk
from hybridkg.rdf.batch import Row, Solutions
from hybridkg.rdf.terms import Literal, Term, double

RRF_K = 60.0
"""The constant of the paper."""


@dataclass(frozen=True)
class ListStatistics:
    """What the functions have to know of all surviving scores of one relation.

    Args:
        rank: of each subject, from 1, the best first, ties by term.
        low: the least score; 0 without any.
        high: the greatest.
        mean: over the distinct (subject, score).
        deviation: of the population; 0 where all are equal.
    """

    rank: Mapping[Term | None, int]
    low: float
    high: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[Term | None, float]]) -> Self:
        """From the distinct surviving (subject, score); a subject with several scores has the rank of its best.

        >>> from hybridkg.rdf.terms import NamedNode
        >>> of = ListStatistics.of([(NamedNode("e:a"), 1.0), (NamedNode("e:b"), 3.0)])
        >>> list(of.rank.values()), of.mean, of.deviation
        ([1, 2], 2.0, 1.0)
        """
        pairs = list(pairs)
        best: dict[Term | None, float] = {}
        for subject, score in pairs:
            best[subject] = max(score, best.get(subject, score))
        order = sorted(best.items(), key=lambda item: (-item[1], term_key(item[0])))
        rank = {node: number for number, (node, _) in enumerate(order, 1)}
        return cls(rank, *spread([score for _, score in pairs]))


def spread(scores: Sequence[float]) -> tuple[float, float, float, float]:
    """Lowest, highest, mean and population deviation, the same whatever the order of the scores.

    >>> spread([3.0, 1.0])
    (1.0, 3.0, 2.0, 1.0)
    """
    if not scores:
        return 0.0, 0.0, 0.0, 0.0
    low, high, mean = min(scores), max(scores), fsum(scores) / len(scores)
    deviation = 0.0 if low == high else sqrt(fsum((score - mean) ** 2 for score in scores) / len(scores))
    return low, high, mean, deviation


@dataclass(frozen=True)
class ScoreColumn:
    """One score in every row.

    Args:
        subjects: the entity that the score is of; None where the row has none.
        scores: its score; None where it is absent.
        floored: the same, an absent one as min(0, the lowest surviving one).
        known: of all surviving scores, where the rows are only some of those that survive.
    """

    subjects: Sequence[Term | None]
    scores: Sequence[float | None]
    floored: Sequence[float]
    known: ListStatistics | None = None

    @cached_property
    def statistics(self) -> ListStatistics:
        """Of all surviving scores."""
        if self.known is not None:
            return self.known
        return ListStatistics.of(
            {(subject, score) for subject, score in zip(self.subjects, self.scores, strict=True) if score is not None}
        )


def with_rank_functions(
    expression: ast.Expression,
    solutions: Solutions,
    floored: Solutions,
    subjects: Mapping[str, tuple[str, ...]],
    known: Mapping[str, ListStatistics] = {},
) -> tuple[ast.Expression, Solutions]:
    """The expression with a variable in place of each function, and the floored rows with those variables.

    Args:
        expression: of RANK BY.
        solutions: the rows.
        floored: the rows, absent scores replaced.
        subjects: for each score that a function reads, the variables of its entities.
        known: of all surviving scores, where the rows are only some of those that survive; by score.
    """
    functions = list(dict.fromkeys(node for node in walk(expression) if isinstance(node, ast.RankFunction)))
    if not functions:
        return expression, floored
    columns = {
        name: _column(name, entities, solutions, floored, known.get(name)) for name, entities in subjects.items()
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
        read = [columns[item.score.name] for item in function.lists]
        values = rrf(function, read) if function.name == "rrf" else OF_ONE_SCORE[function.name](read[0])
        rows = [(*row, double(value)) for row, value in zip(rows, values, strict=True)]

    def change(node: ast.Syntax) -> ast.Syntax:
        return variable_of[node] if isinstance(node, ast.RankFunction) else rebuild(node, change)

    return change(expression), Solutions(tuple(names), rows)  # type: ignore[return-value]


def _column(
    name: str, entities: tuple[str, ...], solutions: Solutions, floored: Solutions, known: ListStatistics | None
) -> ScoreColumn:
    score_at = solutions.variables.index(name)
    entity_at = [solutions.variables.index(entity) for entity in entities]
    return ScoreColumn(
        [next((row[i] for i in entity_at if row[i] is not None), None) for row in solutions.rows],
        [_number(row[score_at]) for row in solutions.rows],
        [_number(row[score_at]) or 0.0 for row in floored.rows],
        known,
    )


def _number(cell: Term | None) -> float | None:
    return float(cell.value) if isinstance(cell, Literal) else None


def rrf(function: ast.RankFunction, columns: Sequence[ScoreColumn]) -> list[float]:
    """Sum over the lists of weight / (k + rank), ranks from 1; a list in which the subject is absent adds nothing.

    With k=60 the first of one list has 1 / 61 = .016393.
    """
    totals = [0.0] * len(columns[0].subjects)
    for item, column in zip(function.lists, columns, strict=True):
        rank = column.statistics.rank
        for i, (node, present) in enumerate(zip(column.subjects, column.scores, strict=True)):
            if present is not None:
                totals[i] += rrf_term(function, item, rank[node])
    return totals


def rrf_term(function: ast.RankFunction, item: ast.RankedList, rank: Any) -> Any:
    """What one list adds: weight / (k + rank), of one rank or of an array of ranks."""
    k = next((float(a.value.lexical) for a in function.arguments if isinstance(a.value, ast.Lit)), RRF_K)
    return (1.0 if item.weight is None else item.weight) / (k + rank)


def minmax(column: ScoreColumn) -> list[float]:
    """(score - lowest) / (highest - lowest); where all are equal 1, and 0 where the score is absent.

    >>> minmax(ScoreColumn(["a", "b", "c", "a"], [1.0, 3.0, 2.0, 1.0], [1.0, 3.0, 2.0, 1.0]))
    [0.0, 1.0, 0.5, 0.0]
    """
    low, high = column.statistics.low, column.statistics.high
    if low == high:
        return [0.0 if score is None else 1.0 for score in column.scores]
    return [(score - low) / (high - low) for score in column.floored]


def zscore(column: ScoreColumn) -> list[float]:
    """(score - mean) / population deviation; 0 where all are equal.

    >>> zscore(ScoreColumn(["a", "b"], [1.0, 3.0], [1.0, 3.0]))
    [-1.0, 1.0]
    """
    mean, deviation = column.statistics.mean, column.statistics.deviation
    if not deviation:
        return [0.0] * len(column.scores)
    return [(score - mean) / deviation for score in column.floored]


OF_ONE_SCORE: Mapping[str, Callable[[ScoreColumn], list[float]]] = {"minmax": minmax, "zscore": zscore}
