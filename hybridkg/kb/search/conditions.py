"""Conditions of a search: fragments such as `a:platform "Linux" ; a:year 2020`, read by the grammar of queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hybridkg.errors import HybridkgError, QueryCheckError, SourceName, Span
from hybridkg.kb.search.condition_mistakes import Vocabulary, mistake_in
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import rebuild, walk

NAME = "where"
"""The name of a fragment in errors."""

_PREFIXES = re.compile(r"(?:\s*PREFIX\s+[^\s:]*:\s*<[^>\s]*>)*", re.IGNORECASE)
"""Declarations at the beginning of a fragment."""

_BEGINNING, _WHOLE = " SELECT * { ?entity ", " SELECT * { "
"""What stands before a fragment: one that begins with FILTER or ?entity is a pattern of its own."""

_PATTERN = re.compile(r"\s*(?:(?:FILTER|OPTIONAL|MINUS|BIND|VALUES|GRAPH)\b(?!:)|[?$](?-i:entity)\s)", re.IGNORECASE)


@dataclass(frozen=True)
class Conditions:
    """The triples and filters of fragments, about `?entity`."""

    elements: tuple[ast.Triples | ast.Filter, ...] = ()


def read_conditions(
    fragments: Sequence[str], prefixes: Mapping[str, str], predicates: Callable[[], Mapping[str, int]] = dict
) -> Conditions:
    """The conditions of fragments; each has predicates and objects of the entity, and may end with `. FILTER(...)`.

    A fragment may also begin with `?entity`, or be a FILTER alone. `predicates` gives the properties in the data, with
    their triples, which an error names.

    PREFIX declarations may stand at the beginning of a fragment, besides the given `prefixes`. Variables of the same
    name in several fragments are the same.

    Raises:
        HybridkgError: a fragment does not follow the grammar, or has something else; the place is in the fragment.

    >>> read_conditions(["a:year ?y FILTER(?y > 1970)"], {"a": "http://e/"}).elements[0].items[0].predicate
    Iri(value='http://e/year')
    """
    elements: list[ast.Triples | ast.Filter] = []
    for number, fragment in enumerate(fragments):
        elements += _elements(fragment, number, prefixes, predicates)
    return Conditions(tuple(elements))


def _elements(
    fragment: str, number: int, prefixes: Mapping[str, str], predicates: Callable[[], Mapping[str, int]]
) -> list[ast.Triples | ast.Filter]:
    written = _Fragment(fragment, prefixes)
    try:
        form = parse(written.query).form
    except HybridkgError as e:
        words = Vocabulary(prefixes, predicates())
        mistake = mistake_in(written.body, len(fragment) - len(written.body), written.source, words)
        if mistake is not None:
            raise mistake from None
        e.span, e.source = written.place(e.span), written.source
        raise
    if not isinstance(form, ast.SelectQuery) or form != ast.SelectQuery(None, form.where):
        raise _refused("this is more than conditions of an entity", Span(0, len(fragment)), written.source)
    found: list[ast.Triples | ast.Filter] = []
    for element in form.where.elements:
        if not isinstance(element, ast.Triples | ast.Filter):
            raise _refused("only triples and FILTER can stand here", written.place(element.span), written.source)
        for item in walk(element):
            if isinstance(item, ast.Match | ast.Near):
                kind = "a MATCH" if isinstance(item, ast.Match) else "a NEAR"
                raise _refused(f"{kind} cannot stand here", written.place(item.span), written.source)
        found.append(_with_own_nodes(element, number))
    return found


class _Fragment:
    """A fragment inside a query; `place` maps places of the query to places of the fragment."""

    def __init__(self, fragment: str, prefixes: Mapping[str, str]):
        declared = "".join(f"PREFIX {name}: <{iri}> " for name, iri in prefixes.items())
        match = _PREFIXES.match(fragment)
        self._head = 0 if match is None else match.end()
        self._before = len(declared)
        self.body = fragment[self._head :]
        self._beginning = _WHOLE if _PATTERN.match(self.body) else _BEGINNING
        self.source = SourceName(NAME, fragment)
        # A comment ends with the line.
        self.query = f"{declared}{fragment[: self._head]}{self._beginning}{self.body}\n}}"

    def place(self, span: Span | None) -> Span:
        """The span in the fragment; its end for what is behind it, or without a span."""
        length = len(self.source.text)
        return Span(length, length) if span is None else Span(self._offset(span.start), self._offset(span.end))

    def _offset(self, place: int) -> int:
        place -= self._before
        if place > self._head:
            place = max(self._head, place - len(self._beginning))
        return min(max(place, 0), len(self.source.text))


def _refused(message: str, span: Span, source: SourceName) -> HybridkgError:
    hint = 'write predicates and objects, such as  :platform "Linux" ; :year ?y . FILTER(?y > 2018)'
    return QueryCheckError(message, hint=hint, span=span, source=source)


def _with_own_nodes(element: ast.Triples | ast.Filter, number: int) -> ast.Triples | ast.Filter:
    """The element with blank nodes of its own: fragments are read one by one, so their labels are the same."""

    def own(node: ast.Syntax) -> ast.Syntax:
        return ast.Blank(f"{node.label}w{number}") if isinstance(node, ast.Blank) else rebuild(node, own)

    return rebuild(element, own)
