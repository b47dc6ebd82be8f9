"""Learning from questions with known queries: which routes and classes the words of a question speak of.

Two naive Bayes models of features (features.py, weights.py). A feature counts once a question; those of fewer than
LEAST questions are left out. P(feature | outcome) is smoothed by the share of the feature in all questions, and its
logarithm over that share is within -LIMIT..LIMIT, so that no single word decides. Which features are read is chosen by
accuracy: models of the other parts predict each of PARTS parts of the questions. Further models have the share of the
mentions of some words that are names of the query (linkability.py), and mentions and shapes of questions (shapes.py).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from hybridkg.asking.base import AskedBase
from hybridkg.asking.features import class_features, route_features
from hybridkg.asking.linkability import link_key, weighted
from hybridkg.asking.mentions import Mentions, NameMention, find_mentions
from hybridkg.asking.nested_quotations import read_quoted
from hybridkg.asking.shapes import ANCHOR, OTHER, mention_features, shape_of
from hybridkg.asking.weights import (
    CLASS_FEATURES,
    DEFAULT_WEIGHTS,
    ROUTE_FEATURES,
    QuestionWeights,
    Route,
    WordModel,
    between,
    written_route,
)
from hybridkg.asking.words import Question

LEAST = 2
SMOOTHING = 0.5
LIMIT = 2.0
DIGITS = 4
"""Of the logarithms, so that files of weights are small."""

LEAST_SHARE = 0.005
"""Share of the questions whose mentions have a word, below which it belongs to a topic and not to a wording."""

PARTS = 5
MAX_COMPARED = 2_000
"""Questions by which features are chosen, evenly spread over all."""

MARGIN = 0.05
"""Gain in accuracy that further features need. They tell the wordings of the training apart, also those of its held-out
parts: of questions in new wordings about CACM, exec is .82 without them and .79 with those of a smaller gain."""

SURE_LINK = 0.5
"""Confidence of a link whose words are a name."""


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


Labelled = tuple[str, str, tuple[str, ...]]
"""The model that an example teaches, its outcome, and its features."""


@dataclass(frozen=True)
class _Read:
    """An example with its words and mentions."""

    example: Example
    question: Question
    mentions: Mentions


def learn(examples: Iterable[Example], base: AskedBase, weights: QuestionWeights = DEFAULT_WEIGHTS) -> QuestionWeights:
    """The weights with models of routes, classes and links. An anchor that is no mention teaches nothing."""
    read = []
    for example in examples:
        question = read_quoted(example.question, base.names)
        read.append(_Read(example, question, find_mentions(question, base)))
    links = _links(read)
    read = [replace(one, mentions=weighted(one.question, one.mentions, links)) for one in read]
    routes = {way: [labelled for one in read for labelled in _routes(one, way)] for way in ROUTE_FEATURES}
    classes = {way: [_class(one, way) for one in read] for way in CLASS_FEATURES}
    route_way, class_way = best_way(routes), best_way(classes)
    return replace(
        weights,
        routes=_models(routes[route_way]),
        classes=_models(classes[class_way]).get("", WordModel()),
        links=links,
        route_features=route_way,
        class_features=class_way,
        shapes=word_model([(shape, ()) for one in read if (shape := _shape(one))]),
        mentions=word_model(
            [labelled for one in read for labelled in _mentions(one)], max(LEAST, round(LEAST_SHARE * len(read)))
        ),
    )


def _shape(one: _Read) -> str:
    """The shape of a question; empty if an anchor is no mention."""
    anchors = _anchors(one)
    if len(anchors) < len(one.example.routes):
        return ""
    return shape_of(one.example.target, [(kind, tuple(sorted(route))) for _, kind, route in anchors])


def _mentions(one: _Read) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Whether each mention is an anchor, and its features."""
    wanted = {iri for iri, _ in one.example.routes}
    for mention in one.mentions.found:
        node = next((node for node in mention.choices if node.iri in wanted), mention.choices[0])
        yield ANCHOR if node.iri in wanted else OTHER, mention_features(one.question, mention, node)


def _anchors(one: _Read) -> list[tuple[NameMention, str, Route]]:
    """(mention, class of the anchor, route) of each anchor: the mention that names it with the highest confidence."""
    anchors = []
    for iri, route in one.example.routes:
        found = [(mention, node) for mention in one.mentions.found for node in mention.choices if node.iri == iri]
        if found:
            mention, node = max(found, key=lambda pair: pair[1].confidence)
            anchors.append((mention, node.kind, route))
    return anchors


def _links(read: Sequence[_Read]) -> dict[str, float]:
    """(1 + anchors) / (1 + mentions) by the words of mentions that are LEAST times no anchor, nor a part of one."""
    named, others = Counter[str](), Counter[str]()
    for one in read:
        anchors = [mention for mention, _, _ in _anchors(one)]
        for mention in one.mentions.found:
            key = link_key(one.question, mention)
            if mention in anchors:
                named[key] += 1
            elif not any(mention.first < other.behind and other.first < mention.behind for other in anchors):
                others[key] += 1
    return {key: (1 + named[key]) / (1 + named[key] + n) for key, n in sorted(others.items()) if n >= LEAST}


def _routes(one: _Read, way: str) -> list[Labelled]:
    return [
        (
            between(kind, one.example.target),
            written_route(tuple(sorted(route))),
            route_features(one.question, mention, way),
        )
        for mention, kind, route in _anchors(one)
    ]


def _class(one: _Read, way: str) -> Labelled:
    named = frozenset(
        at for mention in one.mentions.found for at in range(mention.first, mention.behind)
        if mention.confidence >= SURE_LINK
    )  # fmt: skip
    return "", one.example.target, class_features(one.question, named, way)


def _models(labelled: Sequence[Labelled]) -> dict[str, WordModel]:
    by_model: dict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for model, outcome, features in labelled:
        by_model[model].append((outcome, features))
    return {model: word_model(some) for model, some in sorted(by_model.items())}


def best_way(labelled: Mapping[str, Sequence[Labelled]]) -> str:
    """The way of reading features whose models predict most held-out outcomes, if by MARGIN more than the first's."""
    shares = {way: _share_right(some) for way, some in labelled.items()}
    first, best = next(iter(shares)), max(shares, key=lambda way: shares[way])
    return best if shares[best] >= shares[first] + MARGIN else first


def _share_right(labelled: Sequence[Labelled]) -> float:
    """The share of the examples that models of the other parts predict right; 0 without examples."""
    chosen = labelled[:: max(1, len(labelled) // MAX_COMPARED)]
    right = 0
    for part in range(PARTS):
        models = _models([one for number, one in enumerate(chosen) if number % PARTS != part])
        for model, outcome, features in chosen[part::PARTS]:
            if model in models:
                scores = models[model].scores(features)
                right += max(scores, key=lambda one: (scores[one], one)) == outcome
    return right / max(1, len(chosen))


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
