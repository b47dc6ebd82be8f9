"""The graph store protocol: SPARQL over a triple store, local or remote."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from hybridkg.rdf.solutions import SolutionStream
from hybridkg.rdf.terms import Term, Triple


class PrefixSample(NamedTuple):
    """The first solutions of a pattern.

    Args:
        rows: their number.
        values: distinct values of one variable in them.
        is_whole: whether these are all solutions.
    """

    rows: int
    values: int
    is_whole: bool


class GraphStore(Protocol):
    """Evaluates SPARQL text that hybridkg generates. Safe to use from many threads."""

    @property
    def url(self) -> str:
        """Address of the SPARQL endpoint of the graph, without credentials; empty where it is local."""

    def read_ahead(self) -> None:
        """Announces a read of most of the graph in random order, which is slow on a disk."""

    def select(self, sparql: str, bound: Mapping[str, Term] | None = None, *, joined: bool = False) -> SolutionStream:
        """Rows of a SELECT, in the store's own order.

        Args:
            sparql: a SELECT query in canonical form, IRIs written out.
            bound: values of variables (without `?`), which appear in every row; each must stand in the SELECT clause
                (`*` takes those of the patterns only). The only way in for blank nodes.
            joined: whether the rows are joined with others, or queried again, so that blank nodes need stable
                identities; a store without these refuses such rows.
        """

    def select_lines(self, queries: Sequence[str]) -> Generator[tuple[int, list[str]], None, None]:
        """The rows of several queries of `select`, read concurrently, as lines of SPARQL TSV (rdf.tsv reads them).

        Yields (index of a query, some of its lines), then (index, []) once: every row of every query, in no defined
        order. Close the generator unless it is read to its end.
        """

    def select_text(self, queries: Sequence[tuple[str, int]]) -> Generator[tuple[int, bytes], None, None]:
        """The same as text in UTF-8, for queries with their numbers of rows: (index of a query, some of its lines, the
        last one without its end), then (index, b"") once.
        """

    def ask(self, sparql: str, bound: Mapping[str, Term] | None = None) -> bool: ...

    def triples(self, sparql: str, bound: Mapping[str, Term] | None = None) -> Iterator[Triple]:
        """The graph of a CONSTRUCT or DESCRIBE, each triple once; `bound` takes any variable of the query."""

    def __len__(self) -> int:
        """Quads in the store, all graphs together."""


class RemoteStore(Protocol):
    """A graph on a server, without local statistics."""

    @property
    def repeats(self) -> bool:
        """Whether it may return a triple more than once, because several graphs are its default graph."""

    @property
    def trip_us(self) -> float:
        """Upper bound of a round trip in microseconds: the minimum time to the first byte of recent answers; inf before
        one.
        """

    def sample_prefix(self, sparql: str, variable: str, most: int, seconds: float) -> PrefixSample | None:
        """The first solutions of `SELECT ?variable WHERE { pattern }`, in canonical form, at most `most`; None where
        that takes longer than `seconds`, or is not supported.

        Where these are all, they are cached for one `select` of this query, or of the same with DISTINCT.
        """
