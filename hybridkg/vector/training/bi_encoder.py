"""The training task of a bi-encoder: DPR with in-batch negatives, ANCE with hard ones of its own. Imports torch.

Karpukhin et al., "Dense passage retrieval" (EMNLP 2020): the documents of the other questions of a batch are negatives,
and optionally wrong ones that BM25 finds. Xiong et al., "Approximate nearest neighbor negative contrastive learning"
(ICLR 2021): wrong documents among the first ones of the model itself, here renewed at the start of each epoch.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.training_task import Batch, Batches
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.vector.training.contrastive import SCALE, contrastive_loss
from hybridkg.vector.training.pairs import Numbers, TrainingPairs, drawn, reciprocal_rank, wrong_of

ENCODED_AT_ONCE, SCORED_AT_ONCE = 64, 256
"""Texts, and questions: what a block takes is bounded, whatever the size of the collection."""


class TrainableEncoder(Protocol):
    """An encoder whose parameters are trained."""

    @property
    def digest(self) -> str:
        """Hash of its files and settings before the training."""

    def parameters(self) -> Mapping[str, Any]:
        """As in TrainingTask."""

    def tokenised(self, texts: Sequence[str], *, are_questions: bool) -> list[Numbers]:
        """int64[tokens] of each text, with everything that the model adds, cut to its limit."""

    def vectors(self, tokens: Sequence[Numbers], *, training: bool) -> Any:
        """float32[n, d], differentiable, of length 1 or all zeros; `training` turns dropout on."""

    def save(self, folder: Path) -> None:
        """Writes a sentence-transformers model into an empty folder."""


@dataclass(frozen=True)
class NegativeSettings:
    """The wrong documents of each question, besides those of the other questions of its batch.

    Args:
        mined: number of hard ones of an epoch, from the first `depth` of the live model.
        given: number of given ones of an epoch.
        depth: see `mined`.
    """

    mined: int = 0
    given: int = 0
    depth: int = 100


class BiEncoderTask:
    """A TrainingTask.

    Args:
        encoder: whose parameters are trained.
        pairs: questions and documents.
        negatives: wrong documents.
        batch: questions of a step.
        scale: factor of the cosine.
        progress: counts documents while they are encoded.
    """

    def __init__(
        self,
        encoder: TrainableEncoder,
        pairs: TrainingPairs,
        negatives: NegativeSettings,
        *,
        batch: int,
        scale: float = SCALE,
        progress: Progress = SILENT,
    ):
        self._encoder, self._pairs, self._negatives = encoder, pairs, negatives
        self._batch, self._scale, self._progress = min(batch, len(pairs.training)), scale, progress
        self._documents = encoder.tokenised(pairs.documents, are_questions=False)
        self._training = encoder.tokenised(pairs.training.texts, are_questions=True)
        self._held_out = encoder.tokenised(pairs.held_out.texts, are_questions=True)
        self._live: NDArray[np.float32] | None = None

    @property
    def key(self) -> str:
        """Hash of texts, judgements, base and options."""
        options = [self._encoder.digest, asdict(self._negatives), self._batch, self._scale]
        return hashlib.sha256((json.dumps(options) + self._pairs.key()).encode()).hexdigest()

    @property
    def steps(self) -> int:
        return math.ceil(len(self._training) / self._batch)

    def parameters(self) -> Mapping[str, Any]:
        return self._encoder.parameters()

    def batches(self, epoch: int, rng: np.random.Generator) -> Batches:
        """Each question once, with one of its right documents and its wrong ones, all by chance."""
        own, questions, negatives = self._pairs.training, len(self._training), self._negatives
        order = rng.permutation(questions)
        right = np.array([rng.choice(own.rights[i]) for i in order])
        mined = self._hard() if negatives.mined else [np.zeros(0, np.int64)] * questions
        given = own.given or [np.zeros(0, np.int64)] * questions
        wrong = np.array(
            [
                np.concatenate([drawn(mined[i], negatives.mined, rng), drawn(given[i], negatives.given, rng)])
                for i in order
            ]
        ).reshape(questions, -1)
        return {name: self._in_steps(rows) for name, rows in (("question", order), ("right", right), ("wrong", wrong))}

    def loss(self, batch: Batch) -> Any:
        """The contrastive loss of a batch."""
        self._live = None
        rights = self._pairs.training.rights
        questions = batch["question"][batch["question"] >= 0]
        right = batch["right"][: len(questions)]
        documents = sorted_distinct(np.concatenate([right, batch["wrong"][: len(questions)].ravel()]))
        documents = documents[documents >= 0]
        target = np.searchsorted(documents, right)
        masked = np.array([np.isin(documents, rights[i]) for i in questions])
        masked[np.arange(len(questions)), target] = False
        return contrastive_loss(
            self._encoder.vectors([self._training[i] for i in questions], training=True),
            self._encoder.vectors([self._documents[i] for i in documents], training=True),
            torch.from_numpy(target),
            torch.from_numpy(masked),
            self._scale,
        )

    def evaluate(self) -> float:
        """The mean reciprocal rank of the held-out questions over all documents."""
        rights = self._pairs.held_out.rights
        ranks = [reciprocal_rank(row, own) for row, own in zip(self._scores(self._held_out), rights, strict=True)]
        return math.fsum(ranks) / len(rights)

    def _hard(self) -> list[Numbers]:
        """The wrong documents among the first ones of the live model, ascending, for each training question."""
        depth, found = min(self._negatives.depth, len(self._documents)), []
        for row, own in zip(self._scores(self._training), self._pairs.training.rights, strict=True):
            found.append(wrong_of(np.sort(np.argpartition(-row, depth - 1)[:depth]), own))
        return found

    def _scores(self, questions: Sequence[Numbers]) -> Iterator[NDArray[np.float32]]:
        """float32[documents] of each question by the live model; documents are encoded once between two steps."""
        if self._live is None:
            self._live = self._encoded(self._documents, "encoding documents")
        documents = torch.from_numpy(self._live).T
        encoded = torch.from_numpy(self._encoded(questions, ""))
        for first in range(0, len(questions), SCORED_AT_ONCE):
            yield from (encoded[first : first + SCORED_AT_ONCE] @ documents).numpy()

    def _encoded(self, tokens: Sequence[Numbers], label: str) -> NDArray[np.float32]:
        """float32[n, d]; texts of similar length are encoded together, so that little is padded."""
        order = sorted(range(len(tokens)), key=lambda i: len(tokens[i]))
        if label:
            self._progress.start(label, len(tokens))
        parts = []
        with torch.no_grad():
            for first in range(0, len(order), ENCODED_AT_ONCE):
                some = order[first : first + ENCODED_AT_ONCE]
                parts.append(self._encoder.vectors([tokens[i] for i in some], training=False).numpy())
                if label:
                    self._progress.advance(len(some), len(some))
        if label:
            self._progress.done(len(tokens))
        vectors = np.zeros((len(tokens), parts[0].shape[1]), np.float32)
        vectors[order] = np.concatenate(parts)
        return vectors

    def _in_steps(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[steps, batch, ...], the last step filled with -1."""
        filled = np.full((self.steps * self._batch, *rows.shape[1:]), -1)
        filled[: len(rows)] = rows
        return filled.reshape(self.steps, self._batch, *rows.shape[1:])
