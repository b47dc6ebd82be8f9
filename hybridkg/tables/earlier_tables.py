"""Tables that a knowledge base has already, to whose rows the columns of a later table may refer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias
from urllib.parse import unquote

from hybridkg.interfaces.row_subject import KeptColumn, RowSubject, last_of_names
from hybridkg.rdf.terms import Literal, NamedNode, Node, Term
from hybridkg.tables.column_profile import MAX_KEY_LENGTH
from hybridkg.tables.mapping import RDF_TYPE, iri_safe

MAX_TYPES = 1_000_000
"""Triples of rdf:type that are read to see whether a table replaces all of its rows."""

FindSubjects: TypeAlias = Callable[[Iterable[Node]], set[Node]]
"""The nodes that are the subject of a triple of the graph."""

FindStatements: TypeAlias = Callable[[NamedNode, int], Iterable[tuple[Node, Term]]]
"""Subjects and objects of the first triples of a predicate, at most so many."""


def _nothing(_: Iterable[Node]) -> set[Node]:
    return set()


def _no_statements(_: NamedNode, __: int) -> Iterable[tuple[Node, Term]]:
    return ()


class EarlierTables:
    """The tables that were loaded earlier, and the graph that has their rows.

    Args:
        templates: of the subjects of each table, in the order of their loads.
        find: looks up subjects in the graph, in blocks.
        statements: reads the first triples of a predicate.
        replaces_rows: whether the load puts its rows in place of earlier ones.

    >>> from hybridkg.rdf.terms import NamedNode
    >>> brands = RowSubject("brands", "id", "string", "http://e/Brand/")
    >>> earlier = EarlierTables([brands], find=lambda nodes: {NamedNode("http://e/Brand/b1")} & {*nodes})
    >>> earlier.missing([(brands, "b1"), (brands, "b2")])
    [False, True]
    """

    def __init__(
        self,
        templates: Sequence[RowSubject] = (),
        find: FindSubjects = _nothing,
        statements: FindStatements = _no_statements,
        *,
        replaces_rows: bool = False,
    ):
        self.templates = tuple(templates)
        self.rows = last_of_names(self.templates)
        """The last template of each table: later tables refer to these rows."""
        self._find, self._statements, self.replaces_rows = find, statements, replaces_rows

    def missing(self, values: Sequence[tuple[RowSubject, str]]) -> list[bool]:
        """Whether the graph has no row of the table with the identifier, for each (table, identifier).

        A text of more than MAX_KEY_LENGTH characters identifies nothing: a book would be a part of a query.
        """
        nodes = [_node(row, value) for row, value in values]
        known = self._find(dict.fromkeys(node for node in nodes if node is not None))
        return [node is None or node not in known for node in nodes]

    def kind(self, row: RowSubject) -> str:
        """The ValueKind of the identifiers of a table; that of the table they refer to, if they are references, which
        have none of their own. Empty if unknown.
        """
        seen = [row]
        while not row.kind:
            link = next((one for one in row.columns if one.name == row.column and one.predicate), None)
            named = () if link is None else (one for one in self.rows if (one.start, one.end) == (link.start, link.end))
            found = next(iter(named), None)
            if found is None or found in seen:
                return ""
            row = found
            seen.append(row)
        return row.kind

    def columns(self, start: str) -> dict[str, KeptColumn]:
        """The columns of the tables whose subjects begin with a text, by name; of one name, that of the last load."""
        return {column.name: column for row in self.templates if row.start == start for column in row.columns}

    def identifiers(self, start: str, most: int) -> list[str] | None:
        """The identifiers of the rows whose subjects begin with a text.

        None if they are more than `most`, or if the graph has more than MAX_TYPES triples of rdf:type.
        """
        found: set[str] = set()
        for number, (subject, _) in enumerate(self._statements(NamedNode(RDF_TYPE), MAX_TYPES + 1), 1):
            if isinstance(subject, NamedNode) and subject.value.startswith(start):
                found.add(unquote(subject.value.removeprefix(start)))
            if number > MAX_TYPES or len(found) > most:
                return None
        return [*found]

    def literals(self, predicate: str, most: int) -> Iterator[tuple[str, str]]:
        """Subject and text of the literals among the first triples of a predicate."""
        for subject, value in self._statements(NamedNode(predicate), most):
            if isinstance(value, Literal) and isinstance(subject, NamedNode):
                yield subject.value, value.value


def _node(row: RowSubject, value: str) -> NamedNode | None:
    """The subject of the row with an identifier; None for a text that is none."""
    if len(value) > MAX_KEY_LENGTH:
        return None
    try:
        return NamedNode(f"{row.start}{iri_safe(value)}{row.end}")
    except ValueError:  # half a character
        return None


NO_TABLES = EarlierTables()
"""None at all: those of a new knowledge base."""
