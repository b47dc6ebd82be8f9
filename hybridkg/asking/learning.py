"""Learning from questions with known queries: which routes and classes the words of a question speak of.

Two naive Bayes models of words (weights.py). A word counts once a question; words of fewer than LEAST questions are
left out. P(word | outcome) is smoothed by the share of the word in all questions, and its logarithm over that share is
within -LIMIT..LIMIT, so that no single word decides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log

from hybridkg.asking.base import AskedBase
from hybridkg.asking.mentions import find_mentions
from hybridkg.asking.paths import WINDOW, stems_of
from hybridkg.asking.shapes import ANCHOR, OTHER, mention_features, shape_of
from hybridkg.asking.targets import head_words
from hybridkg.asking.weights import DEFAULT_WEIGHTS, QuestionWeights, Route, WordModel, between, written_route
from hybridkg.asking.words import read_question

LEAST = 2
SMOOTHING = 0.5
LIMIT = 2.0
DIGITS = 4
"""Of the logarithms, so that files of weights are small."""

LEAST_SHARE = 0.005
"""Share of the questions whose mentions have a word, below which it belongs to a topic and not to a wording."""


@dataclass(frozen=True)
class Example:
    """A question with its known query.

    Args:
        question: its text.
        target: class of the answers.
        routes: IRI of each anchor, with the paths from the answers to it.
    """

    question: str
    target: str
    routes: Sequence[tuple[str, Route]]


def learn(examples: Iterable[Example], base: AskedBase, weights: QuestionWeights = DEFAULT_WEIGHTS) -> QuestionWeights:
    """The weights with models of routes and classes. An anchor that is no mention teaches nothing."""
    routes: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    classes: list[tuple[str, tuple[str, ...]]] = []
    shapes: list[tuple[str, tuple[str, ...]]] = []
    named_or_not: list[tuple[str, tuple[str, ...]]] = []
    for example in examples:
        question = read_question(example.question, base.names.analyzer)
        mentions = find_mentions(question, base).found
        named = frozenset(at for one in mentions for at in range(one.first, one.behind) if one.confidence >= 0.5)
        classes.append((example.target, head_words(question, named)))
        wanted = {iri for iri, _ in example.routes}
        for one in mentions:
            node = next((node for node in one.choices if node.iri in wanted), one.choices[0])
            named_or_not.append((ANCHOR if node.iri in wanted else OTHER, mention_features(question, one, node)))
        anchors = []
        for iri, route in example.routes:
            found = [(one, node) for one in mentions for node in one.choices if node.iri == iri]
            if found:
                mention, node = max(found, key=lambda one: one[1].confidence)
                before, after = question.window(mention.first, mention.behind, WINDOW)
                anchors.append((node.kind, tuple(sorted(route))))
                outcome = written_route(tuple(sorted(route)))
                routes[between(node.kind, example.target)].append((outcome, stems_of([*before, *after])))
        if len(anchors) == len(example.routes):
            shapes.append((shape_of(example.target, anchors), ()))
    models = {key: word_model(some) for key, some in sorted(routes.items())}
    least = max(LEAST, round(LEAST_SHARE * len(classes)))
    return replace(
        weights,
        routes=models,
        classes=word_model(classes),
        shapes=word_model(shapes),
        mentions=word_model(named_or_not, least),
    )


def word_model(examples: Sequence[tuple[str, Sequence[str]]], least: int = LEAST) -> WordModel:
    """The model of (outcome, words) of some examples, of the words of at least `least` of them.

    >>> word_model([("x", ["by"]), ("x", ["by"]), ("y", ["on"]), ("y", ["on"])]).ratios["by"]["x"]
    0.5878
    """
    total = len(examples)
    outcomes = Counter(outcome for outcome, _ in examples)
    together = Counter((word, outcome) for outcome, words in examples for word in set(words))
    words = Counter(word for _, own in examples for word in set(own))
    norm = total + SMOOTHING * (len(outcomes) + 1)
    ratios: dict[str, dict[str, float]] = {}
    for word, count in sorted(words.items()):
        share = count / total
        if count >= least:
            ratios[word] = {
                outcome: round(max(-LIMIT, min(LIMIT, log(
                    (together[word, outcome] + SMOOTHING * share) / (own + SMOOTHING) / share
                ))), DIGITS)
                for outcome, own in sorted(outcomes.items())
            }  # fmt: skip
    prior = {outcome: round(log((count + SMOOTHING) / norm), DIGITS) for outcome, count in sorted(outcomes.items())}
    return WordModel(prior, ratios, round(log(SMOOTHING / norm), DIGITS))
