"""Scoring of rows that bind the entity of a MATCH already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.meter import PROBES, TEXT_QUESTIONS, Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.base import OneChild, PhysicalOperator
from hybridkg.operators.column_join import concatenated
from hybridkg.operators.columns import InColumns, NumberColumn, unbound
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.graph_fragment import NARROW_SHARE
from hybridkg.operators.index_access import every_match
from hybridkg.operators.text_join import FEW_MATCHES, scored_rows, scores_of_entities
from hybridkg.operators.text_query import checked_index, describe, ranked_query
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import double


@dataclass(frozen=True)
class ScoreRows(OneChild):
    """Rows of HashJoin(child, TextRelation), or with `optional` those of LeftJoin, if the child has few.

    The child binds the entity in every row, and not the score. Not for a MATCH with TOP.
    """

    match: ast.RankedItem
    score: str
    optional: bool = False

    def estimate(self, estimates: EstimationContext) -> float | None:
        rows = estimates.rows(self.child)
        return rows if self.optional else times(rows, estimates.share(self.match))

    def work(self, estimates: EstimationContext) -> Work | None:
        return work_of({TEXT_QUESTIONS: 1, PROBES: estimates.rows(self.child)})

    def restrictable(self, variable: str) -> tuple[PhysicalOperator, ...]:
        return self.child.restrictable(variable)

    def sized(self, text: RankedIndex) -> tuple[RankedQuery, ...]:
        """Relation of its MATCH; none if the index rejects it, an error reported by the run."""
        try:
            checked_index(text, self.match)
        except HybridkgError:
            return ()
        return (ranked_query(self.match),)

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        """Complete relation, if a remote index has few matches, which are returned with another answer."""
        return tuple(
            RankedRequest(query)
            for query in self.sized(text)
            if is_remote_relation(text, query) and text.match_count_bound(query) <= FEW_MATCHES
        )

    def run(self, context: ExecutionContext) -> Solutions:
        """Requests the scores of the child's entities, or the complete relation if that is smaller."""
        index, query = context.checked(self.match)
        solutions = self._child_rows(index, query, context)
        if isinstance(solutions, InColumns):
            entities_column = solutions.ids(self.match.entity.name)
            if entities_column is not None:
                return self._in_columns(solutions, entities_column.ids, index, query, context)
        at = solutions.variables.index(self.match.entity.name)
        entities = list(dict.fromkeys(row[at] for row in solutions.rows))
        score_of = scores_of_entities(entities, query, index, context)
        rows: list[Row] = [
            (*row, score) for row in solutions.rows if (score := score_of.get(row[at])) is not None or self.optional
        ]
        return Solutions((*solutions.variables, self.score), rows)

    def _child_rows(self, index: RankedIndex, query: RankedQuery, context: ExecutionContext) -> Solutions:
        """Rows of the child, of which those may be left out that do not match, if there are more than matches."""
        leaves = self.child.restrictable(self.match.entity.name)
        if self.optional or not leaves or context.graph is None or is_remote_relation(index, query):
            return context.run(self.child)
        expected = context.estimates.rows(self.child)
        most = min(expected or 0.0, NARROW_SHARE * context.graph.n_nodes)
        if index.match_count_bound(query) > most:
            return context.run(self.child)
        with context.narrowed(leaves, self.match.entity.name, every_match(index, query, context)[0]):
            return context.run(self.child)

    def _in_columns(
        self, solutions: InColumns, entities: Ids, index: RankedIndex, query: RankedQuery, context: ExecutionContext
    ) -> InColumns:
        scored = scored_rows(solutions, entities, query, index, context)
        if not self.optional:
            return scored.joined(self.score)
        rows = np.concatenate([np.flatnonzero(scored.matches), np.flatnonzero(~scored.matches)])
        scores = concatenated([NumberColumn(scored.scores, double), unbound(len(rows) - len(scored.scores))])
        return solutions.having({**solutions.columns, self.score: scores.take(np.argsort(rows))})

    def describe(self) -> str:
        return f"ScoreRows ?{self.match.entity.name} ?{self.score}" + (" where it matches" if self.optional else "")

    def details(self, estimates: EstimationContext) -> str:
        return describe(self.match, estimates.text)
