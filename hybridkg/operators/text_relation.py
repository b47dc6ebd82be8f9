"""The relation of a MATCH: (entity, score), complete or its best k."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.text_index import TextIndex
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import checked_index, describe, text_query
from hybridkg.query import ast
from hybridkg.rdf.batch import Solutions
from hybridkg.rdf.terms import Literal, double


@dataclass(frozen=True)
class TextRelation(PhysicalOperator):
    """Every entity that matches, in node order; with `top` only the best, in ranked order.

    top comes from `TOP n` (a smaller relation) or from a LIMIT that nothing stands between.
    """

    match: ast.Match
    score: str
    top: int | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Entity and score."""
        return (self.match.entity.name, self.score)

    def estimate(self, text: TextIndex | None) -> float | None:
        """At most the sum of the terms' document frequencies."""
        if text is None:
            return None
        most = float(sum(t.df for t in text.terms(text_query(self.match)) if t.role != "not"))
        return most if self.top is None else min(most, float(self.top))

    def run(self, context: ExecutionContext) -> Solutions:
        """Asks the text index."""
        return relation(self.match, self.score, context, top=self.top)

    def describe(self) -> str:
        """The MATCH; EXPLAIN adds model, fields and df."""
        top = "" if self.top is None else f" k={self.top}"
        return f"Text{'Relation' if self.top is None else 'TopK'} ?{self.match.entity.name}{top} ?{self.score}"

    def details(self, text: TextIndex | None) -> str:
        """Model, fields, terms with df."""
        return describe(self.match, text)


def relation(
    match: ast.Match,
    score: str,
    context: ExecutionContext,
    *,
    text: Literal | None = None,
    top: int | None = None,
) -> Solutions:
    """The rows (entity, score) of a MATCH; `text` where a variable gives it."""
    index = checked_index(context.text, match)
    query = text_query(match) if text is None else text_query(match, text.value, text.language or "")
    limit = top if top is not None else match.top
    ids, scores = index.matching(query) if limit is None else index.topk(query, limit)
    assert context.nodes is not None
    entities = context.nodes.nodes(ids)
    return Solutions((match.entity.name, score), list(zip(entities, map(double, scores.tolist()), strict=True)))
