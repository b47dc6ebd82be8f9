"""Tables that a knowledge base has already, to whose rows the columns of a later table may refer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from hybridkg.interfaces.row_subject import RowSubject, last_of_names
from hybridkg.rdf.terms import Literal, NamedNode, Node, Term
from hybridkg.tables.column_profile import MAX_KEY_LENGTH
from hybridkg.tables.mapping import iri_safe

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
    ):
        self.templates = tuple(templates)
        self.rows = last_of_names(self.templates)
        """The last template of each table: later tables refer to these rows."""
        self._find, self._statements = find, statements

    def missing(self, values: Sequence[tuple[RowSubject, str]]) -> list[bool]:
        """Whether the graph has no row of the table with the identifier, for each (table, identifier).

        A text of more than MAX_KEY_LENGTH characters identifies nothing: a book would be a part of a query.
        """
        nodes = [_node(row, value) for row, value in values]
        known = self._find(dict.fromkeys(node for node in nodes if node is not None))
        return [node is None or node not in known for node in nodes]

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
