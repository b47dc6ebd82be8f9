"""Figures of the questions of a collection: how many, their answers, and the diversity of their words.

Source: the tables on questions in Wu et al., "STaRK" (NeurIPS 2024). The entropy of all questions of STaRK is the
published one to the digit (10.39, 10.25, 9.63); the sample of its type-token ratio is not named, so ours is of all.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hybridkg.errors import ParameterError
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.topics import Topics
from hybridkg.kb.skb.word_distribution import WordDistribution


@dataclass(frozen=True)
class QuestionFigures:
    """The figures of questions.

    Args:
        questions: their number.
        tokens: white-space words as written.
        entropy: Shannon entropy of these, in bits.
        type_token_ratio: distinct words divided by all.
        several_answers: questions with more than one answer; None without judgements.
        mean_answers: None without judgements.
        most_answers: None without judgements.
    """

    questions: int
    tokens: int
    entropy: float
    type_token_ratio: float
    several_answers: int | None = None
    mean_answers: float | None = None
    most_answers: int | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON data without the missing figures."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def question_figures(topics: Topics, qrels: Qrels | None = None) -> QuestionFigures:
    """Counts questions and, with judgements, their answers (grades of 1 or more).

    Raises:
        ParameterError: there is no question.

    >>> found = question_figures(Topics({"1": "a b", "2": "a c"}), Qrels({"1": {"x": 1, "y": 1}, "2": {"x": 1}}))
    >>> found.entropy, found.type_token_ratio, found.mean_answers
    (1.5, 0.75, 1.5)
    """
    if not topics.texts:
        raise ParameterError("there is no question to count")
    words = WordDistribution()
    for text in topics.texts.values():
        words.add(text)
    basic = QuestionFigures(len(topics.texts), words.tokens, words.entropy, words.distinct / max(words.tokens, 1))
    if qrels is None:
        return basic
    answers = [len(qrels.relevant(topic)) if topic in qrels.grades else 0 for topic in topics.texts]
    return QuestionFigures(
        basic.questions,
        basic.tokens,
        basic.entropy,
        basic.type_token_ratio,
        sum(count > 1 for count in answers),
        sum(answers) / len(answers),
        max(answers),
    )
