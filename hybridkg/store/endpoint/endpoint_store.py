"""A GraphStore at a SPARQL endpoint.

It differs from a local store in three ways, none of which passes silently. An endpoint may cut a response at some
number of rows: one as long as the longest known response is counted, and read by pages where it was cut. Labels of
blank nodes are valid in one response only: none is sent, and none is joined. Terms keep their lexical form: they are
converted to Oxigraph's, which the projection has, too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import chain, count, islice, takewhile
from typing import Final, cast

from hybridkg.errors import EndpointError, UnsupportedQueryError
from hybridkg.interfaces.graph_store import PrefixSample
from hybridkg.rdf.solutions import Row, SolutionStream
from hybridkg.rdf.stored import as_stored
from hybridkg.rdf.terms import (
    RDF_LANG_STRING,
    XSD_STRING,
    BlankNode,
    Literal,
    NamedNode,
    Term,
    Triple,
    term_text,
    triple_of,
)
from hybridkg.store.endpoint.answers import JSON, N_TRIPLES, solutions, triples, truth
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.recent_answers import RecentAnswers

COUNT = "n"

LINES_AT_ONCE = 10_000

MAX_BYTES = 2**22
"""Maximum bytes of a prefix sample: 2,000 IRIs of 2,000 characters."""

LATE_SHARE = 0.1
"""Maximum share of the time that is lost to the planner's samples that come too late, or not at all."""

_DATASET = re.compile(r"\bFROM\s+(NAMED\s+)?<")
_COLUMNS = re.compile(
    r"(?:(?:BASE|PREFIX \w*:) <[^>]*>\s+)*SELECT\s+(?:DISTINCT\s+|REDUCED\s+)?((?:\?\w+\s+)+)(?:FROM\b|WHERE\b|\{)"
)
"""The variables of a SELECT clause without expressions."""

_ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)
_PLAIN: Final = (XSD_STRING, RDF_LANG_STRING)


class EndpointStore:
    """A GraphStore over the SPARQL 1.1 protocol. Safe to use from many threads.

    Args:
        connection: to the endpoint.
        longest: rows of the longest known response; shorter ones are complete. Until an export has measured it, every
            response with a row is counted.
        is_capped: whether the endpoint is known to give no more than `longest` rows.
        repeats: whether the endpoint repeats a triple for each graph of a union.
    """

    def __init__(self, connection: Connection, *, longest: int = 1, is_capped: bool = False, repeats: bool = True):
        self.repeats = repeats
        self.connection, self._longest, self._is_capped = connection, max(longest, 1), is_capped
        self._graphs, self._next_sample_at, self._recent = count(), 0.0, RecentAnswers()

    def __bool__(self) -> bool:
        """True, because `len` would cost a request."""
        return True

    @property
    def url(self) -> str:
        """The address, without credentials."""
        return self.connection.url

    @property
    def trip_us(self) -> float:
        """The current round trip in microseconds: see RemoteStore."""
        return self.connection.trip_us

    def read_ahead(self) -> None:
        """Does nothing: the files are remote."""

    def select(self, sparql: str, bound: Mapping[str, Term] | None = None, *, joined: bool = False) -> SolutionStream:
        """Rows of a SELECT, in the endpoint's own order.

        Args:
            sparql: a SELECT query in canonical form, IRIs written out.
            bound: values of variables (without `?`), which must be in the SELECT clause; repeated in every row.
            joined: whether the rows are joined with others, or used in another query.

        Raises:
            EndpointError: it does not respond, or the response cannot be used; also while the rows are read.
            UnsupportedQueryError: a bound value is a blank node; or, `joined`, a row has one.
        """
        text = _with_values(sparql, bound)
        variables, rows = self._recent.take(text) or self._all_rows(text)
        return SolutionStream(variables, self._terms(variables, iter(rows), joined))

    def _all_rows(self, text: str) -> tuple[tuple[str, ...], Iterator[Row]]:
        """All rows, or an error; a response that may have been cut is counted."""
        with ExitStack() as stack:
            variables, first, rest = self._first_rows(text, stack)
            if rest is None:
                return variables, iter(first)
            following = next(rest, None)
            if following is None:
                if (n := self._counted(text, len(first))) == len(first):
                    return variables, iter(first)
                if self._is_capped and n > len(first):
                    return variables, self._paged(text, variables, n)
                raise self._cut_error(len(first), n)
            later = stack.pop_all()
            return variables, self._checked(text, chain(first, [following], rest), later)

    def _first_rows(self, text: str, stack: ExitStack) -> tuple[tuple[str, ...], list[Row], Iterator[Row] | None]:
        """The variables, the first rows and the rest; no rest for a response that is surely complete.

        Until rows have been passed on, a lost connection is retried.
        """

        def opened() -> tuple[tuple[str, ...], list[Row], Iterator[Row] | None]:
            with ExitStack() as own:
                answer = own.enter_context(self.connection.stream(text, JSON))
                variables, rows = self._in_order(text, *solutions(answer, self.url))
                first = list(islice(rows, self._longest))
                if len(first) < self._longest:
                    return variables, first, None
                stack.enter_context(own.pop_all())
                return variables, first, rows

        return self.connection.retrying(opened)

    def _in_order(
        self, text: str, variables: tuple[str, ...], rows: Iterator[Row]
    ) -> tuple[tuple[str, ...], Iterator[Row]]:
        """The columns in the order of the SELECT clause, on which readers of rows rely."""
        head = _COLUMNS.match(text)
        selected = variables if head is None else tuple(name[1:] for name in head[1].split())
        if variables == selected:
            return variables, rows
        if sorted(variables) != sorted(selected):
            raise EndpointError(
                f"{self.url} returned the columns {' '.join(variables)[:200]}, not {' '.join(selected)}"
            )
        at = [variables.index(name) for name in selected]
        return selected, (tuple([row[i] for i in at]) for row in rows)

    def _checked(self, text: str, rows: Iterator[Row], own: ExitStack) -> Iterator[Row]:
        """The rows, counted at the end."""
        received = 0
        with own:
            for row in rows:
                received += 1
                yield row
        n = self._counted(text, received)
        if n != received:
            raise self._cut_error(received, n)

    def _counted(self, text: str, received: int) -> int:
        """The number of rows of a query, counted by the endpoint."""
        if _DATASET.search(text):
            raise EndpointError(
                f"{self.url} gave {received:,} rows, which may not be all: a query with FROM cannot be counted",
                hint="use GRAPH in place of FROM, or a LIMIT",
            )
        with ExitStack() as own:
            _, first, _ = self._first_rows(_around(text, f"SELECT (COUNT(*) AS ?{COUNT}) WHERE"), own)
        try:
            return int(cast(Literal, first[0][0]).value)
        except (IndexError, ValueError, AttributeError) as e:
            raise EndpointError(f"{self.url} answers a COUNT with a value that is not a number") from e

    def sample_prefix(self, sparql: str, variable: str, most: int, seconds: float) -> PrefixSample | None:
        """The first solutions of a pattern: see RemoteStore. A sample that comes too late delays the next one."""
        began = time.monotonic()
        if began < self._next_sample_at or _DATASET.search(sparql):
            return None
        try:
            with self.connection.stream(f"{sparql} LIMIT {most}", JSON, seconds, within=seconds) as answer:
                variables, solution_rows = solutions(answer, self.url)
                rows = list(islice(takewhile(lambda _: answer.received < MAX_BYTES, solution_rows), most + 1))
            if answer.received >= MAX_BYTES or variables != (variable,) or len(rows) > most:
                raise EndpointError(f"{self.url} sent an unexpected response")
        except EndpointError:  # the query itself will report the error
            now = time.monotonic()
            self._next_sample_at = now + (now - began) / LATE_SHARE
            return None
        is_whole = len(rows) < min(most, self._longest)
        if is_whole:
            self._recent.put(sparql, variables, rows)
        return PrefixSample(len(rows), len({row[0] for row in rows}), is_whole)

    def _paged(self, text: str, variables: Sequence[str], n: int) -> Iterator[Row]:
        """The n rows of a query, by pages of the longest response."""
        if _ORDER.search(text):
            raise self._cut_error(self._longest, n)
        keys, received = " ".join(f"?{name}" for name in variables), 0
        while received < n:
            page = f"{_around(text, f'SELECT {keys} WHERE')} ORDER BY {keys} LIMIT {self._longest} OFFSET {received}"
            with ExitStack() as own:
                _, rows, _ = self._first_rows(page, own)
            if not rows:
                raise self._cut_error(received, n)
            received += len(rows)
            yield from rows
        if received > n:
            raise self._cut_error(received, n)

    def _cut_error(self, received: int, n: int) -> EndpointError:
        if received > n:
            return EndpointError(f"{self.url} gave {received:,} rows, and counts {n:,}: its graph is being changed")
        return EndpointError(
            f"{self.url} gave only {received:,} of {n:,} rows",
            hint="ask for fewer with LIMIT, or have the endpoint's limit raised;\n"
            "hybridkg index measures where it cuts answers, and patterns are then read by pages",
        )

    def _terms(self, variables: Sequence[str], rows: Iterator[Row], joined: bool) -> Iterator[Row]:
        """Rows with terms in Oxigraph's form."""
        names: dict[str, BlankNode] = {}

        def own(cell: Term | None, variable: str) -> Term | None:
            if isinstance(cell, Triple):
                return triple_of(own(cell.subject, variable), cell.predicate, own(cell.object, variable))
            if not isinstance(cell, BlankNode):
                return stored(cell)
            if joined:
                raise UnsupportedQueryError(
                    f"the endpoint gives a blank node for ?{variable}, which no other query can refer to",
                    hint='projection = "export" in the table [endpoint] answers most patterns with their '
                    "blank nodes;\nor FILTER(!isBlank(...)), or IRIs in their place at the endpoint",
                )
            return names.setdefault(cell.value, BlankNode(f"b{len(names)}"))

        for row in rows:
            yield tuple([own(cell, variable) for cell, variable in zip(row, variables, strict=True)])

    def select_lines(self, queries: Sequence[str]) -> Generator[tuple[int, list[str]], None, None]:
        """The rows of several SELECTs, one query after another, as lines of SPARQL TSV: see GraphStore."""
        for i, text in enumerate(queries):
            rows = self.select(text).rows
            while batch := list(islice(rows, LINES_AT_ONCE)):
                yield i, ["\t".join("" if cell is None else term_text(cell) for cell in row) for row in batch]
            yield i, []

    def select_text(self, queries: Sequence[tuple[str, int]]) -> Generator[tuple[int, bytes], None, None]:
        """As `select_lines`, but as bytes: see GraphStore."""
        for i, lines in self.select_lines([text for text, _ in queries]):
            yield i, "\n".join(lines).encode()

    def ask(self, sparql: str, bound: Mapping[str, Term] | None = None) -> bool:
        """Whether an ASK has a solution. Raises EndpointError; UnsupportedQueryError: a bound blank node."""
        text = _with_values(sparql, bound)

        def asked_once() -> bool:
            with self.connection.stream(text, JSON) as answer:
                return truth(answer, self.url)

        return self.connection.retrying(asked_once)

    def triples(self, sparql: str, bound: Mapping[str, Term] | None = None) -> Iterator[Triple]:
        """The distinct triples of a CONSTRUCT or DESCRIBE, all in memory.

        Raises:
            EndpointError: it does not respond, or with so many triples that they may have been cut.
            UnsupportedQueryError: a bound value is a blank node.
        """
        text, mark = _with_values(sparql, bound), next(self._graphs)

        def read() -> list[Triple]:
            with self.connection.stream(text, N_TRIPLES) as answer:
                return list(triples(answer, self.url))

        graph = self.connection.retrying(read)
        if self._is_capped and len(graph) >= self._longest:
            raise EndpointError(
                f"{self.url} cuts answers at {self._longest:,} rows, and this graph has {len(graph):,} triples",
                hint="use SELECT, whose rows can be counted",
            )
        names: dict[str, BlankNode] = {}

        def named(term: Term) -> Term:
            if isinstance(term, BlankNode):
                return names.setdefault(term.value, BlankNode(f"g{mark}b{len(names)}"))
            return cast(Term, stored(term))

        renamed = (Triple(cast(NamedNode, named(t.subject)), t.predicate, named(t.object)) for t in graph)
        return iter(dict.fromkeys(renamed))

    def __len__(self) -> int:
        """Quads of all graphs, counted by the endpoint."""
        text = "SELECT ?s WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        return self._counted(text, 0)


def _around(text: str, head: str) -> str:
    """A query over the rows of another one, whose BASE and PREFIX stay in front.

    >>> _around("SELECT ?s { ?s ?p ?o }", "SELECT ?s WHERE")
    'SELECT ?s WHERE { { SELECT ?s { ?s ?p ?o } } }'
    """
    front = ""
    while text.startswith(("BASE ", "PREFIX ")):
        line, _, text = text.partition("\n")
        front += line + "\n"
    return f"{front}{head} {{ {{ {text} }} }}"


def _with_values(sparql: str, bound: Mapping[str, Term] | None) -> str:
    """The query with a VALUES block, first in its group: some engines evaluate a whole pattern before values behind it.

    Raises:
        UnsupportedQueryError: a value is a blank node.

    >>> _with_values("SELECT ?x WHERE { ?x ?p ?o }", {"x": NamedNode("x:a")})
    'SELECT ?x WHERE { VALUES (?x) { (<x:a>) } ?x ?p ?o }'
    """
    if not bound:
        return sparql
    for name, value in bound.items():
        if isinstance(value, BlankNode):
            raise UnsupportedQueryError(
                f"?{name} is a blank node, and no query to an endpoint can refer to one",
                hint="patterns that the projection answers can have blank nodes; at the endpoint, use IRIs instead",
            )
    names, values = " ".join(f"?{name}" for name in bound), " ".join(map(term_text, bound.values()))
    head, brace, tail = sparql.partition("{")
    return f"{head}{brace} VALUES ({names}) {{ ({values}) }}{tail}"


def stored(term: Term | None) -> Term | None:
    """The term in Oxigraph's form, in which numbers, dates and booleans are canonical.

    >>> str(stored(Literal("+07", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))))
    '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if isinstance(term, Literal) and term.datatype not in _PLAIN:
        return _canonical(term)
    return term


@lru_cache(8_192)
def _canonical(literal: Literal) -> Literal:
    return as_stored(literal)
