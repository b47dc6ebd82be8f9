"""Training of a graph network: the layers of ranking/rerankers/graph_layers.py in torch. Imports torch.

Losses of a question, after G-RAG (graph-reranking paper, equations 12 and 13):

    ranking          mean over pairs with grade i > grade j of max(0, 1 - (s_i - s_j))
    cross-entropy    -sum over i with grade_i > 0 of log softmax(s)_i
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hybridkg.ranking.rerankers.graph_layers import GraphInput
from hybridkg.ranking.rerankers.graph_model import GCN, LAYERS, GraphModel, GraphSettings

AT_ONCE = 5
"""Questions of a batch."""


def ranking_loss(scores: torch.Tensor, grades: torch.Tensor) -> torch.Tensor:
    """The mean hinge loss of the pairs of different grades; 0 without any.

    >>> float(ranking_loss(torch.tensor([2.0, 1.5, 0.0]), torch.tensor([1, 0, 0])))
    0.25
    """
    better = grades[:, None] > grades[None, :]
    if not bool(better.any()):
        return scores.sum() * 0.0
    margins = torch.relu(1.0 - (scores[:, None] - scores[None, :]))
    return margins[better].mean()


def cross_entropy(scores: torch.Tensor, grades: torch.Tensor) -> torch.Tensor:
    """Minus the logarithms of the softmax of relevant candidates, summed; 0 without any.

    >>> round(float(cross_entropy(torch.tensor([0.0, 0.0]), torch.tensor([1, 0]))), 4)
    0.6931
    """
    return -torch.log_softmax(scores, 0)[grades > 0].sum()


LOSSES: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "ranking": ranking_loss,
    "cross-entropy": cross_entropy,
}


@dataclass(frozen=True, eq=False)
class GraphExample:
    """A question: its graph, and int64[candidates], their grades."""

    given: GraphInput
    grades: NDArray[np.int64]


class GraphTraining:
    """A TrainingTask of one network.

    Args:
        settings: of the network.
        training: examples to learn from; those without two grades are left out.
        measure: of the present model on held-out questions.
        loss: a name of LOSSES.
        dropout: share of the numbers of the inner layer that a step leaves out, 0..1.
        seed: of the first weights.
        chosen_by: hash of what `measure` depends on besides the model, so that no checkpoint of another choice goes on.
    """

    def __init__(
        self,
        settings: GraphSettings,
        training: Sequence[GraphExample],
        measure: Callable[[GraphModel], float],
        *,
        loss: str,
        dropout: float,
        seed: int,
        chosen_by: str = "",
    ):
        self._settings, self._measure, self._loss, self._dropout = settings, measure, LOSSES[loss], dropout
        self._examples = [_Tensors(one) for one in training if len(set(one.grades.tolist())) > 1]
        self._key = _key(settings, training, loss, dropout, seed, chosen_by)
        generator = torch.Generator().manual_seed(seed)
        self._parameters: dict[str, torch.Tensor] = {}
        for name, shape in sorted(settings.shapes.items()):
            values = torch.zeros(shape)
            # The last layer begins at 0 where a score is added to it, so that training begins with the earlier order.
            if len(shape) == 2 and not (settings.base and name.startswith(f"{LAYERS - 1}.")):
                torch.nn.init.xavier_uniform_(values, generator=generator)
            self._parameters[name] = values.requires_grad_()

    @property
    def key(self) -> str:
        return self._key

    @property
    def steps(self) -> int:
        return max(1, -(-len(self._examples) // AT_ONCE))

    @property
    def examples(self) -> int:
        """Questions with something to learn."""
        return len(self._examples)

    def parameters(self) -> Mapping[str, Any]:
        return self._parameters

    def batches(self, epoch: int, rng: np.random.Generator) -> Mapping[str, NDArray[np.int64]]:
        """The questions in a random order, five a step; the last step is filled with -1."""
        del epoch
        order = np.full(self.steps * AT_ONCE, -1, np.int64)
        order[: len(self._examples)] = rng.permutation(len(self._examples))
        return {"questions": order.reshape(self.steps, AT_ONCE)}

    def loss(self, batch: Mapping[str, NDArray[np.int64]]) -> torch.Tensor:
        numbers = [number for number in batch["questions"].tolist() if number >= 0]
        losses = [self._loss(self.scores(number), self._examples[number].grades) for number in numbers]
        return torch.stack(losses).mean() if losses else sum(p.sum() * 0.0 for p in self._parameters.values())

    def evaluate(self) -> float:
        return self._measure(self.model())

    def scores(self, number: int, *, dropout: bool = True) -> torch.Tensor:
        """float32[candidates] of an example."""
        example, own = self._examples[number], self._parameters
        x = example.nodes
        for layer in range(LAYERS):
            total = x @ own[f"{layer}.weight"].T + own[f"{layer}.bias"]
            if self._settings.learner == GCN:
                total = total + (example.messages @ x) @ own[f"{layer}.message"].T
            if layer < LAYERS - 1:
                total = torch.relu(total)
                total = torch.nn.functional.dropout(total, self._dropout) if dropout and self._dropout else total
            x = total
        first = x[: len(example.base)]
        found = first[:, 0] if example.question is None else first @ example.question
        return found + example.base

    def model(self) -> GraphModel:
        """The present network."""
        tensors = {name: value.detach().numpy().copy() for name, value in self._parameters.items()}
        return GraphModel(self._settings, tensors)


class _Tensors:
    """An example as tensors."""

    def __init__(self, example: GraphExample):
        given = example.given
        self.nodes, self.messages, self.base = (_tensor(one) for one in (given.nodes, given.messages, given.base))
        self.question = None if given.question is None else _tensor(given.question)
        self.grades = torch.from_numpy(example.grades.copy())


def _tensor(values: NDArray[np.float64]) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32))


def _key(
    settings: GraphSettings, training: Sequence[GraphExample], loss: str, dropout: float, seed: int, chosen_by: str
) -> str:
    whole = hashlib.sha256(f"{settings} {loss} {dropout} {seed} {chosen_by}".encode())
    for one in training:
        _add(whole, one)
    return whole.hexdigest()


def choice_key(measure: str, held_out: Sequence[tuple[str, Mapping[str, int], GraphExample | None]]) -> str:
    """Hash of a measure on some topics: their ids, their judgements and their examples, None for one without rows."""
    whole = hashlib.sha256(measure.encode())
    for topic, grades, example in held_out:
        whole.update(json.dumps([topic, dict(grades)]).encode())
        if example is not None:
            _add(whole, example)
    return whole.hexdigest()


def _add(whole: hashlib._Hash, one: GraphExample) -> None:
    for values in (one.given.nodes, one.given.messages, one.given.base, one.given.question, one.grades):
        whole.update(b"-" if values is None else f"{values.shape}".encode() + values.tobytes())
