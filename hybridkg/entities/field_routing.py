"""Routing of triples into the fields of a profile.

One Gathering takes the rows of a whole graph, or those of one entity. The rules of which literals are text, and of the
values of a field, are only here, so snippets show the indexed text. A value is (text, language tag or "").
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from hybridkg.entities.profile.labels import local_name, says_same
from hybridkg.entities.profile.paths import single_steps
from hybridkg.entities.profile.profile import Field, Profile, TextKind
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Node, Term
from hybridkg.rdf.tsv import literal_parts, unescaped

Value: TypeAlias = tuple[str, str]

FieldValues: TypeAlias = tuple[list[Value], ...]
"""The values of each field of the profile: (text, language tag or ""), distinct and sorted; [] for none."""

LiteralTaker: TypeAlias = Callable[[str, str, str, str], None]
"""Takes a node, and the text, language and datatype of a literal."""

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

STRING = XSD + "string"

STRING_TYPES = frozenset(
    (
        *(XSD + name for name in ("string", "normalizedString", "token", "language")),
        *(RDF + name for name in ("langString", "dirLangString", "HTML", "XMLLiteral")),
    )
)
"""Datatypes of literals that are words; literals with a language tag are words as well."""

BINARY_TYPES = frozenset(XSD + name for name in ("base64Binary", "hexBinary"))
"""Datatypes of literals that are never text."""


_NODES = (NamedNode, BlankNode)


@dataclass(frozen=True)
class FieldRoute:
    """Targets of the triples of one predicate: positions of fields, and its rank among the label predicates."""

    strings: tuple[int, ...]
    others: tuple[int, ...]
    links: tuple[int, ...]
    label_rank: int | None

    def is_empty(self) -> bool:
        """Whether no field and no label needs the predicate."""
        return not (self.strings or self.others or self.links) and self.label_rank is None

    def within(self, fields: Collection[int]) -> FieldRoute:
        """The route into some of the fields, without labels."""
        return FieldRoute(
            tuple(i for i in self.strings if i in fields),
            tuple(i for i in self.others if i in fields),
            tuple(i for i in self.links if i in fields),
            None,
        )


class FieldRouting:
    """Routes of a profile by predicate."""

    def __init__(self, profile: Profile):
        self._steps = [frozenset(single_steps(f.path)) if f.path else frozenset() for f in profile.fields]
        self._fields = profile.fields
        self._ignored = frozenset(profile.ignore)
        self.needs_labels = any(field.text == "labels" for field in profile.fields)
        self._ranks = {iri: i for i, iri in reversed(list(enumerate(profile.labels)))} if self.needs_labels else {}
        self.has_rest = any(field.rest for field in profile.fields)

    def predicates(self) -> list[str]:
        """Predicates of single steps and of labels, sorted; a rest field may need others."""
        return sorted({*(iri for steps in self._steps for iri in steps), *self._ranks})

    def route(self, iri: str) -> FieldRoute:
        return FieldRoute(
            strings=self._taking(iri, ("literals", "strings", "labels"), ("literals", "strings")),
            others=self._taking(iri, ("literals",), ("literals",)),
            links=self._taking(iri, ("labels",), ("labels",)),
            label_rank=self._ranks.get(iri),
        )

    def taking(self, route: FieldRoute, language: str, datatype: str) -> list[int]:
        """Positions of the fields that take the literals of a route with a language, or else with a datatype."""
        is_string = language or datatype in STRING_TYPES
        own = route.strings if is_string else () if datatype in BINARY_TYPES else route.others
        return [i for i in own if not language or self._fields[i].accepts(language)]

    def path_route(self, position: int) -> FieldRoute:
        """Route of the ends of a longer path of the field at `position`."""
        own, text = (position,), self._fields[position].text
        return FieldRoute(own, own if text == "literals" else (), own if text == "labels" else (), None)

    def _taking(self, iri: str, kinds: tuple[TextKind, ...], rest_kinds: tuple[TextKind, ...]) -> tuple[int, ...]:
        """Fields that name the predicate and take these kinds, or else the rest fields."""
        named = {i for i, field in enumerate(self._fields) if field.text in kinds and iri in self._steps[i]}
        if iri in self._ignored:
            return tuple(sorted(named))
        rest = {i for i, field in enumerate(self._fields) if field.rest and field.text in rest_kinds}
        return tuple(sorted(named or rest))


class Gathering:
    """The values and links of entities, by field; nodes are tokens, which hash fast.

    Args:
        profile: the fields.
        keep_nodes: whether to store every node of the rows, which local names need.
        routing: of the profile, if it exists already.
    """

    def __init__(self, profile: Profile, *, keep_nodes: bool = False, routing: FieldRouting | None = None):
        self.profile = profile
        self.routing = FieldRouting(profile) if routing is None else routing
        self.literals: list[dict[str, list[Value]]] = [{} for _ in profile.fields]
        self.links: list[dict[str, list[str]]] = [{} for _ in profile.fields]
        self.names: dict[str, tuple[int, list[Value]]] = {}
        self.nodes: dict[str, str] = {}
        self.keep_nodes = keep_nodes
        self._local_names: dict[str, str] = {}
        self._adders: dict[FieldRoute, Callable[[Term | None, Term | None], None]] = {}

    def add_lines(self, route: FieldRoute, lines: Sequence[str]) -> None:
        """Adds rows (node, end of the route) as lines of SPARQL TSV."""
        intern = self.nodes.setdefault
        links = [self.links[i] for i in route.links]
        targets = bool(links) or self.keep_nodes
        add_literal = self.literal_taker(route)
        for line in lines:
            start, target = line.split("\t")
            mark = start[0]
            if mark not in "<_" or start[1] == "<":  # a path may start anywhere
                continue
            subject = intern(start, start)
            mark = target[0]
            if mark == '"' and target[-1] == '"':
                text = target[1:-1]
                add_literal(subject, unescaped(text) if "\\" in text else text, "", STRING)
            elif mark not in "<_":
                add_literal(subject, *literal_parts(target))
            elif targets and target[1] != "<":  # otherwise a quoted triple
                linked = intern(target, target)
                for held in links:
                    if subject in held:
                        held[subject].append(linked)
                    else:
                        held[subject] = [linked]

    def add_row(self, route: FieldRoute, start: Term | None, target: Term | None) -> None:
        """Adds a row (node, end of the route)."""
        self.adder(route)(start, target)

    def adder(self, route: FieldRoute) -> Callable[[Term | None, Term | None], None]:
        """`add_row` of one route, for many rows."""
        add = self._adders.get(route)
        if add is None:
            add = self._adders[route] = self._adder(route)
        return add

    def _adder(self, route: FieldRoute) -> Callable[[Term | None, Term | None], None]:
        take, intern = self.literal_taker(route), self.nodes.setdefault
        links = [self.links[i] for i in route.links]

        def add(start: Term | None, target: Term | None) -> None:
            if not isinstance(start, _NODES):
                return
            token = str(start)
            subject = intern(token, token)
            if isinstance(target, Literal):
                language = target.language or ""
                take(subject, target.value, language, "" if language else target.datatype.value)
            elif links and isinstance(target, _NODES):
                token = str(target)
                linked = intern(token, token)
                for held in links:
                    held.setdefault(subject, []).append(linked)

        return add

    def add_text(self, position: int, node: Node, texts: Iterable[str]) -> None:
        """Adds texts that are not in the graph."""
        values = [(text, "") for text in texts if text and not text.isspace()]
        if values:
            self.literals[position].setdefault(self._interned(node), []).extend(values)

    def _interned(self, node: Node) -> str:
        token = str(node)
        return self.nodes.setdefault(token, token)

    def literal_taker(self, route: FieldRoute) -> LiteralTaker:
        """A function that adds (node, text, language, datatype) of the literals of a route; of a text with a language
        the datatype is "".
        """
        names, rank, held = self.names, route.label_rank, dict[tuple[str, str], list[dict[str, list[Value]]]]()

        def take(subject: str, text: str, language: str, datatype: str) -> None:
            if not text or text.isspace():
                return
            value, kind = (text, language), (language, datatype)
            if (taking := held.get(kind)) is None:
                taking = held[kind] = [self.literals[i] for i in self.routing.taking(route, language, datatype)]
            for own in taking:
                if subject in own:
                    own[subject].append(value)
                else:
                    own[subject] = [value]
            if rank is not None and (language or datatype in STRING_TYPES):
                ranked = names.get(subject)
                if ranked is None or rank < ranked[0]:
                    names[subject] = rank, [value]
                elif rank == ranked[0]:
                    ranked[1].append(value)

        return take

    def names_of(self, token: str) -> list[Value]:
        """Labels of a node, from the rows added so far."""
        names = self.names.get(token)
        return names[1] if names else []

    def with_text(self, members: Iterable[str] | None) -> set[str]:
        """Tokens of the nodes with a value in some field, once all rows have been added; only of `members` if given."""
        tokens: set[str] = set().union(*self.literals)
        for position, links in enumerate(self.links):
            tokens.update(node for node in links if node not in tokens and self.values(position, node, self.names_of))
        if any(field.local_name for field in self.profile.fields):
            candidates = self.nodes if members is None else members
            tokens.update(node for node in candidates if node.startswith("<") and self._local_name(node))
        return tokens if members is None else tokens.intersection(members)

    def stream(self, position: int, tokens: Iterable[str]) -> Iterator[tuple[int, list[Value]]]:
        """(index of the node, values) of the nodes that have values in the field at `position`."""
        literals, links = self.literals[position], self.links[position]
        if self.profile.fields[position].local_name:
            for i, token in enumerate(tokens):
                values = self.values(position, token, self.names_of)
                if values:
                    yield i, values
            return
        for i, token in enumerate(tokens):
            if token in links:
                values = self.values(position, token, self.names_of)
                if values:
                    yield i, values
            elif token in literals:
                yield i, distinct_values(literals[token])

    def early_stream(
        self, position: int, members: Collection[str] | None, structure: Collection[str], numbers: dict[str, int]
    ) -> Iterator[tuple[int, list[Value]]]:
        """As `stream`, of a field of literals, by provisional numbers of the entities.

        Args:
            position: of a field without links and local names, all of whose rows have been added.
            members: tokens of the entities; None for all nodes.
            structure: tokens of nodes that are no entities.
            numbers: token -> number; new entities are added.
        """
        for token, values in self.literals[position].items():
            if (members is None or token in members) and token not in structure:
                yield numbers.setdefault(token, len(numbers)), distinct_values(values)

    def values(self, position: int, token: str, names_of: Callable[[str], list[Value]]) -> list[Value]:
        """Values of a node in the field at `position`: distinct, sorted by text, then language.

        `names_of` returns the labels of a linked node.
        """
        field = self.profile.fields[position]
        values = self.literals[position].get(token, [])
        targets = self.links[position].get(token)
        if targets:
            values = values.copy()
            for target in targets:
                names = names_of(target)
                values += names if names and not field.languages else self._linked_names(field, target, names)
        if len(values) < 2 and not field.local_name:
            return values
        distinct = set(values)
        if field.local_name and token.startswith("<"):
            name = self._local_name(token, field)
            if name and not (distinct and says_same(name, (text for text, _ in distinct))):
                distinct.add((name, ""))
        return sorted(distinct) if len(distinct) > 1 else list(distinct)

    def _linked_names(self, field: Field, token: str, names: list[Value]) -> list[Value]:
        """Values of a field of labels for a linked node: its labels, or else the local name of its IRI."""
        labels = [value for value in names if field.accepts(value[1])] if field.languages else names
        if labels or not token.startswith("<"):
            return labels
        name = self._local_name(token, field)
        return [(name, "")] if name else []

    def _local_name(self, token: str, field: Field | None = None) -> str:
        """Local name of an IRI, cached, since a class has as many links as instances.

        An analyzer of identifiers gets it undivided, to index the whole as well.
        """
        if field is not None and field.analyzer == "identifier":
            return local_name(token[1:-1], divided=False)
        name = self._local_names.get(token)
        if name is None:
            name = self._local_names[token] = local_name(token[1:-1])
        return name


def distinct_values(values: list[Value]) -> list[Value]:
    """The values of a field as they are stored: distinct, sorted by text, then language.

    >>> distinct_values([("b", ""), ("a", "en"), ("b", "")])
    [('a', 'en'), ('b', '')]
    """
    return values if len(values) < 2 else sorted(set(values))
