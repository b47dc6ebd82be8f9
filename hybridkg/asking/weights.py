"""The weights of the formulas, and what was learned from questions with known queries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from hybridkg.errors import ConfigError
from hybridkg.resources import resource

Signature = tuple[tuple[str, bool], ...]
"""A path from the answers to the anchor: (predicate, whether against it) of each step."""

Route = tuple[Signature, ...]
"""One path, or two that begin at the same anchor, ascending."""

MAX_FILE_BYTES = 1 << 26

MAX_SCORE = 300.0
"""Largest weight of a file and log-odds of a model, so that exponentials of them are neither 0 nor infinite."""

ROUTE_FEATURES = ("window", "ordered", "whole")
"""The words around the name; these with their pairs; the words of the whole question with their pairs and number."""

CLASS_FEATURES = ("head", "whole")
"""The words of the head (targets.py); the words of the whole question with their pairs and number."""


@dataclass(frozen=True)
class WordModel:
    """A naive Bayes model of outcomes by words, in logarithms.

    Args:
        prior: of each outcome; `unseen` for others.
        ratios: by word and outcome, log P(word | outcome) / P(word); 0 for others.
        unseen: prior of an outcome without an example.
    """

    prior: Mapping[str, float] = field(default_factory=dict)
    ratios: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    unseen: float = 0.0

    def score(self, outcome: str, words: Iterable[str]) -> float:
        """The log-odds of an outcome.

        >>> WordModel({"x": -0.5}, {"by": {"x": 1.0}}, -3.0).score("x", ["by", "the"])
        0.5
        """
        own = sum(self.ratios[word].get(outcome, 0.0) for word in sorted(set(words)) if word in self.ratios)
        return _bounded(self.prior.get(outcome, self.unseen) + own)

    def scores(self, words: Iterable[str]) -> dict[str, float]:
        """The score of each outcome with an example; the others have `unseen`.

        >>> WordModel({"x": -0.5}, {"by": {"x": 1.0}}, -3.0).scores(["by", "the"])
        {'x': 0.5}
        """
        known = [self.ratios[word] for word in sorted(set(words)) if word in self.ratios]
        return {
            outcome: _bounded(prior + sum(ratios.get(outcome, 0.0) for ratios in known))
            for outcome, prior in self.prior.items()
        }


@dataclass(frozen=True)
class QuestionWeights:
    """Weights of paths and of the beam; those of the specification, not learned.

    Args:
        cue: of the words around a mention.
        learned: of the log-odds of paths and classes in training questions.
        hop: of each step beyond the first, subtracted.
        reach: of log10(1 + number of answers), subtracted.
        joined: of a constraint that leaves some answers.
        covered: of the idf share of the words that mentions cover.
        text: of the evidence of the words for the answers of a reading (text_evidence.py).
        routes: models of routes by the words around a mention, by `between` of the classes of anchor and answers.
        classes: model of the class of the answers; None if not learned.
        links: by words without case, the share of their mentions that are names of the query; 1 for others.
        route_features: of ROUTE_FEATURES, what `routes` read (features.py).
        class_features: of CLASS_FEATURES, what `classes` reads.
        shape: weight of the log-odds of the shape.
        shapes: prior of shapes (shapes.py); None if not learned.
        mention: weight of the log-odds of a mention.
        mentions: model of mentions that are anchors (shapes.py); None if not learned.
    """

    cue: float = 2.0
    learned: float = 0.5
    hop: float = 0.7
    reach: float = 0.3
    joined: float = 1.5
    covered: float = 0.5
    text: float = 0.7
    routes: Mapping[str, WordModel] = field(default_factory=dict)
    classes: WordModel | None = None
    links: Mapping[str, float] = field(default_factory=dict)
    route_features: str = "window"
    class_features: str = "head"
    shape: float = 1.0
    shapes: WordModel | None = None
    mention: float = 1.0
    mentions: WordModel | None = None

    def to_json(self) -> str:
        """The learned models as JSON."""
        models = {"routes": {key: vars(model) for key, model in sorted(self.routes.items())}}
        others = {"classes": self.classes, "shapes": self.shapes, "mentions": self.mentions}
        written = {name: None if model is None else vars(model) for name, model in others.items()}
        ways = {"route_features": self.route_features, "class_features": self.class_features}
        data = {"format": 2, **models, **written, "links": dict(sorted(self.links.items())), **ways}
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"

    @classmethod
    def read(cls, path: Path) -> QuestionWeights:
        """Reads a file that `to_json` wrote.

        Raises:
            ConfigError: it cannot be read, or has another form.
        """
        try:
            with path.open("rb") as file:
                raw = file.read(MAX_FILE_BYTES + 1)
            if len(raw) > MAX_FILE_BYTES:
                raise ConfigError(f"the weights have more than {MAX_FILE_BYTES:,} bytes", place=str(path))
            data = json.loads(raw)
            if data["format"] != 2:
                raise ConfigError("the weights have another format", place=str(path))
            routes = {str(key): _model(value) for key, value in data["routes"].items()}
            classes, shapes, mentions = (
                None if data[name] is None else _model(data[name]) for name in ("classes", "shapes", "mentions")
            )
            ways = str(data["route_features"]), str(data["class_features"])
            if ways[0] not in ROUTE_FEATURES or ways[1] not in CLASS_FEATURES:
                raise ConfigError("the weights read features that this hybridkg does not know", place=str(path))
            return cls(
                routes=routes,
                classes=classes,
                links={str(words): _share(share) for words, share in data["links"].items()},
                route_features=ways[0],
                class_features=ways[1],
                shapes=shapes,
                mentions=mentions,
            )
        except OSError as e:
            raise ConfigError(f"cannot read the weights: {(e.strerror or str(e)).lower()}", place=str(path)) from e
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise ConfigError("these are no weights of questions", place=str(path)) from e


def _bounded(score: float) -> float:
    return max(-MAX_SCORE, min(MAX_SCORE, score))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_SCORE:
        raise TypeError(f"a weight is a number of at most {MAX_SCORE}")
    return float(value)


def _share(value: object) -> float:
    share = _number(value)
    if not 0 < share <= 1:
        raise ValueError("a share is above 0 and at most 1")
    return share


def _model(data: Mapping[str, object]) -> WordModel:
    prior, ratios = data["prior"], data["ratios"]
    if not isinstance(prior, dict) or not isinstance(ratios, dict):
        raise TypeError("a model has a prior and ratios")
    words = {str(word): {str(one): _number(value) for one, value in own.items()} for word, own in ratios.items()}
    return WordModel({str(one): _number(value) for one, value in prior.items()}, words, _number(data["unseen"]))


def written_route(route: Route) -> str:
    """A route as text.

    >>> written_route(((("x:wrote", True), ("x:in", False)),))
    '^<x:wrote>/<x:in>'
    """
    paths = ("/".join(f"{'^' * inverse}<{predicate}>" for predicate, inverse in path) for path in route)
    return " & ".join(paths)


def between(start: str, target: str) -> str:
    """The key of the routes between the classes of anchor and answers."""
    return f"<{start}> <{target}>"


DEFAULT_WEIGHTS = QuestionWeights()


def shipped_names() -> list[str]:
    """Names of the weights of the package: those of the profiles whose knowledge bases they are for."""
    return sorted(path.stem for path in resource("ontologies", "weights").glob("*.json"))


@lru_cache(8)
def shipped_weights(name: str) -> QuestionWeights | None:
    """The weights of the package with a name; None if there are none."""
    return QuestionWeights.read(resource("ontologies", "weights", f"{name}.json")) if name in shipped_names() else None


def named_weights(name: str | Path) -> QuestionWeights:
    """The weights of the package with a name, or of a file.

    Raises:
        ConfigError: there is neither, or the file has another form.
    """
    found = shipped_weights(str(name))
    if found is not None:
        return found
    if not Path(name).exists():
        raise ConfigError(f"there are no weights {str(name)!r}", hint=f"a file, or one of {', '.join(shipped_names())}")
    return QuestionWeights.read(Path(name))
