"""Labels of nodes: one lookup for many of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.entities.profile.labels import LABEL_PREDICATES
from hybridkg.entities.triple_lookups import TripleLookups
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term

ENGLISH = "en"


@dataclass(frozen=True)
class Labels:
    """The label of each node: by the first label predicate that it has, and of these texts that without a language, the
    English one, or the first by language and text.

    Args:
        store: the graph.
        predicates: IRIs of the label predicates, in the order of preference; default: those of a profile without any.
    """

    store: GraphStore
    predicates: Sequence[str] = LABEL_PREDICATES

    def __call__(self, iris: Sequence[str]) -> Mapping[str, str]:
        """The labels by IRI; IRIs without one are missing.

        >>> from hybridkg.rdf.terms import Triple
        >>> from hybridkg.store.oxigraph import OxigraphStore
        >>> a, label = NamedNode("x:a"), NamedNode(LABEL_PREDICATES[0])
        >>> texts = (Literal("Film", language="de"), Literal("film", language="en"))
        >>> Labels(OxigraphStore.memory([Triple(a, label, text) for text in texts]))(["x:a", "x:b"])
        {'x:a': 'film'}
        """
        return {node.value: text for node, text in self.of(map(NamedNode, iris)).items()}

    def of(self, terms: Iterable[Term]) -> dict[Node, str]:
        """The labels by node; terms without one are missing."""
        ranks = {iri: rank for rank, iri in enumerate(self.predicates)}
        best: dict[Node, tuple[int, bool, str, str]] = {}
        for subject, predicate, text in self._texts(terms):
            language = (text.language or "").lower()
            is_foreign = language.partition("-")[0] not in ("", ENGLISH)
            key = ranks[predicate], is_foreign, language, " ".join(text.value.split())
            best[subject] = min(best.get(subject, key), key)
        return {node: text for node, (*_, text) in best.items()}

    def all_of(self, terms: Iterable[Term]) -> dict[Node, list[str]]:
        """All labels by node, of every language and label predicate, in alphabetical order."""
        labels: dict[Node, set[str]] = {}
        for subject, _, text in self._texts(terms):
            labels.setdefault(subject, set()).add(" ".join(text.value.split()))
        return {node: sorted(texts) for node, texts in labels.items()}

    def _texts(self, terms: Iterable[Term]) -> Iterator[tuple[Node, str, Literal]]:
        """(node, predicate, text) of each label that is not blank."""
        nodes = [term for term in dict.fromkeys(terms) if isinstance(term, NamedNode | BlankNode)]
        for subject, predicate, text in TripleLookups(self.store).outgoing(nodes, tuple(self.predicates)):
            if isinstance(text, Literal) and text.value.strip():
                yield subject, predicate.value, text
