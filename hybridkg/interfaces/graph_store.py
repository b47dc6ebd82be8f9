"""What the engine asks of a triple store."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from hybridkg.rdf.solutions import SolutionStream
from hybridkg.rdf.terms import Term, Triple


class PrefixSample(NamedTuple):
    """What a pattern was found to have, as far as it was read.

    Args:
        rows: solutions.
        values: distinct values that they give one variable.
        is_whole: whether these are all.
    """

    rows: int
    values: int
    is_whole: bool


class GraphStore(Protocol):
    """Answers SPARQL text that hybridkg itself wrote; safe to use from many threads."""

    @property
    def url(self) -> str:
        """Address of the SPARQL endpoint that has the graph, without credentials; empty where it lies here."""

    def read_ahead(self) -> None:
        """Most of the graph is about to be read, in an order that a disk is slow in."""

    def select(self, sparql: str, bound: Mapping[str, Term] | None = None, *, joined: bool = False) -> SolutionStream:
        """Rows of a SELECT, in the store's own order.

        Args:
            sparql: a SELECT query in canonical form, IRIs written out.
            bound: variables (without `?`) that have a value beforehand and in every row; each must stand in the
                SELECT clause (`*` takes those of the patterns only). The only way in for blank nodes.
            joined: the rows are joined with others, or asked about again, so a blank node in them has to be the same
                everywhere. A store whose blank nodes are not refuses such rows.
        """

    def select_lines(self, queries: Sequence[str]) -> Generator[tuple[int, list[str]], None, None]:
        """The rows of several SELECTs, read side by side, as lines of SPARQL TSV (rdf.tsv reads them).

        Args:
            queries: as for `select`.

        Yields:
            (index of a query, some of its lines), then (index, []) once: every row of every query, in no order to
            rely on. Close the generator unless it is read to its end.
        """

    def select_text(self, queries: Sequence[tuple[str, int]]) -> Generator[tuple[int, bytes], None, None]:
        """The same as text in UTF-8: (index of a query, some of its lines, the last one without its end), then
        (index, b"") once.

        Args:
            queries: as for `select`, each with the number of its rows.
        """

    def ask(self, sparql: str, bound: Mapping[str, Term] | None = None) -> bool:
        """Whether an ASK query has a solution."""

    def triples(self, sparql: str, bound: Mapping[str, Term] | None = None) -> Iterator[Triple]:
        """The graph that a CONSTRUCT or DESCRIBE makes, each triple once; `bound` takes any variable of the query."""

    def __len__(self) -> int:
        """Quads in the store, all graphs together."""


class RemoteStore(Protocol):
    """A graph that is far away, of which the planner knows nothing beforehand."""

    @property
    def repeats(self) -> bool:
        """Whether it may give a triple more than once, because several graphs are its default graph."""

    @property
    def trip_us(self) -> float:
        """Microseconds until the quickest of its last answers began: a round trip takes no longer. inf before one."""

    def sample_prefix(self, sparql: str, variable: str, most: int, seconds: float) -> PrefixSample | None:
        """The first solutions of a pattern; None where that takes too long, or cannot be done.

        Where these are all, `select` gives them without asking again, once and at once, for this query and for the same
        with DISTINCT.

        Args:
            sparql: `SELECT ?variable WHERE { the pattern }`, in canonical form.
            variable: without `?`.
            most: solutions that are read.
            seconds: that it may take.
        """
