"""Responses of an endpoint, read row by row: SPARQL Results in JSON or TSV, and N-Triples.

Rows of a query are requested as JSON, because a truncated response is not JSON, while half a TSV is TSV. Oxigraph's
readers are used, at 400,000 rows a second; the memory that they may hold is bounded here.
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

ROWS = {JSON: QueryResultsFormat.JSON, "application/json": QueryResultsFormat.JSON, TSV: QueryResultsFormat.TSV}
"""Readable media types. Not XML, whose reader has no bound for nested triple terms."""

GRAPHS = {N_TRIPLES: RdfFormat.N_TRIPLES, "text/plain": RdfFormat.N_TRIPLES, "text/turtle": RdfFormat.TURTLE}

MAX_HEAD = 2**20
"""Maximum bytes before the first row."""

MAX_ROW = 2**26
"""Maximum bytes of one row, 64 MiB."""

T = TypeVar("T")


class _Bounded:
    """A response as a file for Oxigraph's readers, which buffer incomplete rows: up to a limit.

    Connection errors pass through Rust, which loses their type: `reading` raises them again.
    """

    def __init__(self, answer: EndpointResponse, json: JsonDepth | None = None, graph: GraphDepth | None = None):
        self._answer, self._held, self._limit = answer, 0, MAX_HEAD
        self._json, self._graph, self._waiting = json, graph, b""
        self._error: EndpointError | None = None

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most `size`."""
        try:
            piece, self._waiting = self._waiting or self._answer.read(size), b""
            if self._json is not None:
                self._json.feed(piece)
            if self._graph is not None:
                end = size if size > 0 else len(piece)
                if piece.count(OPEN) > MAX_DEPTH:  # in slices: few of them belong to statements that were not given yet
                    end = min(end, SLICE)
                piece, self._waiting = piece[:end], piece[end:]
                self._graph.feed(piece)
            self._held += len(piece)
            if self._held > self._limit:
                raise EndpointError(f"the endpoint's answer has a row, or a head, of more than {self._limit:,} bytes")
            return piece
        except EndpointError as e:
            self._error = e
            raise

    def end_row(self) -> None:
        """Marks the end of a row, from which the limit counts."""
        self._held, self._limit = 0, MAX_ROW
        if self._graph is not None:
            self._graph.end_statement()

    def reading(self, work: Callable[[], T], url: str) -> T:
        """The result of `work`. Raises EndpointError: the response is malformed, or the connection broke."""
        try:
            return work()
        except (SyntaxError, ValueError, OSError, EndpointError) as e:
            error, self._error = self._error, None
            try:
                if error is not None:
                    raise error from None
                if isinstance(e, EndpointError):
                    raise
                raise malformed(url, e) from e
            finally:
                del error  # or it would hold its own traceback, and so everything that was read


def malformed(url: str, error: Exception) -> EndpointError:
    """The error of a response that cannot be parsed."""
    reason = " ".join("".join(c if c.isprintable() else " " for c in str(error)).split())
    return EndpointError(f"{url} sent an answer that is malformed, or ends too early: {reason[:200]}")


def solutions(answer: EndpointResponse, url: str) -> tuple[tuple[str, ...], Iterator[Row]]:
    """The variables and lazy rows of a SELECT. Raises EndpointError, also later: the response is another one."""
    file, results = _parsed(answer, url)
    if not isinstance(results, QuerySolutions):
        raise EndpointError(f"{url} answers a SELECT with true or false")

    variables = tuple(variable.value for variable in results.variables)

    def rows() -> Iterator[Row]:
        nonlocal results
        try:
            while (solution := file.reading(lambda: next(results, None), url)) is not None:
                file.end_row()
                yield cast(Row, tuple(solution))
        finally:
            results = None  # Oxigraph's readers must end in their own thread, and a traceback holds this frame

    return variables, rows()


def truth(answer: EndpointResponse, url: str) -> bool:
    """The result of an ASK. Raises EndpointError: the response is not one to an ASK."""
    _, result = _parsed(answer, url)
    if not isinstance(result, QueryBoolean):
        raise EndpointError(f"{url} answers an ASK with rows")
    return bool(result)


def _parsed(answer: EndpointResponse, url: str) -> tuple[_Bounded, Any]:
    kind = _format(answer, url, ROWS)
    file = _Bounded(answer, json=JsonDepth(url) if kind == QueryResultsFormat.JSON else None)
    result = file.reading(lambda: parse_query_results(cast(IO[bytes], file), format=kind), url)
    file.end_row()
    return file, result


def triples(answer: EndpointResponse, url: str) -> Iterator[Triple]:
    """The triples of a CONSTRUCT or DESCRIBE. Raises EndpointError, also later: the response is another one."""
    kind = _format(answer, url, GRAPHS)
    file = _Bounded(answer, graph=GraphDepth(url))
    file.end_row()
    quads: Any = file.reading(lambda: iter(parse(cast(IO[bytes], file), format=kind)), url)
    try:
        while (quad := file.reading(lambda: next(quads, None), url)) is not None:
            file.end_row()
            yield Triple(quad.subject, quad.predicate, quad.object)
    finally:
        quads = None  # as above


def _format(answer: EndpointResponse, url: str, kinds: dict[str, T]) -> T:
    kind = kinds.get(answer.kind)
    if kind is None:
        what = "a web page" if "html" in answer.kind else f"{answer.kind[:60]!r}"
        raise EndpointError(
            f"{url} answers with {what}, and not as a SPARQL endpoint does",
            hint="many endpoints end in /sparql or /query; `graph` in kb.toml names it",
        )
    return kind
