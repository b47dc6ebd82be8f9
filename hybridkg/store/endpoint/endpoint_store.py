"""A graph at a SPARQL endpoint, as hybridkg asks any graph.

Three things are not as in a store of one's own, and none of them passes in silence. An endpoint may cut an answer at
some number of rows: one as long as the longest that it is known to give is counted, and read by pages where it was
cut. Its blank nodes mean something in one answer only: none is sent to it, and none that it gives is joined. And it
keeps terms as they were written: they are read into the form that Oxigraph, and so the projection, has.
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
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, BlankNode, Literal, NamedNode, Term, Triple
from hybridkg.store.endpoint.answers import JSON, N_TRIPLES, solutions, triples, truth
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.recent_answers import KeptAnswers

COUNT = "n"

LINES_AT_ONCE = 10_000

MAX_BYTES = 2**22
"""Of the first solutions of a pattern: 2,000 IRIs of 2,000 characters."""

LATE_SHARE = 0.1
"""At most this share of the time is lost to first solutions for the planner that come too late, or not at all."""

_DATASET = re.compile(r"\bFROM\s+(NAMED\s+)?<")
_COLUMNS = re.compile(
    r"(?:(?:BASE|PREFIX \w*:) <[^>]*>\s+)*SELECT\s+(?:DISTINCT\s+|REDUCED\s+)?((?:\?\w+\s+)+)(?:FROM\b|WHERE\b|\{)"
)
"""The variables of a SELECT clause that has nothing else."""

_ORDER = re.compile(r"\bORDER\s+BY\b", re.IGNORECASE)
_PLAIN: Final = (XSD_STRING, RDF_LANG_STRING)


class EndpointStore:
    """A GraphStore over the SPARQL 1.1 protocol; many threads may ask at once.

    Args:
        connection: the way there.
        longest: rows that the endpoint is known to give in one answer; answers with fewer are surely whole. Before
            an export has found it out, every answer that has a row is counted.
        is_capped: whether it is known to give no more.
        repeats: whether it gives a triple once for each graph of a union, as far as is known.
    """

    def __init__(self, connection: Connection, *, longest: int = 1, is_capped: bool = False, repeats: bool = True):
        self.repeats = repeats
        self.connection, self._longest, self._is_capped = connection, max(longest, 1), is_capped
        self._graphs, self._begins_again, self._kept = count(), 0.0, KeptAnswers()

    def __bool__(self) -> bool:
        """Whether there is a store; how much it has is a question to the endpoint."""
        return True

    @property
    def url(self) -> str:
        """Where the graph lies, without credentials."""
        return self.connection.url

    @property
    def trip_us(self) -> float:
        """How long the quickest of the last answers took: see FarStore."""
        return self.connection.trip_us

    def read_ahead(self) -> None:
        """There is nothing to be done from here."""

    def select(self, sparql: str, bound: Mapping[str, Term] | None = None, *, joined: bool = False) -> SolutionStream:
        """Rows of a SELECT, in the endpoint's own order.

        Args:
            sparql: a SELECT query in canonical form, IRIs written out.
            bound: variables (without `?`) that have a value beforehand and in every row; each must stand in the
                SELECT clause.
            joined: the rows are joined with others, or asked about again.

        Raises:
            EndpointError: it does not answer, or answers what cannot be used; also while the rows are read.
            UnsupportedQueryError: a bound value is a blank node; or, `joined`, a row has one.
        """
        text = _with_values(sparql, bound)
        variables, rows = self._kept.take(text) or self._whole(text)
        return SolutionStream(variables, self._terms(variables, iter(rows), joined))

    def _whole(self, text: str) -> tuple[tuple[str, ...], Iterator[Row]]:
        """All rows, or an error: an answer that may have been cut is counted."""
        with ExitStack() as stack:
            variables, first, rest = self._begun(text, stack)
            if rest is None:
                return variables, iter(first)
            following = next(rest, None)
            if following is None:
                if (n := self._counted(text, len(first))) == len(first):
                    return variables, iter(first)
                if self._is_capped and n > len(first):
                    return variables, self._paged(text, variables, n)
                raise self._cut(len(first), n)
            later = stack.pop_all()
            return variables, self._checked(text, chain(first, [following], rest), later)

    def _begun(self, text: str, stack: ExitStack) -> tuple[tuple[str, ...], list[Row], Iterator[Row] | None]:
        """The variables, the first rows, and the others; None where there are none, and nothing can have been cut.

        Until rows have been given away a lost connection is mended by asking again.
        """

        def begun() -> tuple[tuple[str, ...], list[Row], Iterator[Row] | None]:
            with ExitStack() as own:
                answer = own.enter_context(self.connection.asked(text, JSON))
                variables, rows = self._in_order(text, *solutions(answer, self.url))
                first = list(islice(rows, self._longest))
                if len(first) < self._longest:
                    return variables, first, None
                stack.enter_context(own.pop_all())
                return variables, first, rows

        return self.connection.trying(begun)

    def _in_order(
        self, text: str, variables: tuple[str, ...], rows: Iterator[Row]
    ) -> tuple[tuple[str, ...], Iterator[Row]]:
        """The columns as they were asked for: who reads rows goes by their order."""
        head = _COLUMNS.match(text)
        wanted = variables if head is None else tuple(name[1:] for name in head[1].split())
        if variables == wanted:
            return variables, rows
        if sorted(variables) != sorted(wanted):
            raise EndpointError(
                f"{self.url} was asked for the columns {' '.join(wanted)}, and gives {' '.join(variables)[:200]}"
            )
        at = [variables.index(name) for name in wanted]
        return wanted, (tuple([row[i] for i in at]) for row in rows)

    def _checked(self, text: str, rows: Iterator[Row], own: ExitStack) -> Iterator[Row]:
        """Rows as they come, counted at the end."""
        given = 0
        with own:
            for row in rows:
                given += 1
                yield row
        n = self._counted(text, given)
        if n != given:
            raise self._cut(given, n)

    def _counted(self, text: str, given: int) -> int:
        """How many rows a query has."""
        if _DATASET.search(text):
            raise EndpointError(
                f"{self.url} gave {given:,} rows, and nothing tells whether these are all: a query with FROM cannot be "
                f"counted",
                hint="ask about a GRAPH instead, or with a LIMIT",
            )
        with ExitStack() as own:
            _, first, _ = self._begun(_around(text, f"SELECT (COUNT(*) AS ?{COUNT}) WHERE"), own)
        try:
            return int(cast(Literal, first[0][0]).value)
        except (IndexError, ValueError, AttributeError) as e:
            raise EndpointError(f"{self.url} answers a COUNT with what is no number") from e

    def sample_prefix(self, sparql: str, variable: str, most: int, seconds: float) -> PrefixSample | None:
        """The first solutions of a pattern: see FarStore. One that comes too late delays the next one."""
        asked_at = time.monotonic()
        if asked_at < self._begins_again or _DATASET.search(sparql):
            return None
        try:
            with self.connection.asked(f"{sparql} LIMIT {most}", JSON, seconds, within=seconds) as answer:
                variables, found = solutions(answer, self.url)
                rows = list(islice(takewhile(lambda _: answer.received < MAX_BYTES, found), most + 1))
            if answer.received >= MAX_BYTES or variables != (variable,) or len(rows) > most:
                raise EndpointError(f"{self.url} gives what it was not asked for")
        except EndpointError:  # whoever is asked for the rows tells what is wrong
            now = time.monotonic()
            self._begins_again = now + (now - asked_at) / LATE_SHARE
            return None
        is_whole = len(rows) < min(most, self._longest)
        if is_whole:
            self._kept.put(sparql, variables, rows)
        return PrefixSample(len(rows), len({row[0] for row in rows}), is_whole)

    def _paged(self, text: str, variables: Sequence[str], n: int) -> Iterator[Row]:
        """The n rows of a query, by pages as long as the endpoint gives."""
        if _ORDER.search(text):
            raise self._cut(self._longest, n)
        keys, given = " ".join(f"?{name}" for name in variables), 0
        while given < n:
            page = f"{_around(text, f'SELECT {keys} WHERE')} ORDER BY {keys} LIMIT {self._longest} OFFSET {given}"
            with ExitStack() as own:
                _, rows, _ = self._begun(page, own)
            if not rows:
                raise self._cut(given, n)
            given += len(rows)
            yield from rows
        if given > n:
            raise self._cut(given, n)

    def _cut(self, given: int, n: int) -> EndpointError:
        if given > n:
            return EndpointError(f"{self.url} gave {given:,} rows, and counts {n:,}: its graph is being changed")
        return EndpointError(
            f"{self.url} gave only {given:,} of {n:,} rows",
            hint="ask for fewer with LIMIT, or let whoever runs the endpoint raise its limit;\n"
            "hybridkg index finds out where it cuts answers, and reads patterns by pages then",
        )

    def _terms(self, variables: Sequence[str], rows: Iterator[Row], joined: bool) -> Iterator[Row]:
        """Rows with terms as Oxigraph has them."""
        names: dict[str, BlankNode] = {}
        for row in rows:
            cells: list[Term | None] = []
            for at, cell in enumerate(row):
                if isinstance(cell, BlankNode):
                    if joined:
                        raise UnsupportedQueryError(
                            f"the endpoint gives a blank node for ?{variables[at]}, and nobody can ask about it again",
                            hint='projection = "export" in the table [endpoint] answers most patterns with their '
                            "blank nodes;\nor FILTER(!isBlank(...)), or IRIs in their place at the endpoint",
                        )
                    cells.append(names.setdefault(cell.value, BlankNode(f"b{len(names)}")))
                else:
                    cells.append(stored(cell))
            yield tuple(cells)

    def select_lines(self, queries: Sequence[str]) -> Generator[tuple[int, list[str]], None, None]:
        """The rows of several SELECTs, one after another, as lines of SPARQL TSV: see GraphStore."""
        for i, text in enumerate(queries):
            rows = self.select(text).rows
            while some := list(islice(rows, LINES_AT_ONCE)):
                yield i, ["\t".join("" if cell is None else str(cell) for cell in row) for row in some]
            yield i, []

    def select_text(self, queries: Sequence[tuple[str, int]]) -> Generator[tuple[int, bytes], None, None]:
        """The same as text: see GraphStore."""
        for i, lines in self.select_lines([text for text, _ in queries]):
            yield i, "\n".join(lines).encode()

    def ask(self, sparql: str, bound: Mapping[str, Term] | None = None) -> bool:
        """Whether an ASK query has a solution.

        Raises:
            EndpointError: it does not answer.
            UnsupportedQueryError: a bound value is a blank node.
        """
        text = _with_values(sparql, bound)

        def asked() -> bool:
            with self.connection.asked(text, JSON) as answer:
                return truth(answer, self.url)

        return self.connection.trying(asked)

    def triples(self, sparql: str, bound: Mapping[str, Term] | None = None) -> Iterator[Triple]:
        """The graph that a CONSTRUCT or DESCRIBE makes, each triple once. Memory: the distinct triples.

        Raises:
            EndpointError: it does not answer, or as many triples that they may have been cut.
            UnsupportedQueryError: a bound value is a blank node.
        """
        text, mark = _with_values(sparql, bound), next(self._graphs)

        def read() -> list[Triple]:
            with self.connection.asked(text, N_TRIPLES) as answer:
                return list(triples(answer, self.url))

        found = self.connection.trying(read)
        if self._is_capped and len(found) >= self._longest:
            raise EndpointError(
                f"{self.url} cuts answers at {self._longest:,} rows, and this graph has {len(found):,} triples",
                hint="ask with SELECT, whose rows can be counted",
            )
        names: dict[str, BlankNode] = {}

        def named(term: Term) -> Term:
            if isinstance(term, BlankNode):
                return names.setdefault(term.value, BlankNode(f"g{mark}b{len(names)}"))
            return cast(Term, stored(term))

        made = (Triple(cast(NamedNode, named(t.subject)), t.predicate, named(t.object)) for t in found)
        return iter(dict.fromkeys(made))

    def __len__(self) -> int:
        """Quads at the endpoint, all graphs together; it counts them."""
        text = "SELECT ?s WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
        return self._counted(text, 0)


def _around(text: str, head: str) -> str:
    """A query about the rows of another one, whose BASE and PREFIX stay in front.

    >>> _around("SELECT ?s { ?s ?p ?o }", "SELECT ?s WHERE")
    'SELECT ?s WHERE { { SELECT ?s { ?s ?p ?o } } }'
    """
    front = ""
    while text.startswith(("BASE ", "PREFIX ")):
        line, _, text = text.partition("\n")
        front += line + "\n"
    return f"{front}{head} {{ {{ {text} }} }}"


def _with_values(sparql: str, bound: Mapping[str, Term] | None) -> str:
    """The query with a VALUES block: first in its group, because some engines read a whole pattern before they join it
    with values that stand behind.

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
                f"?{name} is a blank node, and an endpoint cannot be asked about one",
                hint="what the projection holds can be asked with them; at the endpoint, put IRIs in their place",
            )
    names, values = " ".join(f"?{name}" for name in bound), " ".join(map(str, bound.values()))
    head, brace, tail = sparql.partition("{")
    return f"{head}{brace} VALUES ({names}) {{ ({values}) }}{tail}"


def stored(term: Term | None) -> Term | None:
    """The term as Oxigraph keeps it: numbers, dates and truth values in one form.

    >>> str(stored(Literal("+07", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))))
    '"7"^^<http://www.w3.org/2001/XMLSchema#integer>'
    """
    if isinstance(term, Literal) and term.datatype not in _PLAIN:
        return _kept(term)
    return term


@lru_cache(8_192)
def _kept(literal: Literal) -> Literal:
    return as_stored(literal)
