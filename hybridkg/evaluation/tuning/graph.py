"""Training of the reranker `graph` from judged topics.

The first `top` rows of a user's query become a graph for each topic. The network is trained on training topics, and the
epoch with the highest measure on held-out topics is kept: the untrained network is one of them, which with a base
leaves the order as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.errors import ParameterError, UnknownNameError
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.folds import Fold
from hybridkg.evaluation.tuning.judged_rows import FoundRows, found_rows, rows_query
from hybridkg.evaluation.tuning.plan import Training, plan
from hybridkg.extras import needs_extra
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.ranking.rerankers.document_graph import RARE
from hybridkg.ranking.rerankers.edges import EDGE_SOURCES
from hybridkg.ranking.rerankers.graph_inputs import check_inputs, graph_input, vectors_of
from hybridkg.ranking.rerankers.graph_layers import scores
from hybridkg.ranking.rerankers.graph_model import (
    DOCUMENTS,
    FEATURES,
    GCN,
    INPUTS,
    NETWORKS,
    NODES,
    GraphModel,
    GraphSettings,
)
from hybridkg.ranking.rerankers.row_features import names_of
from hybridkg.registry import did_you_mean
from hybridkg.vector.training.checkpoint import remove_empty

if TYPE_CHECKING:
    from hybridkg.evaluation.tuning.learners.graph_torch import GraphExample

FEATURE = "training of a graph network"

HELD_OUT = 5
"""Every fifth training topic is held out, to choose the epoch."""

MAX_ROWS = 1_000
"""Rows of a graph."""


@dataclass(frozen=True)
class GraphOptions:
    """Options of a training.

    Args:
        learner: `gcn`, or `mlp` without messages.
        inputs: `features` or `vector`.
        nodes: `documents`, or `question` for nodes of the question and of what it names.
        edges: sources of edges.
        loss: `ranking` or `cross-entropy`.
        hidden: width of the inner layer.
        dropout: 0..1.
        epochs: passes over the training topics.
        rate: learning rate.
        residual: whether the score of the rows is added.
        weight: of an item, `rare`, `count` or `none`.
        mean: whether messages are divided by the number of neighbours.
        seed: of the first weights and the order of topics.
    """

    learner: str = GCN
    inputs: str = FEATURES
    nodes: str = DOCUMENTS
    edges: tuple[str, ...] = ("graph",)
    loss: str = "ranking"
    hidden: int = 8
    dropout: float = 0.1
    epochs: int = 30
    rate: float = 1e-3
    residual: bool = True
    weight: str = RARE
    mean: bool = False
    seed: int = 0


@dataclass(frozen=True)
class GraphOutcome:
    """The outcome of a training.

    Args:
        training: its topics.
        held_out: the topics that chose the epoch.
        model: the network.
        epoch: the chosen one; 0 for the untrained network.
        values: measure on the held-out topics, untrained and after each epoch.
        before: measure of the query's order on each test topic; without test topics, on all training topics.
        after: that of the network's order.
    """

    training: Training
    held_out: tuple[str, ...]
    model: GraphModel
    epoch: int
    values: tuple[float, ...]
    before: Mapping[str, float]
    after: Mapping[str, float]


class GraphTuning:
    """The graphs of judged topics, shared by trainings.

    Args:
        kb: an indexed knowledge base.
        topics: texts; topics without a judgement are ignored.
        qrels: judgements.
        query: with `$text` and RANK BY; the first column with an entity is judged.
        options: of the network and its training.
        held_out: topics that choose the epoch of every training, and are not learned from; default: every fifth
            topic of a training.
        top: number of reordered rows, 2 to MAX_ROWS.
        measure: chooses the epoch.
        depth: maximum rows of a ranking.
        progress: counts topics.

    Raises:
        MissingExtraError: torch is not installed.
        ParameterError: no topic is judged, or the rows have no relevant entity.
        UnknownNameError: no such learner, input, source of edges or loss.
        HybridkgError: the query is invalid, or has a RERANK already.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        topics: Topics,
        qrels: Qrels,
        query: str,
        options: GraphOptions = GraphOptions(),
        *,
        held_out: Topics | None = None,
        top: int = 100,
        measure: str = "ndcg@10",
        depth: int = 1000,
        progress: Progress = SILENT,
    ):
        with needs_extra("models", FEATURE):
            from hybridkg.evaluation.tuning.learners.graph_torch import LOSSES, GraphExample
        _check(options, list(LOSSES))
        self.options, self._qrels, self._measure = options, qrels, parse_measure(measure)
        prepared = rows_query(kb, query)
        chosen = {} if held_out is None else held_out.texts
        self.topics = tuple(topic for topic in topics.texts if topic in qrels.grades and topic not in chosen)
        self.held_out = None if held_out is None else tuple(topic for topic in chosen if topic in qrels.grades)
        if not self.topics:
            raise ParameterError(
                "no topic is left to learn from",
                hint="a topic needs a judgement, and one that is held out is not learned from",
            )
        if self.held_out == ():
            raise ParameterError("no topic that is held out has a judgement", hint="they choose the epoch")
        texts = {**topics.texts, **chosen}
        read = [*self.topics, *(self.held_out or ())]
        progress.start("reading the rows of topics", len(read))
        self.rows: dict[str, FoundRows] = {}
        for topic in read:
            self.rows[topic] = found_rows(kb, prepared, texts[topic], qrels.grades[topic], top, depth)
            progress.advance(1, 1)
        progress.done(len(read))
        found = {topic: rows for topic, rows in self.rows.items() if len(rows.candidates)}
        if not any(rows.grades.any() for rows in found.values()):
            raise ParameterError(
                "nothing that is judged relevant is among the rows of the query",
                hint="documents are IRIs of its first column; are topics and judgements those of this knowledge base?",
            )
        self.settings = _settings(options, list(found.values()))
        self._examples: dict[str, GraphExample] = {}
        progress.start("making the graphs of topics", len(found))
        for topic, rows in found.items():
            check_inputs(self.settings, rows.candidates, rows.around)
            self._examples[topic] = GraphExample(graph_input(self.settings, rows.candidates, rows.around), rows.grades)
            progress.advance(1, 1)
        progress.done(len(found))
        self.before = self._values({topic: rows.documents for topic, rows in self.rows.items()})

    def by(self, options: GraphOptions) -> GraphTuning:
        """The same rows and graphs for another training; ParameterError if the network is of other inputs or edges."""
        tuning = copy.copy(self)
        tuning.options = options
        tuning.settings = replace(self.settings, learner=options.learner, hidden=options.hidden)
        same = ("inputs", "nodes", "edges", "weight", "mean", "residual")
        if options.learner != self.options.learner or any(
            getattr(options, name) != getattr(self.options, name) for name in same
        ):
            raise ParameterError("the graphs of these rows are those of another network", hint="make a GraphTuning")
        return tuning

    def run(
        self,
        folds: Sequence[Fold] | None = None,
        categories: Mapping[str, str] | None = None,
        progress: Progress = SILENT,
        checkpoints: Path | None = None,
    ) -> tuple[GraphOutcome, ...]:
        """One training, or one for each category and fold.

        Args:
            folds: of topics.
            categories: of topics.
            progress: counts steps.
            checkpoints: folder of the checkpoints of an interrupted run; None for none.

        Raises:
            ParameterError: a topic has no category, or a fold has no training topic.
            TrainingError: there is nothing to learn from.
        """
        outcomes = []
        try:
            for training in plan(self.topics, folds, categories):
                held_out = training.training[::HELD_OUT] if len(training.training) > 1 else ()
                held_out = held_out if self.held_out is None else self.held_out
                folder = None if checkpoints is None else checkpoints / (training.name or "graph")
                outcomes.append(self.train(training, held_out, progress, folder))
        finally:
            if checkpoints is not None:
                remove_empty(checkpoints)
        return tuple(outcomes)

    def train(
        self, training: Training, held_out: Sequence[str], progress: Progress = SILENT, folder: Path | None = None
    ) -> GraphOutcome:
        """One training with chosen held-out topics, which it does not learn from."""
        with needs_extra("models", FEATURE):
            from hybridkg.evaluation.tuning.learners.graph_torch import GraphTraining, choice_key
            from hybridkg.vector.training.trainer import train
        from hybridkg.vector.training.schedule import OptimizerSettings

        options = self.options
        if not held_out:
            raise ParameterError(
                f"the training {training.name!r} has no topic that is held out to choose the epoch"
                if training.name
                else "there is no topic that is held out to choose the epoch",
                hint="give more topics, or the ones that are held out: --held-out FILE",
            )
        learned_from = [topic for topic in training.training if topic not in set(held_out)]
        chosen = [(topic, self._qrels.grades[topic], self._examples.get(topic)) for topic in held_out]
        task = GraphTraining(
            self.settings,
            [self._examples[topic] for topic in learned_from if topic in self._examples],
            lambda model: mean(self._values(self.ranked(model, held_out))),
            loss=options.loss,
            dropout=options.dropout,
            seed=options.seed,
            chosen_by=choice_key(self._measure.name, chosen),
        )
        if not task.examples:
            raise ParameterError(
                f"the training {training.name!r} has nothing to learn from: no topic has rows of different grades",
                hint="more rows (--top), or a query that finds more",
            )
        schedule = OptimizerSettings(options.epochs, options.rate, seed=options.seed)
        learned = train(task, schedule, folder=folder, progress=progress)
        model = task.model()
        tested = training.testing or training.training
        after = self._values(self.ranked(model, tested))
        before = {topic: self.before[topic] for topic in tested}
        return GraphOutcome(training, tuple(held_out), model, learned.best, learned.values, before, after)

    def ranked(self, model: GraphModel, topics: Sequence[str]) -> dict[str, tuple[tuple[str, float], ...]]:
        """The rows of topics in the order of a network."""
        found = {}
        for topic in topics:
            rows, example = self.rows[topic], self._examples.get(topic)
            found[topic] = rows.documents if example is None else rows.ranked(scores(model, example.given))
        return found

    def run_of(self, outcomes: Sequence[GraphOutcome], name: str) -> Run:
        """The run of the test topics, each by the network of its fold; without folds, of the training topics."""
        rankings: dict[str, tuple[tuple[str, float], ...]] = {}
        for one in outcomes:
            rankings |= self.ranked(one.model, one.training.testing or one.training.training)
        return Run(name, {topic: rankings[topic] for topic in self.topics if topic in rankings})

    def _values(self, rankings: Mapping[str, tuple[tuple[str, float], ...]]) -> dict[str, float]:
        qrels = Qrels({topic: self._qrels.grades[topic] for topic in rankings})
        (values,) = evaluate(qrels, Run("rows", rankings), [self._measure]).values()
        return dict(values)


def _settings(options: GraphOptions, found: Sequence[FoundRows]) -> GraphSettings:
    """The settings of a network for the rows of some topics, whose base is the score that ranks those of all."""
    around, candidates = found[0].around, found[0].candidates
    ranked_by = set.intersection(*(set(rows.ranked_by) for rows in found))
    own = GraphSettings(
        learner=options.learner,
        inputs=options.inputs,
        nodes=options.nodes,
        edges=options.edges if options.learner == GCN else (),
        weight=options.weight,
        mean=options.mean,
        hidden=options.hidden,
        base=min(ranked_by, default="") if options.residual else "",
    )
    if options.inputs == FEATURES:
        return replace(own, columns=names_of(around.text, list(candidates.scores)))
    vectors = vectors_of(around)
    return replace(own, encoder=vectors.made_by, dimensions=vectors.dimensions)


def _check(options: GraphOptions, losses: Sequence[str]) -> None:
    known = {"learner": NETWORKS, "inputs": INPUTS, "nodes": NODES, "loss": losses}
    for name, words in known.items():
        value = getattr(options, name)
        if value not in words:
            raise UnknownNameError(
                f"no {name} {value!r} of a graph network; known: {', '.join(words)}",
                hint=did_you_mean(value, list(words)),
            )
    for source in options.edges:
        EDGE_SOURCES.get(source)
    if len(set(options.edges)) < len(options.edges):
        raise ParameterError(f"a source of edges is named twice: {', '.join(options.edges)}")


def to_json(outcomes: Sequence[GraphOutcome], measure: str, top: int) -> dict[str, Any]:
    """The outcomes as JSON values."""
    before = {topic: value for one in outcomes for topic, value in one.before.items()}
    after = {topic: value for one in outcomes for topic, value in one.after.items()}
    return {
        "model": "graph",
        "measure": measure,
        "top": top,
        "trainings": [
            {
                "name": one.training.name,
                "training": list(one.training.training),
                "testing": list(one.training.testing),
                "held_out": list(one.held_out),
                "epoch": one.epoch,
                "held_out_values": [float(value) for value in np.round(one.values, 6)],
                "before": mean(one.before),
                "after": mean(one.after),
            }
            for one in outcomes
        ],
        "before": before,
        "after": after,
        "mean": {"before": mean(before), "after": mean(after)},
    }
