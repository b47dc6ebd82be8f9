"""A MATCH on a variable that the rows bind already: only their entities are scored."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.meter import PROBES, TEXT_QUESTIONS, Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery, RankedRequest, is_remote_relation
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.text_join import FEW_MATCHES, scores_of_entities
from hybridkg.operators.text_query import checked_index, describe, ranked_query
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions


@dataclass(frozen=True)
class ScoreRows(OneChild):
    """The rows of HashJoin(child, TextRelation), or with `optional` those of LeftJoin, where the child has few.

    The child binds the entity in every row, and not the score. A MATCH with TOP is not for this operator.
    """

    match: ast.RankedItem
    score: str
    optional: bool = False

    def estimate(self, known: EstimationContext) -> float | None:
        """The share of the child's rows whose entities match; all of them with `optional`."""
        rows = known.rows(self.child)
        return rows if self.optional else times(rows, known.share(self.match))

    def work(self, known: EstimationContext) -> Work | None:
        """The entities of the child are scored."""
        return work_of({TEXT_QUESTIONS: 1, PROBES: known.rows(self.child)})

    def sized(self, text: RankedIndex) -> tuple[RankedQuery, ...]:
        """The relation of its MATCH; none where the index objects, which is an error only once the operator runs."""
        try:
            checked_index(text, self.match)
        except HybridkgError:
            return ()
        return (ranked_query(self.match),)

    def questions(self, text: RankedIndex) -> tuple[RankedRequest, ...]:
        """The complete relation, where an index that is far away has few matches: these come along with an answer."""
        return tuple(
            RankedRequest(query)
            for query in self.sized(text)
            if is_remote_relation(text, query) and text.match_count_bound(query) <= FEW_MATCHES
        )

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the text index for the scores of the child's entities, or for all where that is less."""
        index = checked_index(context.text, self.match)
        solutions = context.run(self.child)
        at = solutions.variables.index(self.match.entity.name)
        entities = list(dict.fromkeys(row[at] for row in solutions.rows))
        score_of = scores_of_entities(entities, ranked_query(self.match), index, context)
        rows: list[Row] = [
            (*row, score) for row in solutions.rows if (score := score_of.get(row[at])) is not None or self.optional
        ]
        return Solutions((*solutions.variables, self.score), rows)

    def describe(self) -> str:
        """Entity and score."""
        return f"ScoreRows ?{self.match.entity.name} ?{self.score}" + (" where it matches" if self.optional else "")

    def details(self, known: EstimationContext) -> str:
        """Model, fields, terms with df."""
        return describe(self.match, known.text)
