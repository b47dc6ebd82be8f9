"""Graph reranker: a learned network over the graph of the candidates (graph_layers.py), in a safetensors file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from hybridkg.config.model_parameters import find_file
from hybridkg.errors import ConfigError
from hybridkg.interfaces.reranker import (
    RerankCandidates,
    Reranked,
    RerankPlace,
    Setting,
    Surroundings,
    parts_of_columns,
)
from hybridkg.ranking.rerankers.graph_inputs import check_inputs, graph_input
from hybridkg.ranking.rerankers.graph_layers import scores
from hybridkg.ranking.rerankers.graph_model import HINT, read_graph_model
from hybridkg.ranking.rerankers.row_features import by_question


class GraphReranker:
    """The reranker `graph`."""

    settings: ClassVar[Mapping[str, Setting]] = {}
    takes_file, needs_query, repeatable, most = True, True, True, 1_000

    def __init__(self, values: Mapping[str, str | float], file: str, place: RerankPlace):
        path = find_file(file, place.folders)
        if path is None:
            searched = " and ".join(repr(str(folder)) for folder in place.folders)
            raise ConfigError(
                f"no graph network {file!r} in {searched}",
                hint=f"{HINT}; name it by a path inside one of these folders",
            )
        self._file, self._model = file, read_graph_model(path)

    @property
    def name(self) -> str:
        return f"graph ({self._file})"

    def rerank(self, candidates: RerankCandidates, around: Surroundings) -> Reranked:
        """Scores of the rows, with a graph for each question; their parts are those without edges, and the rest."""
        settings = self._model.settings
        check_inputs(settings, candidates, around)
        own, whole = np.zeros(len(candidates)), np.zeros(len(candidates))
        for places, some in by_question(candidates):
            given = graph_input(settings, some, around)
            whole[places] = scores(self._model, given)
            own[places] = scores(self._model, given, edges=False)
            around.check()
        return Reranked(whole, parts_of_columns({"own": own, "neighbours": whole - own}))
