"""MATCH whose text, or NEAR whose target, is a variable bound by the rest of the group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hybridkg.interfaces.meter import Work
from hybridkg.interfaces.ranked_index import RankedIndex, RankedRequest, is_remote_relation
from hybridkg.interfaces.text_index import Ids, Scores, TextQuery
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext, together
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.operators.join import Compatible
from hybridkg.operators.text_query import describe, ranked_query
from hybridkg.operators.text_relation import question, rows_of
from hybridkg.operators.topk.relation_prefix import relation_among
from hybridkg.query import ast
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term


@dataclass(frozen=True)
class MatchEach(OneChild):
    """For each row, the join with the relation of its own text; a row without a string as text matches nothing.

    The target of a NEAR may be an entity as well. The index gets one request for each distinct text, restricted to the
    entities of its rows if these bind them. The text is plain words, unless the query says MATCH QUERY
    (docs/language.md).
    """

    match: ast.RankedItem
    score: str

    def estimate(self, estimates: EstimationContext) -> float | None:
        return None

    def work(self, estimates: EstimationContext) -> Work | None:
        return None

    def run(self, context: ExecutionContext) -> Solutions:
        index, _ = context.checked(self.match)
        assert isinstance(self.match.text, ast.Var)
        solutions = context.run(self.child)
        names = tuple(dict.fromkeys((*solutions.variables, self.match.entity.name, self.score)))
        if self.match.text.name not in solutions.variables:
            return Solutions(names, [])
        at = solutions.variables.index(self.match.text.name)
        by_text: dict[Term, list[Row]] = {}
        kinds = Literal if isinstance(self.match, ast.Match) else (Literal, NamedNode, BlankNode)
        for row in solutions.rows:
            if isinstance(cell := row[at], kinds):
                by_text.setdefault(cell, []).append(row)

        def joined() -> Iterator[Row]:
            for text, answer in self._answers(index, by_text, solutions.variables, context):
                own, relation = by_text[text], rows_of(self.match, self.score, answer, context)
                pairs = Compatible(Solutions(solutions.variables, own), relation)
                for row in own:
                    for other in pairs.rows_for(row):
                        yield pairs.merged(row, other)

        return Solutions(names, context.collect(joined()))

    def _answers(
        self,
        index: RankedIndex,
        by_text: Mapping[Term, list[Row]],
        variables: tuple[str, ...],
        context: ExecutionContext,
    ) -> Iterator[tuple[Term, tuple[Ids, Scores]]]:
        """Relation of each text, or its part for the entities of the rows; requests to a remote index are batched."""
        texts, entity = list(by_text), self.match.entity.name
        is_remote = is_remote_relation(index, ranked_query(self.match))
        size = together(index) if is_remote else 1
        if not is_remote and self.match.top is None and entity in variables:
            at = variables.index(entity)
            if all(row[at] is not None for rows in by_text.values() for row in rows):
                for text, rows in by_text.items():
                    self._note(question(self.match, given=text), context)
                    yield text, relation_among(self.match, (row[at] for row in rows), context, text)
                return
        for start in range(0, len(texts), size):
            batch = texts[start : start + size]
            questions = [question(self.match, given=text) for text in batch]
            for one in questions:
                self._note(one, context)
            if len(questions) == 1:
                yield batch[0], context.answer(index, questions[0])
            else:
                for one in questions:
                    context.note_exactness(index, one)
                yield from zip(batch, index.batch(questions), strict=True)

    def _note(self, request: RankedRequest, context: ExecutionContext) -> None:
        if isinstance(request.query, TextQuery) and request.query.syntax:
            context.query_strings[request.query] = self.match.text.span

    def describe(self) -> str:
        return f"MatchEach ?{self.match.entity.name} ?{self.score}"

    def details(self, estimates: EstimationContext) -> str:
        return describe(self.match, estimates.text)
