"""Feature reranker: a learned model (feature_model.py) of the features of a row (row_features.py), in a JSON file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hybridkg.config.model_parameters import find_file
from hybridkg.errors import ConfigError, RerankerError
from hybridkg.interfaces.reranker import (
    RerankCandidates,
    Reranked,
    RerankPlace,
    Setting,
    Surroundings,
    parts_of_columns,
)
from hybridkg.ranking.rerankers import feature_model
from hybridkg.ranking.rerankers.row_features import RowFeatures, by_question, names_of
from hybridkg.registry import did_you_mean


class FeatureReranker:
    """The reranker `features`."""

    settings: ClassVar[Mapping[str, Setting]] = {}
    takes_file, needs_query, repeatable, most = True, False, True, 10_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        path = find_file(file, place.folders)
        if path is None:
            searched = " and ".join(repr(str(folder)) for folder in place.folders)
            raise ConfigError(
                f"no file of weights {file!r} in {searched}",
                hint=f"{feature_model.HINT}; name it by a path inside one of these folders",
            )
        self._file, self._model = file, feature_model.read(path)

    @property
    def name(self) -> str:
        return f"features ({self._file})"

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Scores of the rows; the features of each question are scaled separately."""
        names = self._model.names
        available = names_of(around.text, list(candidates.scores), with_question=around.question is not None)
        unknown = next((name for name in names if name not in available), None)
        if unknown is not None:
            raise RerankerError(
                f"the weights of {self._file!r} are for a feature {unknown!r}, which these rows do not have",
                hint=did_you_mean(unknown, list(available))
                or "the query, its scores and the fields must be those of the training",
            )
        parts = np.zeros((len(candidates), len(names)))
        for places, own in by_question(candidates):
            parts[places] = self._model.parts(RowFeatures(own, around).matrix(names))
        return Reranked(parts.sum(axis=1), parts_of_columns({name: parts[:, i] for i, name in enumerate(names)}))
