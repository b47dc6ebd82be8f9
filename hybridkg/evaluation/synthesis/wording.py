"""The parts of a question that words decide: properties of the answer, the text, and the candidates that have them.

One implementation needs no language model (offline.py), the other one asks models (model_wording.py).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from hybridkg.evaluation.synthesis.own_text import Passage
from hybridkg.evaluation.synthesis.templates import Role, Template


class RefusedError(Exception):
    """A drawn pattern that becomes no question; the message is the reason, under which it is counted."""


@dataclass(frozen=True)
class DrawnSource:
    """A drawn pattern with its names.

    Args:
        template: of the pattern.
        split: of the question.
        gold: IRI of the answer from which it was drawn.
        names: label of the answer, if it has one, and of the anchors, by IRI.
        anchors: name of each anchor.
    """

    template: Template
    split: str
    gold: str
    names: Mapping[str, str]
    anchors: Mapping[str, str]


@dataclass(frozen=True)
class Properties:
    """The demands of a question on its answers beside the pattern.

    Args:
        found: as they are in the text of the answer; with a model, as the model says them.
        asked: the same, reworded.
        runs: `asked` as words of the index; empty with a model.
        role: who asks; None to draw one for the question.
    """

    found: tuple[str, ...]
    asked: tuple[str, ...]
    runs: tuple[Passage, ...] = ()
    role: Role | None = None


class QuestionWording(Protocol):
    """The words of one knowledge base."""

    max_candidates: int
    """Answers of a pattern up to which the candidates are verified."""

    def properties(self, source: DrawnSource, draw: random.Random) -> Properties:
        """Properties of the answer; none if it has no text. Raises RefusedError."""

    def verified(self, candidates: Sequence[str], properties: Properties, gold: str) -> list[str]:
        """The candidates, IRIs, that have all properties of the gold answer, in their order. Raises RefusedError."""

    def text(self, source: DrawnSource, properties: Properties, role: Role, draw: random.Random) -> str:
        """The question. Raises RefusedError."""
