"""Entity links from a text to nodes of the graph, and the neighbourhood of a node as a model of entity linking reads
it.

Source: Hasibi, Balog and Bratsberg, "Exploiting Entity Linking in Queries for Entity Retrieval" (ICTIR 2016): an entity
is not only its words but also the set of nodes that it points to, one field per predicate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.text_index import Ids
from hybridkg.rdf.terms import NamedNode


@dataclass(frozen=True)
class EntityLink:
    """A node that a text mentions.

    Args:
        node: its IRI, without angle brackets; blank nodes cannot be linked.
        confidence: above 0 and at most 1.

    Raises:
        TextQueryError: the IRI is not absolute, or the confidence is out of range.

    >>> EntityLink("http://e/film", 0.5).confidence
    0.5
    """

    node: str
    confidence: float = 1.0

    def __post_init__(self) -> None:
        try:
            NamedNode(self.node)
        except ValueError as e:
            raise TextQueryError(
                f"a link leads to {self.node!r}, which is not an absolute IRI",
                hint="write <http://...>, optionally followed by a number: <http://...> 0.8",
            ) from e
        if not 0 < self.confidence <= 1:
            raise TextQueryError(
                f"the link to <{self.node}> has confidence {self.confidence:g}; it must be above 0 and at most 1"
            )


@dataclass(frozen=True)
class LinkedField:
    """A predicate by which entities point to one node.

    The counts are those of the whole graph that queries see (the default graph, or the union of all), so that `df /
    entities` is a share of one population. Only nodes count as values, not literals.

    Args:
        predicate: its IRI; empty for the entity itself, which is a field of its own.
        ids: uint32[m], ascending, distinct: the entities of the text index that have the node as a value.
        df: subjects that have the node as a value; at least m.
        entities: subjects that have any node as a value; at least `df`.
        values: (subject, node) pairs of the predicate: the length of the field in the whole collection.
    """

    predicate: str
    ids: Ids = field(compare=False)
    df: int = field(compare=False)
    entities: int = field(compare=False)
    values: int = field(compare=False)


@dataclass(frozen=True)
class LinkedNode:
    """A link with the fields of its node. Equality ignores the fields: a link is part of a query.

    Args:
        link: node and confidence.
        fields: by descending df, then descending predicate; empty where nothing points to the node.
    """

    link: EntityLink
    fields: tuple[LinkedField, ...] = field(compare=False)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """p(f|e) of each field as in PRMS, [cf(e,f) / |C_f|] P(f) normalised to sum 1, P(f) by how many have the field.

        A node is a value of an entity once, so cf is df, and P(f) = entities / sum of the entities.

        >>> import numpy as np
        >>> none = np.zeros(0, np.uint32)
        >>> fields = LinkedField("x:p", none, df=6, entities=10, values=20), LinkedField("x:q", none, 1, 5, 5)
        >>> LinkedNode(EntityLink("x:e"), fields).shares
        (0.75, 0.25)
        """
        weights = [f.df * f.entities / f.values for f in self.fields]
        return tuple(weight / sum(weights) for weight in weights)


class EntityLinker(Protocol):
    """Links the text of a MATCH to nodes. Safe to use from many threads."""

    def linked(
        self, text: str, given: str | None, *, language: str = "", syntax: bool = True
    ) -> tuple[LinkedNode, ...]:
        """The nodes with their fields.

        Args:
            text: of the MATCH.
            given: the argument `links`: nodes with confidences, or a file; None to link the text.
            language: tag of the text.
            syntax: whether the text is a query string.

        Raises:
            HybridkgError: `given` is no list of links, or the file cannot be read.
        """
