"""The graph in Oxigraph: the source of truth and the SPARQL engine.

Queries are written by hybridkg itself, so a syntax error is a bug and surfaces as one; a failing disk is a
StorageError, damaged files are a CorruptError.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeVar, cast

from pyoxigraph import (
    DefaultGraph,
    QueryBoolean,
    QueryResultsFormat,
    QuerySolutions,
    QueryTriples,
    RdfFormat,
    Store,
)

from hybridkg.errors import StorageError, UnsupportedQueryError, UserError
from hybridkg.rdf.solutions import Row, SolutionStream
from hybridkg.rdf.terms import Literal, Quad, Term, Triple, Variable
from hybridkg.store.graph_files import TABLE, damage_is_told
from hybridkg.store.result_lines import Output, Writer, read_chunks, read_lines

T = TypeVar("T")

MAX_ROWS_AT_ONCE = 400_000
"""Rows of a result that is written in one piece, taking the interpreter's lock once and not every 8 KB; about 40 MB."""

_UNKNOWN_FUNCTION = re.compile(r"The custom (?:aggregate )?function (<[^>]*>) is not supported")

NO_TRIPLE = "returned a triple term that is not a valid RDF 1.2 term"
"""Sign of Oxigraph's error for such a pattern; it has no solution, but Oxigraph 0.5.13 fails."""


class OxigraphStore:
    """A read-only GraphStore on pyoxigraph. Safe to use from many threads.

    Args:
        store: opened read-only, or in memory; None for that of the folder, which the first use opens.
        union_default_graph: whether patterns outside GRAPH match the triples of all graphs.
        folder: of the store; None for one in memory.
    """

    def __init__(self, store: Store | None, *, union_default_graph: bool = False, folder: Path | None = None):
        self._opened, self._is_closed, self._opening = store, False, threading.Lock()
        self._union, self._folder = union_default_graph, folder

    @property
    def _store(self) -> Store:
        store = self._opened
        if store is not None:
            return store
        with self._opening:
            if self._opened is None:
                if self._is_closed or self._folder is None:
                    raise UserError("the transaction of this state has ended", hint="ask the knowledge base again")
                self._opened = _opened(self._folder)
            return self._opened

    @property
    def is_open(self) -> bool:
        """Whether the first use need not open the store."""
        return self._opened is not None

    def close(self) -> None:
        """Drops the store, so that its files can be closed whoever still has this object; later use is an error."""
        with self._opening:
            self._opened, self._is_closed = None, True

    @property
    def url(self) -> str:
        """Empty, because the graph is local."""
        return ""

    @classmethod
    def open(cls, path: Path, *, union_default_graph: bool = False) -> OxigraphStore:
        """Opens a `graph` folder, which must have no writer. Raises StorageError: unreadable; CorruptError: damaged."""
        return cls(_opened(path), union_default_graph=union_default_graph, folder=path)

    @classmethod
    def written(cls, path: Path, *, union_default_graph: bool = False) -> OxigraphStore:
        """A `graph` folder that this process has just written and closed, which the first use opens.

        Opening takes 15 ms and 150 threads, and most commits are followed by another one, or by queries that the
        indexes answer. Errors are those of `open`, at the first use.
        """
        return cls(None, union_default_graph=union_default_graph, folder=path)

    @classmethod
    def memory(cls, statements: Iterable[Quad | Triple] = (), *, union_default_graph: bool = False) -> OxigraphStore:
        """A store in memory with the given quads; triples go to the default graph.

        >>> from hybridkg.rdf.terms import Literal, NamedNode
        >>> store = OxigraphStore.memory([Quad(NamedNode("a:a"), NamedNode("a:p"), Literal("x"))])
        >>> [str(row[0]) for row in store.select("SELECT ?o { <a:a> <a:p> ?o }").rows]
        ['"x"']
        """
        store = Store()
        store.extend(s if isinstance(s, Quad) else Quad(s.subject, s.predicate, s.object) for s in statements)
        return cls(store, union_default_graph=union_default_graph)

    def __contains__(self, quad: object) -> bool:
        """Whether the graph has a quad, whose literal is in the store's form. Raises OSError."""
        return quad in self._store

    def read_ahead(self) -> None:
        """Has the operating system read the files sequentially, because Oxigraph looks terms up at random places.

        Measured on 6.7 million triples with cold files: 98,000 rows/s without it, 135,000 with it.
        """
        if self._folder is None or not hasattr(os, "posix_fadvise"):
            return
        tables = sorted(self._folder.glob(f"*{TABLE}"))
        if sum(table.stat().st_size for table in tables) > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2:
            return  # the last tables would evict the first
        for table in tables:
            with table.open("rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)

    def select(self, sparql: str, bound: Mapping[str, Term] | None = None, *, joined: bool = False) -> SolutionStream:
        """Rows of a SELECT, in the store's own order.

        Args:
            sparql: a SELECT query in canonical form, IRIs written out.
            bound: values of variables (without `?`), which must be in the SELECT clause (`*` takes those of the
                patterns only); repeated in every row. The only way in for blank nodes.
            joined: ignored: labels of blank nodes are the same in every result of this store.

        Raises:
            StorageError: the disk failed, at once or while the rows are read.
            CorruptError: the data are damaged.
            UnsupportedQueryError: the query calls a function that Oxigraph does not have.
            RuntimeError: a bound variable is not selected.
        """
        answer = self._ask_store(sparql, bound)
        if not isinstance(answer, QuerySolutions):
            raise TypeError(f"not a SELECT query: {sparql!r}")
        return SolutionStream(tuple(v.value for v in answer.variables), _rows(answer))

    def select_lines(self, queries: Sequence[str]) -> Generator[tuple[int, list[str]], None, None]:
        """The rows of several SELECTs as lines of SPARQL TSV, read concurrently by a few threads.

        Yields:
            (index of a query, some of its lines), then (index, []) once; all rows in an unspecified order. Close the
            generator unless it is read to its end.

        Raises:
            StorageError: the disk failed.
        """
        return read_lines([self._writer(sparql) for sparql in queries])

    def select_text(self, queries: Sequence[tuple[str, int]]) -> Generator[tuple[int, bytes], None, None]:
        """As `select_lines`, for queries with their numbers of rows, but as bytes, b"" at the end."""
        return read_chunks([self._writer(sparql, rows) for sparql, rows in queries])

    def _writer(self, sparql: str, rows: int | None = None) -> Writer:
        def counted() -> int:
            count = f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {sparql} LIMIT {MAX_ROWS_AT_ONCE} }} }}"
            return int(cast(Literal, next(self.select(count).rows)[0]).value)

        def write(output: Output) -> None:
            answer = self._ask_store(sparql, None)
            if not isinstance(answer, QuerySolutions):
                raise TypeError(f"not a SELECT query: {sparql!r}")
            with _reading_errors("reading the graph failed"):
                if (counted() if rows is None else rows) < MAX_ROWS_AT_ONCE:
                    output.write(cast(bytes, answer.serialize(format=QueryResultsFormat.TSV)))
                else:
                    answer.serialize(cast(IO[bytes], output), QueryResultsFormat.TSV)

        return write

    def ask(self, sparql: str, bound: Mapping[str, Term] | None = None) -> bool:
        """Whether an ASK has a solution; `bound` takes any variable of it. Raises StorageError: the disk failed."""
        answer = self._ask_store(sparql, bound)
        if not isinstance(answer, QueryBoolean):
            raise TypeError(f"not an ASK query: {sparql!r}")
        return bool(answer)

    def triples(self, sparql: str, bound: Mapping[str, Term] | None = None) -> Iterator[Triple]:
        """Distinct triples of a CONSTRUCT or DESCRIBE, in memory; `bound` as in `ask`. Raises StorageError."""
        answer = self._ask_store(sparql, bound)
        if not isinstance(answer, QueryTriples):
            raise TypeError(f"neither a CONSTRUCT nor a DESCRIBE query: {sparql!r}")
        seen: set[Triple] = set()
        for triple in _with_reading_errors(answer):
            if triple not in seen:
                seen.add(triple)
                yield triple

    def quads(self) -> Iterator[Quad]:
        """Every quad, in the store's own order; about 5 us each. Raises StorageError: the disk failed."""
        return _with_reading_errors(iter(self._store))

    def dump(self, output: IO[bytes], syntax: RdfFormat) -> None:
        """Writes every quad, or the default graph in a syntax without graphs, in the store's own order.

        That order follows from the quads alone: the default graph comes first, and terms are sorted by their keys in
        the store, hashes mostly. About 6 us a quad.

        Raises:
            StorageError: the disk failed, or the output did.
        """
        graph = None if syntax.supports_datasets else DefaultGraph()
        with _reading_errors("reading the graph failed"):
            self._store.dump(output, syntax, from_graph=graph)

    def _ask_store(self, sparql: str, bound: Mapping[str, Term] | None) -> object:
        substitutions = {Variable(name): term for name, term in bound.items()} if bound else None
        with _reading_errors("reading the graph failed"):
            return self._store.query(sparql, use_default_graph_as_union=self._union, substitutions=substitutions)

    def __len__(self) -> int:
        """Quads of all graphs; reads all of them."""
        with _reading_errors("reading the graph failed"):
            return len(self._store)


def _opened(folder: Path) -> Store:
    with _reading_errors(f"cannot open the graph {str(folder)!r}"):
        return Store.read_only(str(folder))


def _rows(answer: QuerySolutions) -> Iterator[Row]:
    return cast(Iterator[Row], _with_reading_errors(map(tuple, answer)))


def _with_reading_errors(items: Iterable[T]) -> Iterator[T]:
    with _reading_errors("reading the graph failed"):
        yield from items


@contextmanager
def _reading_errors(what_failed: str) -> Iterator[None]:
    """Maps Oxigraph's exceptions: a failing disk, damage, an unsupported function; bugs surface as they are."""
    try:
        with damage_is_told(what_failed):
            yield
    except OSError as e:
        raise StorageError(f"{what_failed}: {e}") from e
    except RuntimeError as e:
        if function := _UNKNOWN_FUNCTION.search(str(e)):
            raise UnsupportedQueryError(
                f"the function {function[1]} is not supported", hint="use SPARQL's functions and the casts of xsd:"
            ) from e
        if NO_TRIPLE in str(e):
            raise UnsupportedQueryError(
                "a triple term of the query has a literal or a triple term as its subject: no graph has such a triple",
                hint="if the subject is a variable, say what it is: FILTER(!isLITERAL(?x))",
            ) from e
        raise
