"""Grades of one question: the parts of its reading, and the rankings of all systems."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.ask.gold import Steps, path_of, paths_of
from hybridkg import KnowledgeBase
from hybridkg.asking.emit import fusion_query
from hybridkg.asking.interpret import surroundings
from hybridkg.asking.interpretation import Interpretation
from hybridkg.asking.learning import Example, learn
from hybridkg.asking.slots import Step
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights, Signature
from hybridkg.evaluation.synthesis.synthesise import SynthesisedQuestion
from hybridkg.evaluation.synthesis.templates import TemplateSet
from hybridkg.kb.asking import answered, interpreted
from hybridkg.kb.snapshot import snapshot_of

PARTS = ("type", "anchor_f1", "path", "exec")
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
    """Grades of a question: PARTS, and MEASURES by system; seconds of interpretation and of the answer."""

    number: int
    template: str
    parts: dict[str, float]
    rankings: dict[str, dict[str, float]]
    interpret_s: float
    answer_s: float


class Grader:
    """Grades questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase, templates: TemplateSet, weights: QuestionWeights = DEFAULT_WEIGHTS):
        self.kb, self.templates, self.weights = kb, templates, weights
        self.base = snapshot_of(kb).asked
        steps = [step for some in self.base.schema.steps.values() for step in some]
        self.symmetric = {step.predicate for step in steps} - {step.predicate for step in steps if step.inverse}

    def graded(self, question: SynthesisedQuestion, *, rankings: bool = True) -> Graded:
        """The grades of a question."""
        start = time.perf_counter()
        reading = interpreted(self.kb, question.text, limit=DEPTH, weights=self.weights)
        interpret_s = time.perf_counter() - start
        parts = self.parts(question, reading)
        ranked: dict[str, dict[str, float]] = {}
        answer_s = 0.0
        if rankings:
            start = time.perf_counter()
            answered(self.kb, reading.query)
            answer_s = time.perf_counter() - start
            ranked = {
                name: measures(some, question.answers) for name, some in self._rankings(question, reading).items()
            }
        return Graded(question.number, question.template, parts, ranked, interpret_s, answer_s)

    def parts(self, question: SynthesisedQuestion, reading: Interpretation) -> dict[str, float]:
        """PARTS of a reading: 0..1 each."""
        template = self.templates.templates[question.template]
        wanted = paths_of(question.query, self.symmetric)
        found = [path_of(path, self.symmetric) for path in reading.paths]
        anchors, right = {one for one, _ in found}, {iri for iri, _ in question.anchors.values()}
        shared = len(anchors & right)
        return {
            "type": float(reading.target is not None and reading.target.iri == template.answers),
            "anchor_f1": 2 * shared / (len(anchors) + len(right)),
            "path": float(Counter(steps for _, steps in found) == Counter(steps for _, steps in wanted)),
            "exec": float(reading.pattern is not None and self._nodes(reading.pattern) == self._nodes(question.query)),
        }

    def signature(self, steps: Steps) -> Signature:
        """The path from the answers to the anchor, as models of routes have it."""
        signature = []
        for step in reversed(steps):
            if len(step) > 1:
                signature.append((Step("", False, "", tuple(sorted(step))).written.removeprefix("<>|"), True))
            else:
                ((predicate, inverse),) = step
                signature.append((predicate, predicate in self.symmetric or not inverse))
        return tuple(signature)

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
        return [str(row["x"]) for row in self.kb.query(query, params)]


def learned(kb: KnowledgeBase, templates: TemplateSet, questions: Sequence[SynthesisedQuestion]) -> QuestionWeights:
    """Weights learned from questions and their queries."""
    grader = Grader(kb, templates)
    examples = []
    for question in questions:
        routes: dict[str, list[Signature]] = {}
        for iri, steps in paths_of(question.query, grader.symmetric):
            routes.setdefault(iri, []).append(grader.signature(steps))
        target = templates.templates[question.template].answers
        examples.append(Example(question.text, target, [(iri, tuple(sorted(some))) for iri, some in routes.items()]))
    return learn(examples, grader.base)


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
