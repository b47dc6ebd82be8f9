"""The description of a node: names, types, texts, and its relations in both directions with the first neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.kb.nodes.paths import NodePaths, find_paths
from hybridkg.rdf.terms import RDF_TYPE, BlankNode, Literal, NamedNode, Node, Term, term_text

if TYPE_CHECKING:
    from hybridkg.kb.search.base import SearchedBase

MAX_PREDICATES = 100
"""Predicates that are read in each direction, those of most triples first."""

_LITERAL, _NODE = "isLiteral(?end)", "(isIRI(?end) || isBlank(?end))"
_OUT, _IN = "?node ?p ?end", "?end ?p ?node"


@dataclass(frozen=True)
class Neighbour:
    """A node at the other end of a relation, with its label, or its short IRI."""

    node: Node
    label: str

    def to_json(self) -> dict[str, Any]:
        """JSON data, with the term in N-Triples syntax."""
        return {"node": str(self.node), "label": self.label}


@dataclass(frozen=True)
class NodeRelation:
    """The triples of a predicate in one direction.

    Args:
        predicate: its IRI.
        name: the predicate as a query would write it.
        count: of the triples.
        neighbours: the first ones in the order of terms.
    """

    predicate: str
    name: str
    count: int
    neighbours: tuple[Neighbour, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        found = [one.to_json() for one in self.neighbours]
        return {"predicate": self.predicate, "count": self.count, "neighbours": found}


@dataclass(frozen=True)
class NodeText:
    """The texts of a property, or of a field of the text documents.

    Args:
        name: the predicate as a query would write it, or the field.
        source: the IRI of the predicate; empty for a field.
        count: of the texts.
        texts: the first ones.
    """

    name: str
    source: str
    count: int
    texts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON data."""
        kind = {"predicate": self.source} if self.source else {"field": self.name}
        return {**kind, "count": self.count, "texts": list(self.texts)}


@dataclass(frozen=True)
class NodeView:
    """A node for people.

    Args:
        node: the term.
        iri: the term as a query would write it.
        label: its label; empty for none.
        types: IRIs of its classes, the rarest first.
        short_types: these as a query would write them.
        texts: of its properties by predicate, then of its text documents by field.
        outgoing: its relations, without its types, those of most triples first.
        incoming: the relations that lead to it, likewise; for a class its instances, too.
        hidden: number of predicates of all three that are left out, as there are more than MAX_PREDICATES.
        paths: that were asked for; None for none.
    """

    node: Node
    iri: str
    label: str
    types: tuple[str, ...]
    short_types: tuple[str, ...]
    texts: tuple[NodeText, ...]
    outgoing: tuple[NodeRelation, ...]
    incoming: tuple[NodeRelation, ...]
    hidden: int = 0
    paths: NodePaths | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON data, with the term in N-Triples syntax."""
        found: dict[str, Any] = {
            "node": str(self.node),
            "label": self.label,
            "types": list(self.types),
            "texts": [one.to_json() for one in self.texts],
            "outgoing": [one.to_json() for one in self.outgoing],
            "incoming": [one.to_json() for one in self.incoming],
            "hidden_predicates": self.hidden,
        }
        return found if self.paths is None else {**found, "paths": self.paths.to_json()}

    def __str__(self) -> str:
        from hybridkg.kb.nodes.text import node_lines

        return "\n".join(node_lines(self))


def view_node(node: Node, base: SearchedBase, *, limit: int, paths: str = "") -> NodeView:
    """Describes a node of the graph.

    Args:
        node: the node.
        base: the knowledge base.
        limit: neighbours of each relation, texts of each property, and paths.
        paths: names of classes and predicates, divided by `>` (paths.py); empty for none.

    Raises:
        UnknownNameError: `paths` names what the graph does not have.
    """
    store = base.snapshot.store
    texts, hidden_texts = _groups(store, node, _OUT, _LITERAL, limit)
    outgoing, hidden_out = _groups(store, node, _OUT, _NODE, limit, without=RDF_TYPE)
    incoming, hidden_in = _groups(store, node, _IN, _NODE, limit)
    labels = base.labels_of([node, *(end for group in (*outgoing, *incoming) for end in group.ends)])
    types = base.types_of([node]).get(node, ())
    return NodeView(
        node,
        base.shortened(node),
        labels.get(node, ""),
        types,
        tuple(base.shortened(NamedNode(iri)) for iri in types),
        (
            *(
                NodeText(
                    base.shortened(NamedNode(one.predicate)), one.predicate, one.count, tuple(map(_text, one.ends))
                )
                for one in texts
            ),
            *_document_texts(node, base, limit),
        ),
        tuple(_relation(one, labels, base) for one in outgoing),
        tuple(_relation(one, labels, base) for one in incoming),
        hidden_texts + hidden_out + hidden_in,
        find_paths(node, paths, base, limit=limit) if paths else None,
    )


@dataclass(frozen=True)
class _Group:
    predicate: str
    count: int
    ends: tuple[Term, ...]


def _groups(
    store: GraphStore, node: Node, triple: str, test: str, limit: int, *, without: str = ""
) -> tuple[list[_Group], int]:
    """The triples of a node by predicate, and the number of predicates that are left out."""
    excluded = f" FILTER(?p != {NamedNode(without)})" if without else ""
    counting = f"SELECT ?node ?p (COUNT(*) AS ?n) WHERE {{ {triple} FILTER({test}){excluded} }} GROUP BY ?node ?p"
    counts = [
        (predicate.value, int(count.value))
        for _, predicate, count in store.select(counting, {"node": node}).rows
        if isinstance(predicate, NamedNode) and isinstance(count, Literal)
    ]
    counts.sort(key=lambda pair: (-pair[1], pair[0]))
    found = [
        _Group(
            predicate, count, tuple(_ends(store, node, triple.replace("?p", str(NamedNode(predicate))), test, limit))
        )
        for predicate, count in counts[:MAX_PREDICATES]
    ]
    return found, len(counts) - len(found)


def _ends(store: GraphStore, node: Node, triple: str, test: str, limit: int) -> Iterator[Term]:
    query = f"SELECT ?node ?end WHERE {{ {triple} FILTER({test}) }} ORDER BY ?end LIMIT {limit}"
    for _, end in store.select(query, {"node": node}).rows:
        if end is not None:
            yield end


def _relation(group: _Group, labels: dict[Node, str], base: SearchedBase) -> NodeRelation:
    ends = [end for end in group.ends if isinstance(end, NamedNode | BlankNode)]
    neighbours = tuple(Neighbour(end, labels.get(end) or base.shortened(end)) for end in ends)
    return NodeRelation(group.predicate, base.shortened(NamedNode(group.predicate)), group.count, neighbours)


def _text(term: Term) -> str:
    return term.value if isinstance(term, Literal) else term_text(term)


def _document_texts(node: Node, base: SearchedBase, limit: int) -> Sequence[NodeText]:
    documents = base.snapshot.documents
    found = {} if documents is None else documents.document(node)
    return [NodeText(field, "", len(texts), tuple(texts[:limit])) for field, texts in found.items() if texts]
