"""A generation as the interpretation of questions reads it (hybridkg.asking)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hybridkg.asking.base import AskedBase
from hybridkg.errors import IndexMissingError
from hybridkg.kb.labels import Labels
from hybridkg.rdf.terms import Node

if TYPE_CHECKING:
    from hybridkg.kb.snapshot import Snapshot


def asked_base(snapshot: Snapshot) -> AskedBase:
    """The knowledge base as the interpretation of questions sees it.

    Raises:
        IndexMissingError: there is no text index, no projection or no statistics of this graph.
    """
    text, profile, nodes, graph = snapshot.text, snapshot.profile, snapshot.nodes, snapshot.graph
    statistics = snapshot.statistics
    if text is None or profile is None or nodes is None or graph is None or statistics is None:
        raise IndexMissingError(
            "questions need the indexes of the graph as it is now", hint="build them: hybridkg index KB"
        )
    own = [field.name for field in profile.fields if field.text != "labels"]

    def lengths(some: Sequence[Node]) -> list[int]:
        return [sum(len(value) for _, value, _ in texts) for texts in snapshot.texts(some, own)]

    labels = Labels(snapshot.store, profile.labels)
    return AskedBase(
        graph,
        text,
        profile,
        statistics.classes,
        statistics.predicates,
        nodes.nodes,
        labels,
        labels.all_of,
        lengths,
        has_vectors=snapshot.vectors is not None,
    )
