"""Top-k rows of a ranking, from slices of the ranked relations: the common part of all top-k operators."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild
from hybridkg.operators.columns import InColumns
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times
from hybridkg.operators.order_rows import ordered
from hybridkg.operators.topk.candidates import CandidateSetScan
from hybridkg.operators.topk.rank_value import RankValue
from hybridkg.operators.topk.relation_prefix import RelationPrefix
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Literal


@dataclass(frozen=True)
class RankedTop:
    """Specification of the first rows.

    Args:
        matches: MATCHes whose scores rank, with their score variables.
        value: rank score from those scores; None if it reads other variables.
        k: rows wanted; None for all.
        column: the variable of the rank score of a row.
        ties: the variables that order rows of equal rank scores.
        width: with DISTINCT, the number of columns compared; None without.
        exact: whether every candidate that matches has a row.
        optional: MATCHes whose scores rank as well, but which a candidate need not match.
    """

    matches: tuple[tuple[ast.RankedItem, str], ...]
    value: RankValue | None
    k: int | None
    column: str
    ties: tuple[str, ...]
    width: int | None
    exact: bool
    optional: tuple[tuple[ast.RankedItem, str], ...] = ()

    @property
    def functions(self) -> tuple[ast.RankFunction, ...]:
        """Functions of all surviving scores in the rank score."""
        return () if self.value is None else self.value.functions

    def ties_follow(self, variable: str) -> bool:
        """Whether ties in the rank score are broken by the term order of the entity first."""
        return self.value is not None and self.value.plain and self.ties[:1] == (variable,)


NO_ROWS = Solutions((), [])


@dataclass(frozen=True)
class TopKRows(OneChild):
    """First k rows of the child, which runs over slices of its ranked relations, read by `PrefixScan`. `candidates` has
    the candidate set of each ranked variable.
    """

    top: RankedTop
    candidates: tuple[CandidateSetScan, ...]

    @abstractmethod
    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """Slices, best first, until one is complete or enough rows are certain."""

    @property
    def takes_first(self) -> int | None:
        return self.top.k if self.top.width is None else None

    def from_the_start(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """Slices, the first of which replaces all rows of another strategy."""
        for number, part in enumerate(self.slices(context)):
            yield part._replace(again=number == 0)

    def run(self, context: ExecutionContext) -> Solutions:
        outer, result = (context.slice, context.slice_depth), NO_ROWS
        try:
            for part in self.slices(context):
                context.slice, context.slice_depth = part, len(context.running)
                solutions = context.run(self.child)
                result = solutions if part.again or not result.size else self._merged(result, solutions)
                if part.complete or (self.top.k is not None and self._sure(result, part) >= self.top.k):
                    break
        finally:
            context.slice, context.slice_depth = outer
        return result

    def _merged(self, first: Solutions, more: Solutions) -> Solutions:
        together = Solutions(first.variables, first.rows + more.rows)
        at = together.variables.index(self.top.column)
        merged = ordered(together, [([row[at] for row in together.rows], True)], self.top.ties)
        if self.top.width is None:
            return merged
        distinct: dict[Row, Row] = {}
        for row in merged.rows:
            distinct.setdefault(row[: self.top.width], row)
        return Solutions(merged.variables, list(distinct.values()))

    def _sure(self, solutions: Solutions, part: RelationPrefix) -> int:
        """Number of rows that precede any missing row."""
        if part.ties_follow:
            return solutions.size
        slack = self.top.value.slack(part.bound) if self.top.value else 0.0
        bound = part.bound + slack
        if isinstance(solutions, InColumns) and (numbers := solutions.numbers(self.top.column)) is not None:
            return int(np.count_nonzero(numbers.numbers > bound))
        cells = solutions.cells(self.top.column)
        return sum(isinstance(cell, Literal) and float(cell.value) > bound for cell in cells)

    def matching(self, estimates: EstimationContext) -> float | None:
        """Expected candidates of the one ranked variable that every MATCH matches."""
        (candidates,) = self.candidates
        return times(candidates.estimate(estimates), *(estimates.share(match) for match, _ in self.top.matches))

    def sizes(self, estimates: EstimationContext) -> dict[str, float | None]:
        """Expected entities of the slices needed, by score variable."""
        matching = self.matching(estimates)
        if self.top.k is not None and self.top.value is not None:
            matching = float(self.top.k) if matching is None else min(matching, float(self.top.k))
        return {score: matching for _, score in (*self.top.matches, *self.top.optional)}

    def below(self, estimates: EstimationContext) -> EstimationContext:
        tested = [id(part) for candidates in self.candidates for part in (*candidates.fragments, *candidates.filters)]
        return estimates.below(self.sizes(estimates), frozenset(tested))

    def estimate(self, estimates: EstimationContext) -> float | None:
        rows, k = self.below(estimates).rows(self.child), self.top.k
        if k is None:
            return rows
        return float(k) if rows is None else min(rows, float(k))

    def work(self, estimates: EstimationContext) -> Work | None:
        return None

    def describe(self) -> str:
        names = " ".join(f"?{candidates.variable}" for candidates in self.candidates)
        return f"{type(self).__name__} {names}" + ("" if self.top.k is None else f" k={self.top.k}")

    def asks(self, estimates: EstimationContext) -> str:
        return "\n".join(text for candidates in self.candidates for text in candidates.asks(estimates))
