"""Models of row features, in a JSON file (never a pickle): one weight for each feature, or trees.

    {"format": "hybridkg features", "version": 1, "weights": {"score t": 0.8, "field names": 0.3}}
    {"format": "hybridkg features", "version": 1,
     "trees": [{"feature": "score t", "limit": 0.5, "below": -0.1, "above": 0.2}]}

`hybridkg tune --model features` writes both. In either, a score is a sum of one part for each feature.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import ConfigError
from hybridkg.registry import did_you_mean

Floats = NDArray[np.float64]

FORMAT, VERSION = "hybridkg features", 1

MAX_FILE_BYTES = 1 << 20
"""Maximum size; a real file has some thousand, or with trees some ten thousand."""

MAX_WEIGHTS = MAX_TREES = 10_000

DEEPEST = 16
"""Maximum depth: splits between the root of a tree and a leaf."""

HINT = "hybridkg tune --model features writes one"


class FeatureModel(Protocol):
    """A score of candidates as a sum of parts, one for each feature."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its features."""

    @property
    def empty(self) -> bool:
        """Whether all candidates get the same score."""

    def parts(self, features: Floats) -> Floats:
        """float64[candidates, names]: the part of each feature, from features float64[candidates, names] in 0..1."""

    def content(self) -> Mapping[str, Any]:
        """Content of its file, besides format and version."""


@dataclass(frozen=True)
class Weights:
    """A weight for each feature: a part is weight times value.

    >>> Weights({"earlier": 0.5}).parts(np.array([[1.0], [0.5]])).tolist()
    [[0.5], [0.25]]
    """

    weights: Mapping[str, float]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.weights)

    @property
    def empty(self) -> bool:
        return not any(self.weights.values())

    def parts(self, features: Floats) -> Floats:
        parts: Floats = features * np.array(list(self.weights.values()))
        return parts

    def content(self) -> Mapping[str, Any]:
        return {"weights": dict(self.weights)}

    @classmethod
    def parse(cls, value: Any, place: str) -> Weights:
        """Weights from the value of "weights".

        Raises:
            ConfigError: it is no table of numbers.
        """
        if not isinstance(value, dict) or not 0 < len(value) <= MAX_WEIGHTS:
            raise ConfigError('"weights" must be a table of some numbers', hint=HINT, place=place)
        return cls({name: _finite(f"the weight of {reprlib.repr(name)}", own, place) for name, own in value.items()})


@dataclass(frozen=True)
class Split:
    """Inner node of a tree: candidates whose feature is below the limit (0..1) take one side, others the other."""

    feature: str
    limit: float
    below: Tree
    above: Tree

    @cached_property
    def middle(self) -> float:
        return (_middle(self.below) + _middle(self.above)) / 2


Tree = Split | float


@dataclass(frozen=True)
class Trees:
    """Sum of decision trees.

    A split gives its feature the difference between the taken side and the mean of both sides. So the parts of a
    candidate add up to the sum of its leaves, less the means of the roots, which are the same for all candidates.

    >>> one = Split("earlier", 0.5, -1.0, Split("types", 0.25, 0.0, 2.0))
    >>> Trees((one,)).parts(np.array([[0.1, 1], [0.5, 1]])).tolist()
    [[-1.0, 0.0], [1.0, 1.0]]
    """

    trees: tuple[Tree, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({split.feature for tree in self.trees for split in _splits(tree)}))

    @property
    def empty(self) -> bool:
        return not self.names

    def parts(self, features: Floats) -> Floats:
        parts = np.zeros(features.shape)
        columns = {name: i for i, name in enumerate(self.names)}
        for tree in self.trees:
            open_ = [(tree, np.arange(len(features)))]
            while open_:
                split, rows = open_.pop()
                if not isinstance(split, Split):
                    continue
                at = columns[split.feature]
                above = features[rows, at] >= split.limit
                for side, taken in ((split.below, rows[~above]), (split.above, rows[above])):
                    parts[taken, at] += _middle(side) - split.middle
                    open_.append((side, taken))
        return parts

    def content(self) -> Mapping[str, Any]:
        return {"trees": [_written(tree) for tree in self.trees]}

    @classmethod
    def parse(cls, value: Any, place: str) -> Trees:
        """Trees from the value of "trees".

        Raises:
            ConfigError: it is no list of trees.
        """
        if not isinstance(value, list) or not 0 < len(value) <= MAX_TREES:
            raise ConfigError('"trees" must be a list of some trees', hint=HINT, place=place)
        return cls(tuple(_tree(own, place, DEEPEST) for own in value))


KINDS: Mapping[str, Callable[[Any, str], FeatureModel]] = {"trees": Trees.parse, "weights": Weights.parse}


def to_json(model: FeatureModel) -> str:
    """The text of a file, which `parse` reads back as the same model.

    >>> print(to_json(Weights({"earlier": 0.5})), end="")
    {
     "format": "hybridkg features",
     "version": 1,
     "weights": {
      "earlier": 0.5
     }
    }
    """
    document = {"format": FORMAT, "version": VERSION, **model.content()}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def parse(text: str, place: str) -> FeatureModel:
    """The model in a text; `place` is for the error.

    Raises:
        ConfigError: the text is no such file.
    """
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"not JSON: {e}", hint=HINT, place=place) from e
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigError("no weights of features", hint=HINT, place=place)
    if document.get("version") != VERSION:
        raise ConfigError(
            f"weights of version {document.get('version')!r}; this hybridkg reads version {VERSION}",
            hint=HINT,
            place=place,
        )
    kinds = [kind for kind in KINDS if kind in document]
    if len(kinds) > 1:
        raise ConfigError("both weights and trees: a file has one of them", hint=HINT, place=place)
    kind = kinds[0] if kinds else "weights"
    return KINDS[kind](document.get(kind), place)


def read(path: Path) -> FeatureModel:
    """The model in a file.

    Raises:
        ConfigError: it cannot be read, or is no such file.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise ConfigError(f"larger than {MAX_FILE_BYTES:,} bytes: no file of weights", place=str(path))
        return parse(content.decode("utf-8"), str(path))
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"{str(path)!r} is not UTF-8 text", hint=HINT) from e


def _finite(name: str, value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9 or not math.isfinite(value):
        raise ConfigError(f"{name} must be a number from -1e9 to 1e9, not {reprlib.repr(value)}", place=place)
    return float(value)


def _middle(tree: Tree) -> float:
    return tree.middle if isinstance(tree, Split) else tree


def _splits(tree: Tree) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from _splits(tree.below)
        yield from _splits(tree.above)


_KEYS: Sequence[str] = ("feature", "limit", "below", "above")


def _written(tree: Tree) -> Any:
    if not isinstance(tree, Split):
        return tree
    values = (tree.feature, tree.limit, _written(tree.below), _written(tree.above))
    return dict(zip(_KEYS, values, strict=True))


def _tree(value: Any, place: str, depth_left: int) -> Tree:
    if not isinstance(value, dict):
        return _finite("the value of a leaf", value, place)
    if depth_left == 0:
        raise ConfigError(f"a tree has more than {DEEPEST} splits on the way to a leaf", place=place)
    if unknown := next((key for key in value if key not in _KEYS), None):
        hint = did_you_mean(unknown, list(_KEYS)) or HINT
        raise ConfigError(f"a split has no {reprlib.repr(unknown)}; it has: {', '.join(_KEYS)}", hint=hint, place=place)
    if missing := next((key for key in _KEYS if key not in value), None):
        raise ConfigError(f"a split lacks {missing!r}", hint=HINT, place=place)
    name = value["feature"]
    if not isinstance(name, str):
        raise ConfigError(f"the feature of a split must be a name, not {reprlib.repr(name)}", hint=HINT, place=place)
    limit = _finite("the limit of a split", value["limit"], place)
    return Split(
        name, limit, _tree(value["below"], place, depth_left - 1), _tree(value["above"], place, depth_left - 1)
    )
