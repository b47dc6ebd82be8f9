"""What has been learned about features, in a JSON file (never a pickle): one weight for each, or trees.

    {"format": "hybridkg features", "version": 1, "weights": {"score t": 0.8, "field names": 0.3}}
    {"format": "hybridkg features", "version": 1,
     "trees": [{"feature": "score t", "limit": 0.5, "below": -0.1, "above": 0.2}]}

`hybridkg tune --model features` writes both. Either way a score is a sum of one part for each feature.
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
"""Bytes; a real one has some thousand, or with trees some ten thousand."""

MAX_WEIGHTS = MAX_TREES = 10_000

DEEPEST = 16
"""Splits between the root of a tree and a leaf."""

HINT = "hybridkg tune --model features writes one"


class FeatureModel(Protocol):
    """What gives candidates a score."""

    @property
    def names(self) -> tuple[str, ...]:
        """The features that it reads."""

    @property
    def empty(self) -> bool:
        """Whether it has nothing to tell one candidate from another by."""

    def parts(self, features: Floats) -> Floats:
        """What each feature gives; the score is the sum.

        Args:
            features: float64[candidates, names], each from 0 to 1.

        Returns:
            float64[candidates, names].
        """

    def content(self) -> Mapping[str, Any]:
        """What stands in its file beside format and version."""


@dataclass(frozen=True)
class Weights:
    """A weight for each feature: a part is weight times value.

    >>> Weights({"earlier": 0.5}).parts(np.array([[1.0], [0.5]])).tolist()
    [[0.5], [0.25]]
    """

    weights: Mapping[str, float]

    @property
    def names(self) -> tuple[str, ...]:
        """As FeatureModel has it."""
        return tuple(self.weights)

    @property
    def empty(self) -> bool:
        """As FeatureModel has it."""
        return not any(self.weights.values())

    def parts(self, features: Floats) -> Floats:
        """As FeatureModel has it."""
        found: Floats = features * np.array(list(self.weights.values()))
        return found

    def content(self) -> Mapping[str, Any]:
        """As FeatureModel has it."""
        return {"weights": dict(self.weights)}

    @classmethod
    def parse(cls, found: Any, place: str) -> Weights:
        """What stands behind "weights".

        Raises:
            ConfigError: it is no table of numbers.
        """
        if not isinstance(found, dict) or not 0 < len(found) <= MAX_WEIGHTS:
            raise ConfigError('"weights" must be a table of some numbers', hint=HINT, place=place)
        return cls(
            {name: _finite(f"the weight of {reprlib.repr(name)}", value, place) for name, value in found.items()}
        )


@dataclass(frozen=True)
class Split:
    """A question to a candidate: is the feature at least the limit?

    Args:
        feature: its name.
        limit: from 0 to 1.
        below, above: what comes then: another question, or the value of a leaf.
    """

    feature: str
    limit: float
    below: Tree
    above: Tree

    @cached_property
    def middle(self) -> float:
        """Half-way between its two sides."""
        return (_middle(self.below) + _middle(self.above)) / 2


Tree = Split | float


@dataclass(frozen=True)
class Trees:
    """Trees whose values are added up.

    A split gives to its feature the step from the middle of its two sides to the side that is taken. So the parts of a
    candidate add up to the sum of its leaves, less the middles of the roots, which are the same for all candidates.

    >>> one = Split("earlier", 0.5, -1.0, Split("types", 0.25, 0.0, 2.0))
    >>> Trees((one,)).parts(np.array([[0.1, 1], [0.5, 1]])).tolist()
    [[-1.0, 0.0], [1.0, 1.0]]
    """

    trees: tuple[Tree, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """As FeatureModel has it."""
        return tuple(sorted({split.feature for tree in self.trees for split in _splits(tree)}))

    @property
    def empty(self) -> bool:
        """As FeatureModel has it."""
        return not self.names

    def parts(self, features: Floats) -> Floats:
        """As FeatureModel has it."""
        found = np.zeros(features.shape)
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
                    found[taken, at] += _middle(side) - split.middle
                    open_.append((side, taken))
        return found

    def content(self) -> Mapping[str, Any]:
        """As FeatureModel has it."""
        return {"trees": [_written(tree) for tree in self.trees]}

    @classmethod
    def parse(cls, found: Any, place: str) -> Trees:
        """What stands behind "trees".

        Raises:
            ConfigError: it is no list of trees.
        """
        if not isinstance(found, list) or not 0 < len(found) <= MAX_TREES:
            raise ConfigError('"trees" must be a list of some trees', hint=HINT, place=place)
        return cls(tuple(_tree(own, place, DEEPEST) for own in found))


KINDS: Mapping[str, Callable[[Any, str], FeatureModel]] = {"trees": Trees.parse, "weights": Weights.parse}


def to_json(model: FeatureModel) -> str:
    """The text of a file that `parse` reads back as the same model.

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
    """The model in a text.

    Raises:
        ConfigError: it is no such file; `place` is where the error points to.
    """
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise ConfigError(f"not JSON: {e}", hint=HINT, place=place) from e
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ConfigError("no weights of features", hint=HINT, place=place)
    if found.get("version") != VERSION:
        raise ConfigError(
            f"weights of version {found.get('version')!r}; this hybridkg reads version {VERSION}",
            hint=HINT,
            place=place,
        )
    kinds = [kind for kind in KINDS if kind in found]
    if len(kinds) > 1:
        raise ConfigError("weights and trees at once: a file has one of them", hint=HINT, place=place)
    kind = kinds[0] if kinds else "weights"
    return KINDS[kind](found.get(kind), place)


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


def _finite(what: str, value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9 or not math.isfinite(value):
        raise ConfigError(f"{what} must be a number from -1e9 to 1e9, not {reprlib.repr(value)}", place=place)
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


def _tree(found: Any, place: str, deeper: int) -> Tree:
    if not isinstance(found, dict):
        return _finite("the value of a leaf", found, place)
    if deeper == 0:
        raise ConfigError(f"a tree has more than {DEEPEST} splits on the way to a leaf", place=place)
    if unknown := next((key for key in found if key not in _KEYS), None):
        hint = did_you_mean(unknown, list(_KEYS)) or HINT
        raise ConfigError(f"a split has no {reprlib.repr(unknown)}; it has: {', '.join(_KEYS)}", hint=hint, place=place)
    if missing := next((key for key in _KEYS if key not in found), None):
        raise ConfigError(f"a split lacks {missing!r}", hint=HINT, place=place)
    if not isinstance(found["feature"], str):
        raise ConfigError(
            f"the feature of a split must be a name, not {reprlib.repr(found['feature'])}", hint=HINT, place=place
        )
    limit = _finite("the limit of a split", found["limit"], place)
    return Split(
        found["feature"], limit, _tree(found["below"], place, deeper - 1), _tree(found["above"], place, deeper - 1)
    )
