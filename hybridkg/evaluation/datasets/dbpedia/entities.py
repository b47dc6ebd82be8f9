"""From the lines of a range to entities: the texts of their fields, and their triples in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from pyoxigraph import NamedNode, RdfFormat, parse

from hybridkg.evaluation.datasets.dbpedia.partition import ANSWER, WANTED
from hybridkg.evaluation.datasets.dbpedia.routing import Route, Routing
from hybridkg.evaluation.datasets.dbpedia.rules import CATCHALL, FIELDS, REVERSE
from hybridkg.evaluation.datasets.dbpedia.words import file_name, iri_text, literal_text

_SURE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9/_.,():~!$&'*+;=@-]*")
"""IRIs that need no closer look."""

ATTRIBUTES, RELATED = FIELDS.index("attributes"), FIELDS.index("related")


@dataclass(frozen=True, slots=True)
class Entity:
    """What the dumps say of an entity.

    Args:
        iri: its IRI.
        fields: the distinct texts of each field that has any, sorted; `catchall` is one text, the others' line by line.
        triples: lines of N-Triples, distinct and sorted.
        left_out: triples that are not in the graph because an IRI or a language tag is none.
    """

    iri: str
    fields: dict[str, list[str]]
    triples: list[bytes]
    left_out: int


def entities_of(lines: Sequence[bytes], routing: Routing) -> Iterator[Entity]:
    """The entities of a range, in the order of the bytes of their IRIs.

    Args:
        lines: of all spills, distinct and sorted; those of a key stand together.
        routing: what the predicates are.
    """
    rules = routing.rules
    has, lacks = frozenset(rules.has), frozenset(rules.lacks)
    for key, group in groupby(lines, key=lambda line: line[: line.index(b"\t")]):
        cut = len(key) + 1
        rows = [line[cut:-1].split(b"\t", 1) for line in group]
        predicates = {row[0] for row in rows}
        if has <= predicates and predicates.isdisjoint(lacks) and is_iri(rules.resources + key):
            yield _entity(rules.resources + key, rows, routing)


def _entity(iri: bytes, rows: list[list[bytes]], routing: Routing) -> Entity:
    rules = routing.rules
    texts: list[set[str]] = [set() for _ in FIELDS]
    triples: list[bytes] = []
    left_out = 0
    for predicate, target in rows:
        mark = predicate[:1]
        if mark == WANTED:
            continue
        if mark == ANSWER:
            route = routing.route(predicate[1:])
            text = route.words + literal_text(target)
            for i in route.links:
                texts[i].add(text)
            continue
        route = routing.route(predicate)
        literal = target.startswith(b'"')
        if literal:
            if route.literals:
                text = route.words + literal_text(target)
                for i in route.literals:
                    texts[i].add(text)
        elif route.links:
            _add_link(texts, route, target[1:-1], routing)
        if mark != REVERSE and _in_graph(route, target, rules.resources, literal=literal):
            if is_iri(predicate) and (
                _is_literal(target[target.rindex(b'"') + 1 :]) if literal else is_iri(target[1:-1])
            ):
                triples.append(b"<%b> <%b> %b .\n" % (iri, predicate, target))
            else:
                left_out += 1
    found = {field: sorted(some) for field, some in zip(FIELDS, texts, strict=True) if some}
    if rules.catchall and found:
        found[CATCHALL] = ["\n".join(text for some in found.values() for text in some)]
    return Entity(iri.decode(), found, triples, left_out)


def _add_link(texts: list[set[str]], route: Route, target: bytes, routing: Routing) -> None:
    rules = routing.rules
    if not route.by_name:
        text = route.words + iri_text(target, rules.prefixes, rules.resources)
        for i in route.links:
            texts[i].add(text)
    if rules.file_names and RELATED in route.links:
        name = file_name(target, rules.resources)
        if name is not None:
            texts[ATTRIBUTES].add(name)
            texts[RELATED].add(name)


def _in_graph(route: Route, target: bytes, resources: bytes, *, literal: bool) -> bool:
    if literal:
        return route.graph_literals
    return route.graph_links and not (route.own_links_only and not target.startswith(resources, 1))


def is_iri(iri: bytes) -> bool:
    """Whether the graph can have this IRI.

    >>> is_iri(b"http://e/a"), is_iri(b"http://e/%zz")
    (True, False)
    """
    return _SURE.fullmatch(iri) is not None or _is_odd_iri(iri)


@lru_cache(100_000)
def _is_odd_iri(iri: bytes) -> bool:
    try:
        NamedNode(iri.decode())
    except ValueError:
        return False
    return True


@lru_cache(10_000)
def _is_literal(suffix: bytes) -> bool:
    """Whether the graph can have a literal that ends so: a language tag, a datatype, or nothing."""
    try:
        list(parse(b'<x:s> <x:p> ""' + suffix + b" .\n", format=RdfFormat.N_TRIPLES))
    except SyntaxError:
        return False
    return True
