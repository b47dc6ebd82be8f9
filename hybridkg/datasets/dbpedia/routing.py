"""Routes of predicates: the fields and parts of the graph that take their triples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.datasets.dbpedia.rules import FIELDS, LABEL, REVERSE, Rules
from hybridkg.datasets.dbpedia.words import iri_text, predicate_words

MAX_CACHED = 500_000
"""Cached routes; DBpedia has about 60,000 predicates."""


@dataclass(frozen=True)
class DBpediaRoute:
    """The route of a predicate, which begins with `^` if it leads from the object to the subject.

    Args:
        literals: positions in FIELDS of the fields that take its literals.
        links: positions of those that take its resources.
        by_name: whether resources are named by their labels.
        words: prefix of each value, with a blank at its end.
        graph_literals: whether its literals are in the graph.
        graph_links: whether its IRIs are in the graph.
        own_links_only: whether only those of resources are.
        counts: whether it decides which subjects are entities.
        is_label: whether its literals are labels.
        is_name: whether its literals are names.
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
        category_labels: whether there are labels of categories; otherwise their IRIs name them.
        predicate_names: labels of predicates; None if IRIs name them.
    """

    def __init__(
        self, rules: Rules, *, category_labels: bool = True, predicate_names: Mapping[bytes, str] | None = None
    ):
        self.rules = rules
        self._category_labels, self._names = category_labels, predicate_names
        self._routes: dict[bytes, DBpediaRoute] = {}
        self._taken = {iri for iris in rules.fields.values() for iri in iris}
        self._deciding = {*rules.has, *rules.lacks}

    def route(self, predicate: bytes) -> DBpediaRoute:
        """The route of a predicate, cached."""
        route = self._routes.get(predicate)
        if route is None:
            if len(self._routes) == MAX_CACHED:
                self._routes.clear()
            route = self._routes[predicate] = self._new_route(predicate)
        return route

    def reverse(self, predicate: bytes) -> bool:
        """Whether its triples are also text of their objects."""
        return REVERSE + predicate in self._taken

    def _new_route(self, predicate: bytes) -> DBpediaRoute:
        rules = self.rules
        named = tuple(i for i, field in enumerate(FIELDS) if predicate in rules.fields[field])
        fields = [FIELDS[i] for i in named]
        # A field that takes a predicate in addition to its fields (`attributes` of index A) takes its literals only.
        if set(fields) - {"attributes", "related"}:
            literals, links = named, tuple(i for i in named if FIELDS[i] != "attributes")
        elif predicate in rules.nowhere or predicate.startswith(REVERSE):
            literals, links = named, named
        else:
            literals = tuple(sorted({*named, FIELDS.index("attributes")}))
            links = tuple(sorted({*named, FIELDS.index("related")}))
        labelled = rules.resource == "label"
        if labelled and set(fields) & {"names", "similar"} and not predicate.startswith(REVERSE):
            links = ()  # there, names and anchor texts are literals
        worded = not set(fields) & {"names", "categories", "similar"} and predicate.startswith(rules.predicates_of)
        in_graph = predicate not in rules.text_only and not predicate.startswith(REVERSE)
        dbp = predicate.startswith(rules.links_only)
        return DBpediaRoute(
            literals,
            links,
            by_name=labelled and ("categories" not in fields or self._category_labels),
            words=self._words(predicate) if worded else "",
            graph_literals=in_graph and not dbp,
            graph_links=in_graph,
            own_links_only=dbp,
            counts=predicate in self._deciding,
            is_label=predicate == LABEL,
            is_name="names" in fields,
        )

    def _words(self, predicate: bytes) -> str:
        if self.rules.predicate == "label" and self._names is not None:
            name = self._names.get(predicate, "")
        else:
            name = predicate_words(iri_text(predicate, self.rules.prefixes, self.rules.resources))
        return f"{name} " if name else ""
