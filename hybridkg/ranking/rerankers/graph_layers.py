"""The layers of a graph network, in numpy.

    x'_v = relu(W x_v + A a_v + b),   a_v = sum over the neighbours u of v of (sum over channels of e_vu) x_u

A network has two layers, the last one without relu; `mlp` has no A. Source: G-RAG, equation 8, which divides a_v by the
number of neighbours (`mean`); that is not the default, because the edges are normalised already. With features the
last layer has one number, which is the score; with vectors it is compared with the vector of the question, y . x_v
(equation 11).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.ranking.rerankers.graph_model import GCN, LAYERS, GraphModel

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GraphInput:
    """The graph of one question.

    Args:
        nodes: float64[nodes, width]; the candidates come first.
        messages: float64[nodes, nodes], what each node receives from each other one.
        base: float64[candidates], which is added to their scores.
        question: float64[dimensions], the vector of the question; None with features.
    """

    nodes: Floats
    messages: Floats
    base: Floats
    question: Floats | None = None


def scores(model: GraphModel, given: GraphInput, *, edges: bool = True) -> Floats:
    """float64[candidates]; without edges no node receives a message.

    One candidate with the feature 2, and one linked with it by an edge of weight 0.5 with the feature 4, through a
    network that adds what a node has and what it receives:

    >>> from hybridkg.ranking.rerankers.graph_model import GraphSettings
    >>> settings = GraphSettings(columns=("earlier",), hidden=1)
    >>> one = {name: np.ones(shape, np.float32) for name, shape in settings.shapes.items() if "bias" not in name}
    >>> one |= {name: np.zeros(shape, np.float32) for name, shape in settings.shapes.items() if "bias" in name}
    >>> given = GraphInput(np.array([[2.0], [4.0]]), np.array([[0, 0.5], [0.5, 0]]), np.zeros(2))
    >>> scores(GraphModel(settings, one), given).tolist()
    [6.5, 7.0]
    """
    x, tensors = given.nodes, model.tensors
    for layer in range(LAYERS):
        total = x @ tensors[f"{layer}.weight"].T + tensors[f"{layer}.bias"]
        if edges and model.settings.learner == GCN:
            total += (given.messages @ x) @ tensors[f"{layer}.message"].T
        x = np.maximum(total, 0.0) if layer < LAYERS - 1 else total
    first = x[: len(given.base)]
    found: Floats = first[:, 0] if given.question is None else first @ given.question
    return found + given.base
