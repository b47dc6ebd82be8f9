"""Judged topics over a text index: the scoring task of each, and its judged entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hybridkg.config.model_parameters import WEIGHT, ModelParameters
from hybridkg.errors import IndexMissingError, ParameterError
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.topics import Topics
from hybridkg.interfaces.ranking_model import ScoringTask
from hybridkg.interfaces.text_index import Ids, TextQuery
from hybridkg.kb.snapshot import Snapshot
from hybridkg.rdf.terms import BlankNode, NamedNode, Node


@dataclass(frozen=True)
class JudgedTopic:
    """A topic with its scoring task and judgements.

    Args:
        ids: uint32[judged], the judged entities that are in the index.
        grades: int64[judged].
        order: int64[judged], breaks ties.
    """

    topic: str
    task: ScoringTask
    ids: Ids
    grades: NDArray[np.int64]
    order: NDArray[np.int64]


def gather(snapshot: Snapshot, topics: Topics, qrels: Qrels, query: TextQuery) -> list[JudgedTopic]:
    """The judged topics, in the order of their file.

    Raises:
        IndexMissingError: there is no text index.
        ParameterError: no topic is judged, or no judged entity is in the knowledge base.
    """
    index, nodes = snapshot.text, snapshot.nodes
    if index is None or nodes is None:
        raise IndexMissingError("the knowledge base has no text index", hint="build it: hybridkg index KB")
    index.check(query)
    gathered = []
    for topic, text in topics.texts.items():
        judged = qrels.grades.get(topic)
        if judged is None:
            continue
        places = nodes.find_many([node_of(document) for document in judged])
        ids = places[places >= 0].astype(np.uint32)
        grades = np.fromiter(judged.values(), np.int64, len(judged))[places >= 0]
        task = index.task(query._replace(text=text, syntax=False))
        gathered.append(JudgedTopic(topic, task, ids, grades, nodes.rank(ids).astype(np.int64)))
    if not gathered:
        raise ParameterError("no topic is judged", hint="the first column of the judgements must be the topics' ids")
    if not any(len(topic.ids) for topic in gathered):
        document = next(iter(qrels.grades[gathered[0].topic]))
        raise ParameterError(
            "no judged document is in the knowledge base",
            hint=f"documents are IRIs of its entities; the first one judged is {document!r}",
        )
    return gathered


def node_of(document: str) -> Node:
    """The node of a document id: an IRI or a blank node `_:label`; an invalid id gets an IRI that does not occur."""
    try:
        return BlankNode(document[2:]) if document.startswith("_:") else NamedNode(document)
    except ValueError:
        return NamedNode("x:no-node")


def with_parameters(task: ScoringTask, parameters: ModelParameters) -> ScoringTask:
    """The task under other parameters, without another request to the index."""
    fields = []
    for f in task.fields:
        own = dict(parameters.fields.get(f.name, {}))
        fields.append(replace(f, weight=own.pop(WEIGHT, f.weight), arguments=own))
    return replace(
        task,
        fields=tuple(fields),
        arguments={name: float(value) for name, value in parameters.arguments.items() if not isinstance(value, str)},
        choices={name: value for name, value in parameters.arguments.items() if isinstance(value, str)},
    )


def places_of(topics: Sequence[JudgedTopic], wanted: Sequence[str]) -> list[int]:
    """Indexes of some topics, in the order of `topics`."""
    chosen = set(wanted)
    return [i for i, topic in enumerate(topics) if topic.topic in chosen]
