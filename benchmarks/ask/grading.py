"""Grades of one question: the parts of its reading, and the rankings of all systems."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hybridkg import KnowledgeBase
from hybridkg.asking.emit import fusion_query
from hybridkg.asking.interpret import surroundings
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.learning import learn
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights
from hybridkg.errors import QueryLimitError
from hybridkg.evaluation.gold_queries import GoldQuestion, ReadingGrader
from hybridkg.evaluation.synthesis.synthesise import SynthesisedQuestion
from hybridkg.evaluation.synthesis.templates import TemplateSet
from hybridkg.kb.asking import answered, interpreted
from hybridkg.kb.snapshot import snapshot_of

MEASURES = ("hit@1", "recall@20", "mrr")
DEPTH = 100

TEXT = "SELECT ?x {{ ?x MATCH $text AS ?t . ?x a <{kind}> }} RANK BY ?t LIMIT 100"
VECTORS = "SELECT ?x {{ ?x NEAR $text AS ?v . ?x a <{kind}> }} RANK BY ?v LIMIT 100"
GOLD = (
    "SELECT DISTINCT ?x {{ VALUES ?x {{ {nodes} }} OPTIONAL {{ ?x MATCH $text AS ?t }} "
    "OPTIONAL {{ ?x NEAR $text AS ?v }} }} RANK BY COALESCE(tmm(?t), 0) + COALESCE(tmm(?v), 0) LIMIT 100"
)
"""Nodes of the pattern that the question was made from, ranked by the whole question."""

SYSTEMS = ("text", "vectors", "fusion", "ask", "strict", "gold")


@dataclass(frozen=True)
class Graded:
    """Grades of a question: PARTS, and MEASURES by system; seconds of processor time of interpretation and answer."""

    number: int
    template: str
    parts: dict[str, float]
    rankings: dict[str, dict[str, float]]
    interpret_cpu_s: float
    answer_cpu_s: float


class Grader:
    """Grades questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase, templates: TemplateSet, weights: QuestionWeights = DEFAULT_WEIGHTS):
        self.kb, self.templates, self.weights = kb, templates, weights
        self.base = snapshot_of(kb).asked
        self.reading_grader = ReadingGrader(kb, self.base)

    def graded(self, question: SynthesisedQuestion, *, rankings: bool = True) -> Graded:
        """The grades of a question."""
        start = time.process_time()
        reading = interpreted(self.kb, question.text, limit=DEPTH, weights=self.weights)
        interpret_cpu_s = time.process_time() - start
        parts = self.parts(question, reading)
        ranked: dict[str, dict[str, float]] = {}
        answer_cpu_s = 0.0
        if rankings:
            start = time.process_time()
            with suppress(QueryLimitError):
                answered(self.kb, reading.query)
            answer_cpu_s = time.process_time() - start
            ranked = {
                name: measures(some, question.answers) for name, some in self._rankings(question, reading).items()
            }
        return Graded(question.number, question.template, parts, ranked, interpret_cpu_s, answer_cpu_s)

    def parts(self, question: SynthesisedQuestion, reading: Interpretation) -> dict[str, float]:
        """PARTS of a reading: 0..1 each."""
        return self.reading_grader.parts(gold_of(question), reading)

    def _nodes(self, query: str) -> set[str]:
        return {str(row["x"]) for row in self.kb.query(query)}

    def _rankings(self, question: SynthesisedQuestion, reading: Interpretation) -> dict[str, list[str]]:
        """The best DEPTH nodes of each system; the baselines know the class of the answers."""
        kind, text = self.templates.templates[question.template].answers, {"text": question.text}
        around = surroundings(question.text, self.base, {}, DEPTH)
        nodes = " ".join(f"<{iri}>" for iri in sorted(self._nodes(question.query)))
        return {
            "text": self._ranked(TEXT.format(kind=kind), text),
            "vectors": self._ranked(VECTORS.format(kind=kind), text),
            "fusion": self._ranked(fusion_query(question.text, around, kind)),
            "ask": self._ranked(reading.query),
            "strict": self._ranked(reading.strict or reading.query),
            "gold": self._ranked(GOLD.format(nodes=nodes), text),
        }

    def _ranked(self, query: str, params: dict[str, Any] | None = None) -> list[str]:
        """The rows of a query; none of one that is refused because it is too large."""
        try:
            return [str(row["x"]) for row in self.kb.query(query, params)]
        except QueryLimitError:
            return []


def learned(kb: KnowledgeBase, questions: Sequence[SynthesisedQuestion]) -> QuestionWeights:
    """Weights learned from questions and their queries."""
    base = snapshot_of(kb).asked
    grader = ReadingGrader(kb, base)
    return learn([grader.example(gold_of(question)) for question in questions], base)


def gold_of(question: SynthesisedQuestion) -> GoldQuestion:
    """The question with its query."""
    return GoldQuestion(str(question.number), question.split, question.text, question.query)


def measures(ranking: list[str], answers: tuple[str, ...]) -> dict[str, float]:
    """MEASURES of a ranking.

    >>> measures(["b", "a"], ("a",))
    {'hit@1': 0.0, 'recall@20': 1.0, 'mrr': 0.5}
    """
    right = set(answers)
    first = next((rank for rank, node in enumerate(ranking, 1) if node in right), None)
    return {
        "hit@1": float(first == 1),
        "recall@20": len(right & set(ranking[:20])) / len(right),
        "mrr": 1 / first if first else 0.0,
    }
