"""Sorts triples into the fields of a profile.

One Gathering takes the rows of a whole graph, or those of one entity; the
rules of what is text, and of what a field keeps, are here only, so that
snippets show what was indexed. A value is (text, language tag or "").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from hybridkg.entities.fields import Field, Profile, TextKind
from hybridkg.entities.labels import local_name, same_words
from hybridkg.entities.paths import single_steps
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Node, Term

Value: TypeAlias = tuple[str, str]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

STRING_TYPES = frozenset(
    NamedNode(iri)
    for iri in (
        *(XSD + name for name in ("string", "normalizedString", "token", "language")),
        *(RDF + name for name in ("langString", "dirLangString", "HTML", "XMLLiteral")),
    )
)
"""Datatypes whose literals are words."""

BINARY_TYPES = frozenset(NamedNode(XSD + name) for name in ("base64Binary", "hexBinary"))
"""Datatypes whose literals are never text."""


@dataclass(frozen=True)
class Route:
    """Where the triples of one predicate go: positions of fields, and its rank among the label predicates."""

    strings: tuple[int, ...]
    others: tuple[int, ...]
    links: tuple[int, ...]
    label_rank: int | None

    def is_empty(self) -> bool:
        """Whether no field and no label needs the predicate."""
        return not (self.strings or self.others or self.links) and self.label_rank is None


class Routing:
    """The routes of a profile, worked out once for each predicate."""

    def __init__(self, profile: Profile):
        self._steps = [frozenset(single_steps(f.path)) if f.path else frozenset() for f in profile.fields]
        self._fields = profile.fields
        self._ignored = frozenset(profile.ignore)
        self.needs_labels = any(field.text == "labels" for field in profile.fields)
        self._ranks = {iri: i for i, iri in reversed(list(enumerate(profile.labels)))} if self.needs_labels else {}
        self.has_rest = any(field.rest for field in profile.fields)

    def predicates(self) -> list[str]:
        """The predicates of single steps and of labels, sorted; a rest field may need others."""
        return sorted({*(iri for steps in self._steps for iri in steps), *self._ranks})

    def route(self, iri: str) -> Route:
        """Where triples with this predicate go."""
        return Route(
            strings=self._taking(iri, ("literals", "strings", "labels"), ("literals", "strings")),
            others=self._taking(iri, ("literals",), ("literals",)),
            links=self._taking(iri, ("labels",), ("labels",)),
            label_rank=self._ranks.get(iri),
        )

    def _taking(self, iri: str, kinds: tuple[TextKind, ...], rest_kinds: tuple[TextKind, ...]) -> tuple[int, ...]:
        """The fields that name the predicate and take these kinds; the rest fields where there are none."""
        named = {i for i, field in enumerate(self._fields) if field.text in kinds and iri in self._steps[i]}
        if iri in self._ignored:
            return tuple(sorted(named))
        rest = {i for i, field in enumerate(self._fields) if field.rest and field.text in rest_kinds}
        return tuple(sorted(named or rest))


class Gathering:
    """The values and links of entities, by field.

    Args:
        profile: the fields.
        keep_nodes: also remember every node that a row mentions, which local names need.
    """

    def __init__(self, profile: Profile, *, keep_nodes: bool = False):
        self.profile = profile
        self.routing = Routing(profile)
        self.literals: list[dict[Node, list[Value]]] = [{} for _ in profile.fields]
        self.links: list[dict[Node, list[Node]]] = [{} for _ in profile.fields]
        self.names: dict[Node, tuple[int, list[Value]]] = {}
        self.nodes: dict[Node, Node] = {}
        self._keep_nodes = keep_nodes
        self._routes: dict[NamedNode, Route] = {}

    def add(self, rows: Iterable[tuple[Term | None, ...]]) -> None:
        """Takes rows (subject, predicate, object)."""
        routes, nodes = self._routes, self.nodes
        for start, predicate, target in rows:
            if not is_node(start) or not isinstance(predicate, NamedNode):
                continue
            route = routes.get(predicate)
            if route is None:
                route = routes[predicate] = self.routing.route(predicate.value)
            subject = nodes.setdefault(start, start)
            if isinstance(target, Literal):
                self._add_literal(subject, target, route)
            elif is_node(target) and (route.links or self._keep_nodes):
                linked = nodes.setdefault(target, target)
                for i in route.links:
                    self.links[i].setdefault(subject, []).append(linked)

    def add_path(self, position: int, rows: Iterable[tuple[Term | None, ...]]) -> None:
        """Takes rows (subject, end of the path) for the field at `position`."""
        nodes = self.nodes
        text = self.profile.fields[position].text
        for start, target in rows:
            if not is_node(start):
                continue
            subject = nodes.setdefault(start, start)
            if isinstance(target, Literal):
                if text == "literals" or is_string(target):
                    self._keep(position, subject, target)
            elif text == "labels" and is_node(target):
                self.links[position].setdefault(subject, []).append(nodes.setdefault(target, target))

    def add_text(self, position: int, node: Node, texts: Iterable[str]) -> None:
        """Takes texts that are not in the graph."""
        kept = [(text, "") for text in texts if text and not text.isspace()]
        if kept:
            self.literals[position].setdefault(self.nodes.setdefault(node, node), []).extend(kept)

    def _add_literal(self, subject: Node, literal: Literal, route: Route) -> None:
        text = literal.value
        if not text or text.isspace():
            return
        if is_string(literal):
            for i in route.strings:
                self._keep(i, subject, literal)
            if route.label_rank is not None:
                rank, values = self.names.get(subject, (route.label_rank + 1, []))
                if route.label_rank < rank:
                    self.names[subject] = (route.label_rank, [(text, literal.language or "")])
                elif route.label_rank == rank:
                    values.append((text, literal.language or ""))
        else:
            for i in route.others:
                self._keep(i, subject, literal)

    def _keep(self, position: int, subject: Node, literal: Literal) -> None:
        text, language = literal.value, literal.language or ""
        if text and not text.isspace() and self.profile.fields[position].accepts(language):
            if not language and literal.datatype in BINARY_TYPES:
                return
            self.literals[position].setdefault(subject, []).append((text, language))

    def names_of(self, node: Node) -> list[Value]:
        """The labels of a node, as far as its rows have been taken."""
        return self.names.get(node, (0, []))[1]

    def candidates(self) -> Iterator[Node]:
        """Nodes that may have text; some repeat, some may have none."""
        yield from (node for literals in self.literals for node in literals)
        yield from (node for links in self.links for node in links)
        if any(field.local_name for field in self.profile.fields):
            yield from (node for node in self.nodes if isinstance(node, NamedNode))

    def has_text(self, node: Node) -> bool:
        """Whether any field has a value of `node`, once all rows have been taken."""
        if any(node in literals for literals in self.literals):
            return True
        return any(self.values(i, node, self.names_of) for i in range(len(self.profile.fields)))

    def values(self, position: int, node: Node, names_of: Callable[[Node], list[Value]]) -> list[Value]:
        """What the field at `position` holds of `node`: distinct values, sorted by text, then language.

        Args:
            position: of the field in the profile.
            node: the entity.
            names_of: the labels of a linked node.
        """
        field = self.profile.fields[position]
        found = set(self.literals[position].get(node, ()))
        for target in self.links[position].get(node, ()):
            found.update(linked_names(field, target, names_of(target)))
        if field.local_name and isinstance(node, NamedNode):
            name = local_name(node.value)
            if name and not any(same_words(name, text) for text, _ in found):
                found.add((name, ""))
        return sorted(found)


def linked_names(field: Field, node: Node, names: list[Value]) -> list[Value]:
    """What a field of labels takes of a linked node: its labels, or else the local name of its IRI.

    >>> linked_names(Field("related", text="labels"), NamedNode("http://example.org/Ridley_Scott"), [])
    [('Ridley Scott', '')]
    """
    kept = [value for value in names if field.accepts(value[1])]
    if kept or not isinstance(node, NamedNode):
        return kept
    name = local_name(node.value)
    return [(name, "")] if name else []


def is_node(term: Term | None) -> TypeGuard[Node]:
    """Whether a term can be an entity: an IRI or a blank node."""
    return isinstance(term, NamedNode | BlankNode)


def is_string(literal: Literal) -> bool:
    """Whether a literal is words, not a number, a date or some other value."""
    return literal.language is not None or literal.datatype in STRING_TYPES
