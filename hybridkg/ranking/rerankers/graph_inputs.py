"""The graph of a question's candidates, as a graph network reads it.

With nodes `question` there are further nodes, after QA-GNN (Yasunaga et al., NAACL 2021) as STaRK uses it: the nodes
that the question names (anchors), and the question itself, which is linked with each candidate (channel
`question.candidates`) and each anchor (`question.anchors`). A candidate that is an anchor is one node. Row features of
nodes that are no candidates are 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import RerankerError
from hybridkg.interfaces.reranker import RerankCandidates, Surroundings
from hybridkg.interfaces.vector_index import VectorIndex
from hybridkg.ranking.rerankers.document_graph import NONE, DocumentGraph, document_graph, normalised
from hybridkg.ranking.rerankers.edges import EDGE_SOURCES, DocumentEdges
from hybridkg.ranking.rerankers.graph_layers import GraphInput
from hybridkg.ranking.rerankers.graph_model import FEATURES, GCN, KINDS, QUESTION, GraphSettings
from hybridkg.ranking.rerankers.row_features import RowFeatures, names_of, unit
from hybridkg.rdf.terms import NamedNode, Node
from hybridkg.registry import did_you_mean

Floats = NDArray[np.float64]


def check_inputs(settings: GraphSettings, candidates: RerankCandidates, around: Surroundings) -> None:
    """Checks that candidates have what a network reads.

    Raises:
        RerankerError: they do not.
    """
    available = names_of(around.text, list(candidates.scores))
    unknown = next((name for name in settings.columns if name not in available), "")
    if settings.base and settings.base not in candidates.scores:
        unknown = f"score {settings.base}"
    if unknown:
        raise RerankerError(
            f"the graph network is for a feature {unknown!r}, which these rows do not have",
            hint=did_you_mean(unknown, list(available))
            or "the query, its scores and the fields must be those of the training",
        )
    if settings.inputs != FEATURES:
        vectors = vectors_of(around)
        if vectors.made_by != settings.encoder:
            raise RerankerError(
                f"the graph network is for vectors of {settings.encoder!r}, and those here are of {vectors.made_by!r}",
                hint="hybridkg tune --model graph learns one for these",
            )


def vectors_of(around: Surroundings) -> VectorIndex:
    """The vector index; raises RerankerError without one."""
    if around.text is None or around.text.vectors is None:
        raise RerankerError(
            "the graph network reads vectors, and this knowledge base has none",
            hint="hybridkg index KB --encoder lsa makes some; or --inputs features",
        )
    return around.text.vectors


def graph_input(settings: GraphSettings, candidates: RerankCandidates, around: Surroundings) -> GraphInput:
    """The graph of candidates that share one question."""
    anchors = _anchors(settings, candidates, around)
    nodes: list[Node] = list(dict.fromkeys([*candidates.nodes, *anchors]))
    with_question = settings.nodes == QUESTION
    size = len(nodes) + (1 if with_question else 0)
    width = settings.width - (len(KINDS) if with_question else 0)
    inputs, question = np.zeros((size, width)), None
    if settings.inputs == FEATURES:
        inputs[: len(candidates)] = RowFeatures(candidates, around).matrix(settings.columns)
    else:
        index = vectors_of(around)
        ids = np.full(len(nodes), -1)
        ids[: len(candidates)] = candidates.ids
        ids[len(candidates) :] = _entity_ids(nodes[len(candidates) :], around)
        inputs[: len(nodes)] = index.vectors_of(ids)
        question = index.encoder.queries([candidates.queries[0]])[0].astype(np.float64)
        if with_question:
            inputs[-1] = question
    if with_question:
        kinds = np.zeros((size, len(KINDS)))
        kinds[: len(candidates), 0] = 1.0
        kinds[[nodes.index(anchor) for anchor in anchors], 1] = 1.0
        kinds[-1, 2] = 1.0
        inputs = np.concatenate([inputs, kinds], axis=1)
    messages = np.zeros((size, size))
    if settings.learner == GCN:
        graph = _graph(settings, nodes, len(candidates), anchors, around)
        messages = graph.messages(mean=settings.mean, weighted=settings.weight != NONE)
    base = unit(candidates.scores[settings.base]) if settings.base else np.zeros(len(candidates))
    return GraphInput(inputs, messages, base, question)


def _graph(
    settings: GraphSettings, nodes: Sequence[Node], candidates: int, anchors: Sequence[Node], around: Surroundings
) -> DocumentGraph:
    items = []
    for name in settings.edges:
        source: DocumentEdges = EDGE_SOURCES.get(name)
        items += source.items(nodes, around)
        around.check()
    if settings.nodes != QUESTION:
        return document_graph(items, len(nodes), settings.weight)
    made = document_graph(items, len(nodes) + 1, settings.weight)
    own = []
    for places in (range(candidates), [nodes.index(anchor) for anchor in anchors]):
        weights = np.zeros((made.size, made.size))
        weights[-1, list(places)] = weights[list(places), -1] = 1.0
        own.append(normalised(weights))
    return DocumentGraph(np.concatenate([made.edges, np.stack(own)]))


def _anchors(settings: GraphSettings, candidates: RerankCandidates, around: Surroundings) -> Sequence[NamedNode]:
    if settings.nodes != QUESTION:
        return ()
    if around.anchors is None:
        raise RerankerError("the graph network reads the nodes that a question names, and nothing here finds them")
    return around.anchors(candidates.queries[0])


def _entity_ids(nodes: Sequence[Node], around: Surroundings) -> NDArray[np.int64]:
    """Ids in the indexes; -1 for a node that is not in them, or where the projection is missing."""
    if around.graph is None or not nodes:
        return np.full(len(nodes), -1)
    ids = around.graph.find(list(nodes))
    return np.where(ids < around.graph.n_entities, ids, -1)
