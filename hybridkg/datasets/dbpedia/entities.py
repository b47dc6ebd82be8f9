"""Entities from the lines of a range: the texts of their fields, and their triples in the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

from pyoxigraph import NamedNode, RdfFormat, parse

from hybridkg.datasets.dbpedia.partition import ANSWER, WANTED
from hybridkg.datasets.dbpedia.routing import MAX_CACHED, DBpediaRouting
from hybridkg.datasets.dbpedia.rules import CATCHALL, FIELDS, REVERSE
from hybridkg.datasets.dbpedia.words import file_name, iri_text, literal_text

_SURE = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9/_.,():~!$&'*+;=@-]*")
"""IRIs that are valid without a parser."""

QUOTE = ord('"')

ATTRIBUTES, RELATED = FIELDS.index("attributes"), FIELDS.index("related")


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity in the dumps.

    Args:
        iri: IRI.
        fields: distinct sorted texts of each non-empty field; `catchall` is one text, the others' line by line.
        triples: distinct sorted lines of N-Triples.
        left_out: triples with an invalid object or language tag, which are not in the graph.
    """

    iri: str
    fields: dict[str, list[str]]
    triples: list[bytes]
    left_out: int


def entities_of(lines: Sequence[bytes], routing: DBpediaRouting) -> Iterator[Entity]:
    """The entities of a range, in the byte order of their IRIs, from its distinct sorted lines of all spills."""
    rules, plans = routing.rules, _Plans(routing)
    has, lacks = frozenset(rules.has), frozenset(rules.lacks)
    for key, group in groupby(lines, key=_key):
        cut = len(key) + 1
        rows = [line[cut:-1].split(b"\t", 1) for line in group]
        predicates = {row[0] for row in rows}
        if has <= predicates and predicates.isdisjoint(lacks) and is_iri(rules.resources + key):
            yield _entity(rules.resources + key, rows, plans)


def _key(line: bytes) -> bytes:
    return line[: line.index(b"\t")]


class _Plan:
    """The processing of the lines of a predicate, which includes its mark."""

    __slots__ = ("files", "graph_links", "graph_literals", "head", "links", "literals", "own_links_only", "words")

    def __init__(self, routing: DBpediaRouting, predicate: bytes):
        mark = predicate[:1]
        answers = mark == ANSWER
        route = routing.route(predicate[1:] if mark in (ANSWER, WANTED) else predicate)
        self.words = route.words
        # An answer is a literal in place of a resource.
        self.literals = () if mark == WANTED else route.links if answers else route.literals
        self.links = () if mark == WANTED or route.by_name else route.links
        self.files = mark != WANTED and routing.rules.file_names and RELATED in route.links
        in_graph = mark not in (ANSWER, WANTED, REVERSE) and is_iri(predicate)
        self.graph_literals = in_graph and route.graph_literals
        self.graph_links = in_graph and route.graph_links
        self.own_links_only = route.own_links_only
        self.head = b"<" + predicate + b"> "


class _Plans(dict[bytes, _Plan]):
    """Plans by predicate, made on demand."""

    def __init__(self, routing: DBpediaRouting):
        super().__init__()
        self.routing = routing

    def __missing__(self, predicate: bytes) -> _Plan:
        if len(self) == MAX_CACHED:
            self.clear()
        plan = self[predicate] = _Plan(self.routing, predicate)
        return plan


def _entity(iri: bytes, rows: list[list[bytes]], plans: _Plans) -> Entity:
    rules = plans.routing.rules
    resources, prefixes = rules.resources, rules.prefixes
    texts: list[set[str]] = [set() for _ in FIELDS]
    triples: list[bytes] = []
    start, left_out = b"<" + iri + b"> ", 0
    for predicate, target in rows:
        plan = plans[predicate]
        if target[0] == QUOTE:
            if plan.literals:
                text = plan.words + literal_text(target)
                for i in plan.literals:
                    texts[i].add(text)
            if plan.graph_literals:
                if target.endswith((b'"', b'"@en')) or _is_literal(target[target.rindex(b'"') + 1 :]):
                    triples.append(start + plan.head + target + b" .\n")
                else:
                    left_out += 1
            continue
        if plan.links:
            text = plan.words + iri_text(target[1:-1], prefixes, resources)
            for i in plan.links:
                texts[i].add(text)
        if plan.files and (name := file_name(target[1:-1], resources)) is not None:
            texts[ATTRIBUTES].add(name)
            texts[RELATED].add(name)
        if plan.graph_links and not (plan.own_links_only and not target.startswith(resources, 1)):
            if is_iri(target[1:-1]):
                triples.append(start + plan.head + target + b" .\n")
            else:
                left_out += 1
    fields = {field: sorted(field_texts) for field, field_texts in zip(FIELDS, texts, strict=True) if field_texts}
    if rules.catchall and fields:
        fields[CATCHALL] = ["\n".join(text for field_texts in fields.values() for text in field_texts)]
    return Entity(iri.decode(), fields, triples, left_out)


def is_iri(iri: bytes) -> bool:
    """Whether an IRI is valid in the graph.

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
    """Whether a literal with this suffix (a language tag, a datatype, or nothing) is valid in the graph."""
    try:
        list(parse(b'<x:s> <x:p> ""' + suffix + b" .\n", format=RdfFormat.N_TRIPLES))
    except SyntaxError:
        return False
    return True
