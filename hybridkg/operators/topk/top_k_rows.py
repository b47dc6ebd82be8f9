"""The first rows of a ranking, from slices of the ranked relations: what the strategies have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hybridkg.interfaces.meter import Work
from hybridkg.operators.base import OneChild
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
    """What a strategy has to give.

    Args:
        matches: the MATCHes whose scores rank, with their score variables.
        value: the rank score from those scores; None where other variables take part.
        k: rows wanted; None for all.
        column: the variable that holds the rank score of a row.
        ties: the variables that order rows of equal rank scores, in this order.
        width: columns of which equal rows are one, with DISTINCT; None without.
        exact: whether every candidate that matches has a row.
        optional: MATCHes whose scores rank as well, and which a candidate need not match.
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
        """The functions of all surviving scores in the rank score."""
        return () if self.value is None else self.value.functions

    def ties_follow(self, variable: str) -> bool:
        """Whether of rows with equal rank scores those of the entity that comes first in term order come first."""
        return self.value is not None and self.value.plain and self.ties[:1] == (variable,)


@dataclass(frozen=True)
class TopKRows(OneChild):
    """The first k rows of the child, which is run over slices of its ranked relations.

    Args:
        child: gives its rows in order; reads `SliceOf` in place of the relations.
        top: what to give.
        candidates: for each variable that is ranked, how its candidate set is found.
    """

    top: RankedTop
    candidates: tuple[CandidateSetScan, ...]

    @abstractmethod
    def slices(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """Slices, the best first, until one is complete or nobody asks for more."""

    def from_the_start(self, context: ExecutionContext) -> Iterator[RelationPrefix]:
        """The slices, the first of which takes the place of all rows that another strategy has given before."""
        for number, part in enumerate(self.slices(context)):
            yield replace(part, again=number == 0)

    def run(self, context: ExecutionContext) -> Solutions:
        """Runs the child over slice after slice, until k rows are sure to be the first ones."""
        outer, found = (context.slice, context.slice_depth), Solutions((), [])
        try:
            for part in self.slices(context):
                context.slice, context.slice_depth = part, len(context.running)
                solutions = context.run(self.child)
                found = solutions if part.again or not found.rows else self._merged(found, solutions)
                if part.complete or (self.top.k is not None and self._sure(found, part) >= self.top.k):
                    break
        finally:
            context.slice, context.slice_depth = outer
        return found

    def _merged(self, first: Solutions, more: Solutions) -> Solutions:
        together = Solutions(first.variables, first.rows + more.rows)
        at = together.variables.index(self.top.column)
        merged = ordered(together, [([row[at] for row in together.rows], True)], self.top.ties)
        if self.top.width is None:
            return merged
        distinct: dict[Row, Row] = {}
        for row in merged.rows:
            distinct.setdefault(row[: self.top.width], row)
        return replace(merged, rows=list(distinct.values()))

    def _sure(self, found: Solutions, part: RelationPrefix) -> int:
        """How many of the rows come before any row that is still missing."""
        if part.ties_follow:
            return len(found.rows)
        at = found.variables.index(self.top.column)
        slack = self.top.value.slack(part.bound) if self.top.value else 0.0
        least = part.bound + slack
        return sum(isinstance(cell := row[at], Literal) and float(cell.value) > least for row in found.rows)

    def matching(self, known: EstimationContext) -> float | None:
        """The candidates of the one ranked variable that every MATCH is expected to match."""
        (candidates,) = self.candidates
        return times(candidates.estimate(known), *(known.share(match) for match, _ in self.top.matches))

    def sizes(self, known: EstimationContext) -> dict[str, float | None]:
        """By score variable, the entities of the slices that it expects to need."""
        matching = self.matching(known)
        if self.top.k is not None and self.top.value is not None:
            matching = float(self.top.k) if matching is None else min(matching, float(self.top.k))
        return {score: matching for _, score in (*self.top.matches, *self.top.optional)}

    def below(self, known: EstimationContext) -> EstimationContext:
        """That only some of the entities take part, and that these have been tested."""
        tested = [id(part) for candidates in self.candidates for part in (*candidates.fragments, *candidates.filters)]
        return known.below(self.sizes(known), frozenset(tested))

    def estimate(self, known: EstimationContext) -> float | None:
        """Those of the child over its slices, at most k."""
        rows, k = self.below(known).rows(self.child), self.top.k
        if k is None:
            return rows
        return float(k) if rows is None else min(rows, float(k))

    def work(self, known: EstimationContext) -> Work | None:
        """Unknown by itself: EXPLAIN gives it what the others leave of the cost of its strategy."""
        return None

    def describe(self) -> str:
        """The strategy, the ranked variables and how many rows are wanted."""
        names = " ".join(f"?{candidates.variable}" for candidates in self.candidates)
        return f"{type(self).__name__} {names}" + ("" if self.top.k is None else f" k={self.top.k}")

    def asks(self, known: EstimationContext) -> str:
        """What the store is asked for candidate sets."""
        return "\n".join(text for candidates in self.candidates for text in candidates.asks(known))
