"""The readings of a question, compared as wholes.

To the score of the beam (conjunction.py) come the logarithm of the share of the shape in training (shapes.py), and the
evidence for the answers (text_evidence.py) of the words that the best reading by then does not cover. A reading without
constraints has none, so that words alone take no constraint away. The confidences of classes and paths are then their
shares of all readings. Without a prior of shapes these are too even where many classes are possible, so the confidences
of the formulas remain where they are higher.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import exp

import numpy as np

from hybridkg.asking.base import AskedBase
from hybridkg.asking.conjunction import Conjunction, best_first, conjunctions
from hybridkg.asking.mentions import NameMention
from hybridkg.asking.paths import PathChoice, route_of
from hybridkg.asking.shapes import shape_of
from hybridkg.asking.slots import Target
from hybridkg.asking.text_evidence import text_evidence
from hybridkg.asking.uncovered import uncovered_text
from hybridkg.asking.weights import QuestionWeights
from hybridkg.asking.words import Question
from hybridkg.interfaces.graph_index import Ids
from hybridkg.storage.distinct import sorted_distinct

FEW = 300
"""Answers of a reading that are all scored; of larger sets only those among the best of the index are."""


def compared_readings(
    question: Question,
    mentions: Sequence[NameMention],
    targets: Sequence[Target],
    base: AskedBase,
    weights: QuestionWeights,
) -> list[Conjunction]:
    """Readings of a question, best first; at least one, if there is a class."""
    found = conjunctions(question, mentions, targets, base, weights)
    if weights.shapes is not None:
        found = [replace(one, score=one.score + weights.shape * weights.shapes.score(_shape(one), ())) for one in found]
    text = uncovered_text(question, min(found, key=best_first), base)
    if text:
        words = text_evidence(text, base.best_score(question.text), _small(found), base.text)
        found = [
            one if one.ids is None else replace(one, score=one.score + weights.text * words.of(one.ids))
            for one in found
        ]
    together = _decided_together(found)
    if weights.shapes is None:
        together = [_surer(one, other) for one, other in zip(found, together, strict=True)]
    return sorted(together, key=best_first)


def _surer(one: Conjunction, other: Conjunction) -> Conjunction:
    """A reading with the higher one of two confidences of its class, and of each path."""
    target = max(one.target, other.target, key=lambda target: target.confidence)
    pairs = zip(one.paths, other.paths, strict=True)
    paths = tuple((mention, max(path, its, key=lambda path: path.share)) for (mention, path), (_, its) in pairs)
    return replace(one, target=target, paths=paths)


def _small(readings: Sequence[Conjunction]) -> Ids:
    """The answers of readings with at most FEW, ascending."""
    few = [one.ids for one in readings if one.ids is not None and len(one.ids) <= FEW]
    return sorted_distinct(np.concatenate(few)) if few else np.zeros(0, np.uint32)


def _decided_together(readings: Sequence[Conjunction]) -> list[Conjunction]:
    """The readings with confidences of classes and paths that are their shares of all readings.

    A class has the share of its readings, and a path that of its readings among those with any path of the mention.
    """
    best = max(one.score for one in readings)
    shares = [exp(one.score - best) for one in readings]
    classes: dict[str, float] = defaultdict(float)
    mentioned: dict[tuple[int, int], float] = defaultdict(float)
    chosen: dict[object, float] = defaultdict(float)
    for one, share in zip(readings, shares, strict=True):
        classes[one.target.iri] += share
        for mention, path in one.paths:
            mentioned[mention.first, mention.behind] += share
            chosen[_key(mention, path)] += share
    return [
        replace(
            one,
            target=replace(one.target, confidence=min(1.0, classes[one.target.iri] / sum(shares))),
            paths=tuple(
                (mention, replace(path, share=chosen[_key(mention, path)] / mentioned[mention.first, mention.behind]))
                for mention, path in one.paths
            ),
        )
        for one in readings
    ]


def _key(mention: NameMention, path: PathChoice) -> object:
    return mention.first, mention.behind, path.node.kind, path.paths


def _shape(one: Conjunction) -> str:
    return shape_of(one.target.iri, [(path.node.kind, route_of(path.paths)) for _, path in one.paths])
