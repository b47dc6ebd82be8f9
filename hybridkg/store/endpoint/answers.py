"""What an endpoint answers, read row by row: SPARQL Results in JSON or TSV, and N-Triples.

JSON is asked for where rows go to a query: an answer that ends too early is
not JSON, while half a TSV is TSV. Oxigraph's own readers are used, which read
400,000 rows a second; how much they may hold is bounded here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar, cast

from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, RdfFormat, parse, parse_query_results

from hybridkg.errors import EndpointError
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import Triple
from hybridkg.store.endpoint.connection import EndpointResponse
from hybridkg.store.endpoint.depth import SLICE, GraphDepth, JsonDepth
from hybridkg.store.rdf_io.nesting_guard import MAX_DEPTH, OPEN

JSON, TSV, N_TRIPLES = "application/sparql-results+json", "text/tab-separated-values", "application/n-triples"

ROWS = {
    JSON: QueryResultsFormat.JSON,
    "application/json": QueryResultsFormat.JSON,
    TSV: QueryResultsFormat.TSV,
}
"""What can be read, by media type. Not XML, which nobody asks for: its reader has no bound for nested triple terms."""

GRAPHS = {N_TRIPLES: RdfFormat.N_TRIPLES, "text/plain": RdfFormat.N_TRIPLES, "text/turtle": RdfFormat.TURTLE}

MAX_HEAD = 2**20
"""Bytes before the first row."""

MAX_ROW = 2**26
"""Bytes of one row: a literal of 64 MiB is no text that anybody searches."""

T = TypeVar("T")


class _Bounded:
    """An answer as a file for Oxigraph's readers, which hold what they have not understood yet: so much at most.

    What goes wrong with the connection passes through Rust, which keeps no type of ours: it is raised again here.
    """

    def __init__(self, answer: EndpointResponse, json: JsonDepth | None = None, graph: GraphDepth | None = None):
        self._answer, self._held, self._most = answer, 0, MAX_HEAD
        self._json, self._graph, self._waiting = json, graph, b""
        self._failed: EndpointError | None = None

    def read(self, size: int = -1) -> bytes:
        """As a file has it."""
        try:
            piece, self._waiting = self._waiting or self._answer.read(size), b""
            if self._json is not None:
                self._json.saw(piece)
            if self._graph is not None:
                most = size if size > 0 else len(piece)
                if piece.count(OPEN) > MAX_DEPTH:  # in slices: few of them belong to statements that were not given yet
                    most = min(most, SLICE)
                piece, self._waiting = piece[:most], piece[most:]
                self._graph.saw(piece)
            self._held += len(piece)
            if self._held > self._most:
                raise EndpointError(f"the endpoint's answer has a row, or a head, of more than {self._most:,} bytes")
            return piece
        except EndpointError as e:
            self._failed = e
            raise

    def understood(self) -> None:
        """A row has been read."""
        self._held, self._most = 0, MAX_ROW
        if self._graph is not None:
            self._graph.understood()

    def reading(self, work: Callable[[], T], url: str) -> T:
        """What the work gives.

        Raises:
            EndpointError: the answer is not what it says to be, or its connection broke.
        """
        try:
            return work()
        except (SyntaxError, ValueError, OSError, EndpointError) as e:
            failed, self._failed = self._failed, None
            try:
                if failed is not None:
                    raise failed from None
                if isinstance(e, EndpointError):
                    raise
                raise malformed(url, e) from e
            finally:
                del failed  # or it would hold its own traceback, and so all that was read


def malformed(url: str, error: Exception) -> EndpointError:
    """The answer cannot be read."""
    said = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return EndpointError(f"{url} sent an answer that is malformed, or ends too early: {said[:200]}")


def solutions(answer: EndpointResponse, url: str) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The variables and the rows of a SELECT.

    Raises:
        EndpointError: it is no answer to a SELECT; also while the rows are read.
    """
    file, found = _parsed(answer, url)
    if not isinstance(found, QuerySolutions):
        raise EndpointError(f"{url} answers a SELECT with true or false")

    variables = tuple(variable.value for variable in found.variables)

    def rows() -> Iterator[Row]:
        nonlocal found
        try:
            while (solution := file.reading(lambda: next(found, None), url)) is not None:
                file.understood()
                yield cast(Row, tuple(solution))
        finally:
            found = None  # Oxigraph's readers may end in their own thread only, and a traceback holds this frame

    return variables, rows()


def truth(answer: EndpointResponse, url: str) -> bool:
    """The answer to an ASK.

    Raises:
        EndpointError: it is none.
    """
    _, found = _parsed(answer, url)
    if not isinstance(found, QueryBoolean):
        raise EndpointError(f"{url} answers an ASK with rows")
    return bool(found)


def _parsed(answer: EndpointResponse, url: str) -> tuple[_Bounded, Any]:
    kind = _known(answer, url, ROWS)
    file = _Bounded(answer, json=JsonDepth(url) if kind == QueryResultsFormat.JSON else None)
    found = file.reading(lambda: parse_query_results(cast(IO[bytes], file), format=kind), url)
    file.understood()
    return file, found


def triples(answer: EndpointResponse, url: str) -> Iterator[Triple]:
    """The triples of a graph.

    Raises:
        EndpointError: it is none; also while they are read.
    """
    kind = _known(answer, url, GRAPHS)
    file = _Bounded(answer, graph=GraphDepth(url))
    file.understood()
    found: Any = file.reading(lambda: iter(parse(cast(IO[bytes], file), format=kind)), url)
    try:
        while (quad := file.reading(lambda: next(found, None), url)) is not None:
            file.understood()
            yield Triple(quad.subject, quad.predicate, quad.object)
    finally:
        found = None  # as above


def _known(answer: EndpointResponse, url: str, kinds: dict[str, T]) -> T:
    kind = kinds.get(answer.kind)
    if kind is None:
        what = "a web page" if "html" in answer.kind else f"{answer.kind[:60]!r}"
        raise EndpointError(
            f"{url} answers with {what}, and not as a SPARQL endpoint does",
            hint="many endpoints end in /sparql or /query; `graph` in kb.toml names it",
        )
    return kind
