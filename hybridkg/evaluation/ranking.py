"""Ranking of topics over a knowledge base by a text query; the text of a topic is plain words."""

from __future__ import annotations

from collections.abc import Mapping

from hybridkg.config.model_parameters import WEIGHT, ModelParameters
from hybridkg.errors import IndexMissingError
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.interfaces.text_index import FieldChoice, IndexRequest, TextQuery
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import NamedNode

DEPTH = 1000
"""Default maximum of ranked entities for a topic."""


def query_of(parameters: ModelParameters) -> TextQuery:
    """The query without text that ranks by these parameters, like `USING model(@file)`.

    >>> query_of(ModelParameters("bm25f", {"k1": 1.5}, {"title": {"weight": 3.0}})).fields[0].weight
    3.0
    """
    fields = tuple(
        FieldChoice(name, own.get(WEIGHT), tuple((key, value) for key, value in own.items() if key != WEIGHT))
        for name, own in parameters.fields.items()
    )
    arguments = tuple(parameters.arguments.items())
    return TextQuery("", syntax=False, fields=fields, model=parameters.model, arguments=arguments)


def rank(
    kb: KnowledgeBase, topics: Topics, query: TextQuery | Mapping[str, TextQuery], *, k: int = DEPTH, name: str = ""
) -> Run:
    """The run with the best entities of each topic, by IRI (`_:label` for a blank node).

    Args:
        kb: an indexed knowledge base.
        topics: texts of plain words, never operators.
        query: model, fields and arguments, its text unused; or one by topic, which omits other topics.
        k: maximum length of a ranking; it is empty without a match.
        name: of the run; default: the model's.

    Raises:
        IndexMissingError: there is no text index.
        UnknownNameError, TextQueryError: the query does not fit the index.
    """
    index, nodes = snapshot_of(kb).text, snapshot_of(kb).nodes
    if index is None or nodes is None:
        raise IndexMissingError("the knowledge base has no text index", hint="build it: hybridkg index KB")
    queries = query if isinstance(query, Mapping) else dict.fromkeys(topics.texts, query)
    ranked = [topic for topic in topics.texts if topic in queries]
    requests = [IndexRequest(queries[topic]._replace(text=topics.texts[topic], syntax=False), k) for topic in ranked]
    rankings = {}
    for topic, (ids, scores) in zip(ranked, index.batch(requests), strict=True):
        documents = [node.value if isinstance(node, NamedNode) else f"_:{node.value}" for node in nodes.nodes(ids)]
        rankings[topic] = tuple(zip(documents, scores.tolist(), strict=True))
    return Run(name or (requests[0].query.model if requests else "run"), rankings)
