"""RERANK: the first rows in the order of a reranker; ties and the remaining rows retain their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hybridkg.errors import ModelServerError, QueryCheckError, QueryWarning, RerankerError
from hybridkg.interfaces.reranker import (
    KEEP,
    ON_ERROR,
    QUERY,
    RERANKERS,
    Parts,
    RerankCandidates,
    Reranked,
    Reranker,
    Surroundings,
)
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.query import ast
from hybridkg.query.checks.check_ranking import reranker_values
from hybridkg.query.write import write
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term, double

if TYPE_CHECKING:
    from collections.abc import Hashable

FAILED = "W110"


@dataclass(frozen=True)
class Reordering:
    """Report of a RERANK.

    Args:
        reranker: its name and model.
        rows: number of rows reordered.
        entity: the variable whose entities it scored.
        note: resources used.
        failed: whether the rows retained their order, because the reranker failed and the query permits that.
        numbers: (entity, its score) -> its number among the candidates.
        parts: see Reranked.
    """

    reranker: str
    rows: int
    entity: str
    note: str = ""
    failed: bool = False
    numbers: Mapping[tuple[Term, float], int] = field(default_factory=dict)
    parts: Parts | None = None

    def parts_of(self, entity: Term, score: float) -> Mapping[str, float]:
        """The components of the score of an entity; none from a reranker that does not explain it."""
        number = self.numbers.get((entity, score))
        return {} if number is None or self.parts is None else self.parts(number)

    def __str__(self) -> str:
        rows = "row" if self.rows == 1 else f"{self.rows:,} rows"
        if self.failed:
            return f"the first {rows} kept their earlier order: {self.reranker} failed"
        return f"the first {rows} in the order of {self.reranker}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class Rerank(OneChild):
    """Scores of the entities of the first rows, and those rows sorted by it, best first.

    A row without an entity has no score, and comes after those that have one.
    """

    clause: ast.Rerank
    entity: str
    score: str
    labels: tuple[tuple[str, str], ...] = ()
    matches: tuple[ast.RankedItem, ...] = ()

    def run(self, context: ExecutionContext) -> Solutions:
        """Creates the reranker first, so that its errors precede the work."""
        model = self.clause.reranker
        values = reranker_values(model)
        kind: type[Reranker] = RERANKERS.get(model.name, span=model.span)
        on_error, text = values.pop(ON_ERROR), str(values.pop(QUERY))
        reranker = kind(values, model.file, context.reranking)
        solutions = context.run(self.child)
        first = solutions.take(range(min(self.clause.top, solutions.size)))
        requests = self._requests(first, text, needs_query=kind.needs_query)
        distinct = list(dict.fromkeys(one for one in requests if one is not None))
        score_of: dict[tuple[Node, str], float] = {}
        if distinct:
            candidates = self._candidates(distinct, requests, first, context)
            try:
                answer = _checked(reranker, candidates, context)
            except (ModelServerError, RerankerError) as e:
                if on_error != KEEP:
                    raise type(e)(e.message, hint=e.hint or f"{ON_ERROR}='{KEEP}' goes on without it") from e
                self._failed(reranker, e, first.size, context)
            else:
                score_of = dict(zip(distinct, answer.scores.tolist(), strict=True))
                numbers: dict[tuple[Term, float], int] = {
                    (node, score): i for i, ((node, _), score) in enumerate(score_of.items())
                }
                context.reorderings[self.score] = Reordering(
                    reranker.name, first.size, self.entity, answer.note, numbers=numbers, parts=answer.parts
                )
                context.exact = context.exact and kind.repeatable
        scores = [None if one is None else score_of.get(one) for one in requests]
        order = sorted(range(first.size), key=lambda i: float("inf") if (s := scores[i]) is None else -s)
        context.record_detail(self, scored=len(score_of))
        places = [*order, *range(first.size, solutions.size)]
        cells: list[Term | None] = [None if (s := scores[i]) is None else double(s) for i in order]
        cells += [None] * (solutions.size - first.size)
        return _with_column(solutions.take(places), self.score, cells)

    def _requests(self, first: Solutions, text: str, *, needs_query: bool) -> list[tuple[Node, str] | None]:
        """Entity of each row and the text of its search; None for a row without an entity."""
        columns = {m.text.name: first.cells(m.text.name) for m in self.matches if isinstance(m.text, ast.Var)}
        requests: list[tuple[Node, str] | None] = []
        for number, entity in enumerate(first.cells(self.entity)):
            if not isinstance(entity, NamedNode | BlankNode):
                requests.append(None)
                continue
            texts = [text] if text else self._texts({name: cells[number] for name, cells in columns.items()})
            if len(texts) > 1 or (needs_query and not any(text.strip() for text in texts)):
                what = "several texts" if len(texts) > 1 else "no text"
                raise QueryCheckError(
                    f"the query looks for ?{self.entity} by {what}, and {self.clause.reranker.name} reads one",
                    hint=f"say which: USING {self.clause.reranker.name}({QUERY}=$text, ...)",
                    span=self.clause.reranker.span,
                )
            requests.append((entity, texts[0] if texts else ""))
        return requests

    def _texts(self, bound: Mapping[str, Term | None]) -> list[str]:
        texts: list[str] = []
        for match in self.matches:
            target: object = match.text
            if isinstance(target, ast.Var):
                target = bound.get(target.name)
            if isinstance(target, ast.Lit):
                texts.append(target.lexical)
            elif isinstance(target, Literal):
                texts.append(target.value)
        return list(dict.fromkeys(texts))

    def _candidates(
        self,
        distinct: Sequence[tuple[Node, str]],
        requests: Sequence[Hashable],
        first: Solutions,
        context: ExecutionContext,
    ) -> RerankCandidates:
        import numpy as np

        places = {one: number for number, one in reversed(list(enumerate(requests)))}
        rows = [places[one] for one in distinct]
        scores = {}
        for variable, label in self.labels:
            cells = first.cells(variable)
            scores[label] = np.array([_number(cells[row]) for row in rows], np.float64)
        nodes = tuple(node for node, _ in distinct)
        none = np.full(len(nodes), -1, np.int64)
        ids = none if context.nodes is None else context.nodes.find_many(nodes)
        return RerankCandidates(nodes, tuple(text for _, text in distinct), scores, ids)

    def _failed(
        self, reranker: Reranker, error: ModelServerError | RerankerError, rows: int, context: ExecutionContext
    ) -> None:
        context.exact = False
        context.reorderings[self.score] = Reordering(reranker.name, rows, self.entity, failed=True)
        warning = f"the rows keep their earlier order, because {reranker.name} failed: {error.message}"
        context.warnings.append(QueryWarning(FAILED, warning, hint=error.hint, span=self.clause.span))

    def describe(self) -> str:
        return f"Rerank top {self.clause.top:,} of ?{self.entity} by {self.clause.reranker.name}"

    def details(self, estimates: EstimationContext) -> str:
        return " ".join(write(self.clause.reranker).split())


def _checked(reranker: Reranker, candidates: RerankCandidates, context: ExecutionContext) -> Reranked:
    import numpy as np

    around = Surroundings(
        context.store, context.text, context.texts, context.meter.check, context.graph, context.anchors,
        context.question,
    )  # fmt: skip
    answer = reranker.rerank(candidates, around)
    if answer.scores.shape != (len(candidates),):
        raise RerankerError(f"{reranker.name} gave {answer.scores.size:,} scores for {len(candidates):,} rows")
    if not np.isfinite(answer.scores).all():
        raise RerankerError(f"{reranker.name} gave a score that is not a finite number")
    return answer


def _number(cell: Term | None) -> float:
    try:
        return float(cell.value) if isinstance(cell, Literal) else float("nan")
    except ValueError:
        return float("nan")


def _with_column(solutions: Solutions, name: str, cells: Sequence[Term | None]) -> Solutions:
    if name not in solutions.variables:
        rows: list[Row] = [(*row, cell) for row, cell in zip(solutions.rows, cells, strict=True)]
        return Solutions((*solutions.variables, name), rows)
    at = solutions.variables.index(name)
    rows = [(*row[:at], cell, *row[at + 1 :]) for row, cell in zip(solutions.rows, cells, strict=True)]
    return Solutions(solutions.variables, rows)
