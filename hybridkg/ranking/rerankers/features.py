"""A reranker that has been learned: weights for what `row_features` sees of a row, in a JSON file.

    {"format": "hybridkg features", "version": 1, "weights": {"score t": 0.8, "field names": 0.3}}

`hybridkg tune --model features` writes one. The score is the sum of weight times value, so each part can be shown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hybridkg.errors import ConfigError, RerankerError
from hybridkg.interfaces.reranker import Candidates, Reranked, RerankPlace, Setting, Surroundings
from hybridkg.model_parameters import find_file
from hybridkg.ranking.rerankers.row_features import RowFeatures, by_question, names_of
from hybridkg.registry import did_you_mean

FORMAT, VERSION = "hybridkg features", 1

LARGEST_FILE = 1 << 20
"""Bytes; a real one has some thousand."""

MOST_WEIGHTS = 10_000


@dataclass(frozen=True)
class FeatureModel:
    """Weights by the name of a feature.

    >>> FeatureModel({"earlier": 0.5}).to_json()
    '{\\n "format": "hybridkg features",\\n "version": 1,\\n "weights": {\\n  "earlier": 0.5\\n }\\n}\\n'
    """

    weights: Mapping[str, float]

    def to_json(self) -> str:
        """The text of a file that `parse` reads back as the same weights."""
        document = {"format": FORMAT, "version": VERSION, "weights": dict(self.weights)}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def parse(cls, text: str, place: str) -> FeatureModel:
        """The weights in a text.

        Raises:
            ConfigError: it is no such file; `place` is where the error points to.
        """
        try:
            found: Any = json.loads(text)
        except (ValueError, RecursionError) as e:
            raise ConfigError(f"not JSON: {e}", hint=_HINT, place=place) from e
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise ConfigError("no weights of features", hint=_HINT, place=place)
        if found.get("version") != VERSION:
            raise ConfigError(
                f"weights of version {found.get('version')!r}; this hybridkg reads version {VERSION}",
                hint=_HINT,
                place=place,
            )
        weights = found.get("weights")
        if not isinstance(weights, dict) or not 0 < len(weights) <= MOST_WEIGHTS:
            raise ConfigError('"weights" must be a table of some numbers', hint=_HINT, place=place)
        return cls({name: _finite(name, value, place) for name, value in weights.items()})

    @classmethod
    def read(cls, path: Path) -> FeatureModel:
        """The weights in a file.

        Raises:
            ConfigError: it cannot be read, or is no such file.
        """
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST_FILE + 1)
            if len(content) > LARGEST_FILE:
                raise ConfigError(f"larger than {LARGEST_FILE:,} bytes: no file of weights", place=str(path))
            return cls.parse(content.decode("utf-8"), str(path))
        except OSError as e:
            raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e
        except UnicodeDecodeError as e:
            raise ConfigError(f"{str(path)!r} is not UTF-8 text", hint=_HINT) from e


_HINT = "hybridkg tune --model features writes one"


def _finite(name: str, value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e9 or not math.isfinite(value):
        raise ConfigError(f"the weight of {name!r} must be a number from -1e9 to 1e9, not {value!r}", place=place)
    return float(value)


class FeatureReranker:
    """The Reranker."""

    settings: ClassVar[Mapping[str, Setting]] = {}
    takes_file, needs_query, repeatable, most = True, False, True, 10_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        path = find_file(file, place.folders)
        if path is None:
            looked = " and ".join(repr(str(folder)) for folder in place.folders)
            raise ConfigError(
                f"no file of weights {file!r} in {looked}",
                hint=f"{_HINT}; name it by a path inside one of these folders",
            )
        self._file, self._model = file, FeatureModel.read(path)

    @property
    def name(self) -> str:
        """With the file."""
        return f"features ({self._file})"

    def rerank(self, candidates: Candidates, around: Surroundings) -> Reranked:
        """As Reranker has it; each question is for itself."""
        weights = self._model.weights
        known = names_of(around.text, list(candidates.scores))
        unknown = next((name for name in weights if name not in known), None)
        if unknown is not None:
            raise RerankerError(
                f"the weights of {self._file!r} are for a feature {unknown!r}, which these rows do not have",
                hint=did_you_mean(unknown, list(known))
                or "the query, its scores and the fields must be those that it was learned with",
            )
        parts = np.zeros((len(candidates), len(weights)))
        for places, own in by_question(candidates):
            parts[places] = RowFeatures(own, around).matrix(list(weights)) * np.array(list(weights.values()))
        return Reranked(parts.sum(axis=1), {name: parts[:, i] for i, name in enumerate(weights)})
