"""The best conjunction of constraints, by a beam over the mentions from left to right.

    sum log l + sum log P(p) + log P(c) + 1.5 for each constraint that leaves answers + .5 (covered share of the idf)

The bonus is for each constraint, and not once, because otherwise no second constraint would be worth its logarithms.
Constraints whose intersection is empty have no bonus. With learned weights (shapes.py), a constraint also adds the
log-odds that its mention is an anchor. Whole readings are compared in readings.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp, log

import numpy as np

from hybridkg.asking.base import AskedBase
from hybridkg.asking.mentions import NameMention, NodeChoice
from hybridkg.asking.paths import PathChoice, path_choices
from hybridkg.asking.shapes import ANCHOR, OTHER, mention_features
from hybridkg.asking.slots import Target
from hybridkg.asking.values import FoundValue, find_values
from hybridkg.asking.weights import QuestionWeights
from hybridkg.asking.words import Question
from hybridkg.interfaces.graph_index import Ids

BEAM = 8
MAX_CONSTRAINTS = 4
SURE_LINK = 0.5
"""Confidence of a link whose words are a name and nothing else."""

TARGETS = 6
"""Classes of answers that are tried, the most probable ones."""

LEAST_TARGET = 0.01
"""Confidence of a class beside the most probable one."""


@dataclass(frozen=True)
class Conjunction:
    """A reading of a question.

    Args:
        target: class of the answers.
        paths: (mention, path) of each anchor.
        values: comparisons and absences.
        score: of the beam.
        ids: nodes that satisfy all, ascending; None without a constraint.
    """

    target: Target
    paths: tuple[tuple[NameMention, PathChoice], ...]
    values: tuple[FoundValue, ...]
    score: float
    ids: Ids | None

    @property
    def size(self) -> int:
        """Number of constraints."""
        return sum(len(path.paths) for _, path in self.paths) + len(self.values)

    @property
    def answers(self) -> int:
        """Number of nodes that satisfy all constraints; 0 without one."""
        return 0 if self.ids is None else len(self.ids)


def conjunctions(
    question: Question,
    mentions: Sequence[NameMention],
    targets: Sequence[Target],
    base: AskedBase,
    weights: QuestionWeights,
) -> list[Conjunction]:
    """The best readings of a question for each class of answers that is tried."""
    found: list[Conjunction] = []
    shares = _idf_shares(question, base)
    for target in [one for at, one in enumerate(targets[:TARGETS]) if not at or one.confidence >= LEAST_TARGET]:
        choices = {id(mention): _choices(question, mention, target.iri, base, weights) for mention in mentions}
        names = frozenset(
            at
            for one in mentions
            if choices[id(one)] and one.confidence >= SURE_LINK
            for at in range(one.first, one.behind)
        )
        start = _with_values(Conjunction(target, (), (), log(target.confidence), None), question, base, names, weights)
        beam = [start]
        for mention in mentions:
            beam = _extended(beam, mention, choices[id(mention)], shares, weights)
        found += beam
    return found


def _choices(
    question: Question, mention: NameMention, target: str, base: AskedBase, weights: QuestionWeights
) -> list[tuple[float, PathChoice]]:
    """What each node and path of a mention adds to a reading, and the path with the confidence of the link."""
    found, odds = [], _odds(question, mention, weights)
    for node in mention.choices:
        linked = node if odds is None else replace(node, confidence=_linked(mention, node, odds))
        for path in path_choices(question, mention, node, target, base, weights):
            value = log(node.confidence) + log(path.share) + weights.mention * (odds or 0.0)
            found.append((value, replace(path, node=linked)))
    return found


def _odds(question: Question, mention: NameMention, weights: QuestionWeights) -> float | None:
    """The log-odds that a mention is an anchor, by its most likely node; None if that was not learned.

    They are the same for all nodes of the name, which compete by the name and its paths: the classes that are often
    anchors say nothing about which node is meant.
    """
    if weights.mentions is None:
        return None
    features = mention_features(question, mention, max(mention.choices, key=lambda node: node.confidence))
    return weights.mentions.score(ANCHOR, features) - weights.mentions.score(OTHER, features)


def _linked(mention: NameMention, node: NodeChoice, odds: float) -> float:
    """The confidence of a link: the probability of an anchor times the share of the node among those of the name, at
    least the confidence of the name alone: the beam decides on the odds, and what it keeps is no less sure than before.
    """
    share = node.confidence / sum(one.confidence for one in mention.choices)
    return max(node.confidence, share / (1 + exp(-odds)))


def best_first(one: Conjunction) -> tuple[float, list[str]]:
    """The key by which readings are sorted."""
    return -one.score, [one.target.iri, *(f"{path.node.iri} {path.paths}" for _, path in one.paths)]


def _with_values(
    start: Conjunction, question: Question, base: AskedBase, names: frozenset[int], weights: QuestionWeights
) -> Conjunction:
    """The conjunction with the comparisons and absences of the question that leave answers."""
    for value in find_values(question, start.target.iri, base, names):
        ids = _joined(start.ids, value.ids)
        if len(ids) and start.size < MAX_CONSTRAINTS:
            score = start.score + log(value.constraint.confidence) + weights.joined
            start = Conjunction(start.target, (), (*start.values, value), score, ids)
    return start


def _extended(
    beam: Sequence[Conjunction],
    mention: NameMention,
    choices: Sequence[tuple[float, PathChoice]],
    shares: Sequence[float],
    weights: QuestionWeights,
) -> list[Conjunction]:
    """The best readings with the mention, and without it."""
    best = sorted(choices, key=lambda one: -one[0])[:BEAM]
    covered = weights.covered * sum(shares[mention.first : mention.behind])
    longer = list(beam)
    for one in beam:
        if any(mention.first < other.behind and other.first < mention.behind for other, _ in one.paths):
            continue
        if any(mention.first < value.behind and value.first < mention.behind for value in one.values):
            continue
        for value, path in best:
            added = _added(one, mention, value + covered, path, weights)
            if added is not None:
                longer.append(added)
    return sorted(longer, key=best_first)[:BEAM]


def _added(
    one: Conjunction, mention: NameMention, value: float, path: PathChoice, weights: QuestionWeights
) -> Conjunction | None:
    if one.size + len(path.paths) > MAX_CONSTRAINTS:
        return None
    ids = _joined(one.ids, path.ids)
    score = one.score + value + (weights.joined if len(ids) else 0.0)
    return Conjunction(one.target, (*one.paths, (mention, path)), one.values, score, ids)


def _joined(ids: Ids | None, others: Ids) -> Ids:
    return others if ids is None else np.intersect1d(ids, others, assume_unique=True)


def _idf_shares(question: Question, base: AskedBase) -> list[float]:
    """The share of each word in the idf of all words; 0 for stop words."""
    idf = [0.0 if word.is_stop else base.names.idf(word.raw) for word in question.words]
    total = sum(idf) or 1.0
    return [value / total for value in idf]
