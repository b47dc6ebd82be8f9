"""What becomes of the triples of a predicate, worked out once for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.datasets.dbpedia.rules import FIELDS, LABEL, REVERSE, Rules
from hybridkg.datasets.dbpedia.words import iri_text, predicate_words

MAX_CACHED = 500_000
"""Predicates whose routes are remembered; DBpedia has about 60,000."""


@dataclass(frozen=True)
class DBpediaRoute:
    """The way of a predicate, `^` before it where it leads from the object to the subject.

    Args:
        literals: positions in FIELDS of the fields that take its literals.
        links: those that take its resources.
        by_name: whether a resource is called by its label there.
        words: what stands before each value, with a blank behind it.
        graph_literals: whether triples with literals are in the graph.
        graph_links: whether those with IRIs are.
        own_links_only: of those, only links to resources.
        counts: whether it tells which subjects are entities.
        is_label: whether its literals are labels.
        is_name: whether they are names.
    """

    literals: tuple[int, ...]
    links: tuple[int, ...]
    by_name: bool
    words: str
    graph_literals: bool
    graph_links: bool
    own_links_only: bool
    counts: bool
    is_label: bool
    is_name: bool


class DBpediaRouting:
    """The routes of a file of rules.

    Args:
        rules: the rules.
        category_labels: whether there are labels of categories; otherwise categories are called by their IRIs.
        predicate_names: label of each predicate that has one, where predicates are called by labels; None where
            there are none, so that predicates are called by their IRIs.
    """

    def __init__(
        self, rules: Rules, *, category_labels: bool = True, predicate_names: Mapping[bytes, str] | None = None
    ):
        self.rules = rules
        self._category_labels, self._names = category_labels, predicate_names
        self._routes: dict[bytes, DBpediaRoute] = {}
        self._taken = {iri for iris in rules.fields.values() for iri in iris}
        self._telling = {*rules.has, *rules.lacks}

    def route(self, predicate: bytes) -> DBpediaRoute:
        """The route of a predicate."""
        found = self._routes.get(predicate)
        if found is None:
            if len(self._routes) == MAX_CACHED:
                self._routes.clear()
            found = self._routes[predicate] = self._made(predicate)
        return found

    def reverse(self, predicate: bytes) -> bool:
        """Whether its triples are also text of their objects."""
        return REVERSE + predicate in self._taken

    def _made(self, predicate: bytes) -> DBpediaRoute:
        rules = self.rules
        named = tuple(i for i, field in enumerate(FIELDS) if predicate in rules.fields[field])
        own = [FIELDS[i] for i in named]
        # A field that takes a predicate beside its own field (`attributes` of index A) takes its literals only.
        if set(own) - {"attributes", "related"}:
            literals, links = named, tuple(i for i in named if FIELDS[i] != "attributes")
        elif predicate in rules.nowhere or predicate.startswith(REVERSE):
            literals, links = named, named
        else:
            literals = tuple(sorted({*named, FIELDS.index("attributes")}))
            links = tuple(sorted({*named, FIELDS.index("related")}))
        labelled = rules.resource == "label"
        if labelled and set(own) & {"names", "similar"} and not predicate.startswith(REVERSE):
            links = ()  # names and anchor texts are literals there
        worded = not set(own) & {"names", "categories", "similar"} and predicate.startswith(rules.predicates_of)
        in_graph = predicate not in rules.text_only and not predicate.startswith(REVERSE)
        dbp = predicate.startswith(rules.links_only)
        return DBpediaRoute(
            literals,
            links,
            by_name=labelled and ("categories" not in own or self._category_labels),
            words=self._words(predicate) if worded else "",
            graph_literals=in_graph and not dbp,
            graph_links=in_graph,
            own_links_only=dbp,
            counts=predicate in self._telling,
            is_label=predicate == LABEL,
            is_name="names" in own,
        )

    def _words(self, predicate: bytes) -> str:
        if self.rules.predicate == "label" and self._names is not None:
            name = self._names.get(predicate, "")
        else:
            name = predicate_words(iri_text(predicate, self.rules.prefixes, self.rules.resources))
        return f"{name} " if name else ""
