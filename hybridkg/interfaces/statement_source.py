"""Statements of an input that is neither a file of RDF nor a graph, such as a table with its mapping."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping

from hybridkg.interfaces.row_subject import RowSubject


class StatementSource(ABC):
    """A stream of triples in canonical N-Triples, without blank nodes.

    Attributes:
        name: in progress and errors.
        size: bytes that `advanced` counts in all; None if unknown.
        prefixes: namespaces by prefix, which the knowledge base keeps.
        row_subject: the subjects of the rows of a table, which the knowledge base keeps; None where there is none.
    """

    name: str
    size: int | None
    prefixes: Mapping[str, str]
    row_subject: RowSubject | None = None

    @abstractmethod
    def lines(self) -> Iterator[tuple[bytes, int]]:
        """(lines of N-Triples, number of lines), from the first on. Raises LoadError: the input is malformed."""

    @abstractmethod
    def advanced(self) -> int:
        """Bytes of the input read since the last call."""

    @abstractmethod
    def expected_statements(self) -> int | None:
        """About how many statements there are; None if that is not known before they are read."""
