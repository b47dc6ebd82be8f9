"""The reference builder: a projection built by sorting Python objects, the oracle of the real builder."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from hybridkg.graph.columns import Adjacency, LiteralPart, PredicateColumns, ProjectionColumns
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS, LiteralKey, literal_key
from hybridkg.interfaces.graph_index import UNBOUND, Ids
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts, tagged
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term, Triple


class ListedTerms:
    """A TermTable over Python lists: entities in id order, other nodes and canonical literals in any order.

    `late` says which literals are a tail; without it there is none.
    """

    def __init__(
        self,
        entities: Sequence[Node],
        others: Iterable[Node],
        literals: Iterable[Literal],
        late: Callable[[Literal], bool] | None = None,
    ):
        rest, keyed = (
            sorted(set(others) - set(entities), key=_node_key),
            sorted((literal_key(literal), literal) for literal in set(literals)),
        )
        self.n_entities, self.n_nodes = len(entities), len(entities) + len(rest)
        base = [pair for pair in keyed if late is None or not late(pair[1])]
        self.parts: tuple[LiteralPart, ...] = (_part(base, self.n_nodes),)
        self._terms: list[Term] = [*entities, *rest, *(literal for _, literal in base)]
        if late is not None:
            tail = [pair for pair in keyed if late(pair[1])]
            before = [self.n_nodes + bisect_left(base, pair) for pair in tail]
            self.parts += (_part(tail, len(self._terms), np.array(before, np.uint32)),)
            self._terms += [literal for _, literal in tail]
        self._ids = {term: i for i, term in enumerate(self._terms)}
        self.n_terms = len(self._terms)
        self.gone: Ids = np.zeros(0, np.uint32)

    def lexical(self, first: int, end: int) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
        texts = [term.value.encode() for term in self._terms[first:end] if isinstance(term, Literal)]
        offsets = np.zeros(len(texts) + 1, np.uint64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return np.frombuffer(b"".join(texts), np.uint8), offsets

    def forms(self, ids: Ids, most: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        texts, ends = list[bytes](), [0]
        for term in map(self._terms.__getitem__, ids.tolist()):
            if ends[-1] >= most:
                break
            assert isinstance(term, Literal)
            texts.append(term.value.encode())
            ends.append(ends[-1] + len(texts[-1]))
        return np.frombuffer(b"".join(texts), np.uint8), np.array(ends, np.int64)

    def lengths(self, first: int, end: int) -> NDArray[np.int64]:
        texts = [term.value.encode() for term in self._terms[first:end] if isinstance(term, Literal)]
        return np.array([len(text) for text in texts], np.int64)

    def terms(self, ids: Ids) -> list[Term | None]:
        return [None if i == UNBOUND else self._terms[i] for i in ids.tolist()]

    def tagged(self, ids: Ids) -> TaggedTexts:
        return tagged(self.terms(ids))

    def texts(self, ids: Ids) -> TermTexts:
        texts = TermTexts.of(self.terms(ids))
        assert texts is not None  # no triple has an id
        return texts

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        return np.array([self.id_of(term) for term in terms], np.int64)

    def id_of(self, term: Term) -> int:
        return self._ids.get(term, -1)


def _part(keyed: Sequence[tuple[LiteralKey, Literal]], first: int, before: Ids | None = None) -> LiteralPart:
    """Sorted literals with ids from `first` on."""
    counts = [sum(key[0] == number for key, _ in keyed) for number in range(len(SEGMENTS))]
    ends = [first + sum(counts[: number + 1]) for number in range(len(SEGMENTS))]
    segments = {name: (end - count, end) for name, end, count in zip(SEGMENTS, ends, counts, strict=True)}
    values = np.array([key[1] for key, _ in keyed if key[0] >= FIRST_VALUED], np.float64)
    return LiteralPart(segments, values, before)


def columns_of(
    triples: Iterable[Triple], entities: Sequence[Node] = (), late: Callable[[Literal], bool] | None = None
) -> ProjectionColumns:
    """The projection of triples, with or without duplicates.

    Args:
        triples: in the store's canonical form.
        entities: the nodes with the first ids, in term order, including those without triples.
        late: which literals are a tail; None for a projection without one.

    >>> a, p, b = (NamedNode(f"e:{x}") for x in "apb")
    >>> columns = columns_of([Triple(a, p, b), Triple(a, p, Literal("x"))])
    >>> columns.predicates["e:p"].forward.targets.tolist()
    [1, 2]
    """
    triples = list(triples)
    projected = sorted({t for t in triples if _is_projected(t.object)}, key=str)
    omitted = frozenset(t.predicate.value for t in triples if not _is_projected(t.object))
    nodes = [term for t in projected for term in (t.subject, t.object) if isinstance(term, NamedNode | BlankNode)]
    table = ListedTerms(entities, nodes, (t.object for t in projected if isinstance(t.object, Literal)), late)
    predicates = {}
    for iri, group in groupby(sorted(projected, key=lambda t: t.predicate.value), key=lambda t: t.predicate.value):
        of_predicate = list(group)
        subjects, objects = table.find([t.subject for t in of_predicate]), table.find([t.object for t in of_predicate])
        predicates[iri] = PredicateColumns(adjacency(subjects, objects), adjacency(objects, subjects))
    return ProjectionColumns(table, predicates, omitted)


def adjacency(sources: NDArray[np.int64], targets: NDArray[np.int64]) -> Adjacency:
    """The adjacency of distinct pairs.

    >>> pairs = adjacency(np.array([5, 2, 5]), np.array([1, 9, 0]))
    >>> pairs.keys.tolist(), pairs.offsets.tolist(), pairs.targets.tolist()
    ([2, 5], [0, 1, 3], [9, 0, 1])
    """
    order = np.lexsort((targets, sources))
    keys, counts = np.unique(sources, return_counts=True)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)
    return Adjacency(keys.astype(np.uint32), offsets, targets[order].astype(np.uint32))


def _is_projected(term: Term) -> bool:
    """Whether the projection supports an object: all but triple terms and literals with a base direction (RDF 1.2)."""
    return not isinstance(term, Triple) and getattr(term, "direction", None) is None


def _node_key(node: Node) -> tuple[bool, str]:
    return (isinstance(node, NamedNode), node.value)
