"""A result whose rows are read once: the bytes are those of the held result, and few rows are in memory."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import HybridkgError, KnowledgeBase
from hybridkg.interfaces.output_format import OUTPUT_FORMATS, is_one_pass
from hybridkg.operators import row_cursor
from hybridkg.operators.row_cursor import ROWS_PER_BLOCK
from hybridkg.rdf.solutions import SolutionStream
from hybridkg.rdf.terms import XSD, Literal, NamedNode, Term
from hybridkg.results.result import Result
from hybridkg.results.result_stream import ResultStream
from hybridkg.store.oxigraph import OxigraphStore

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
FORMATS = ("csv", "json", "json-ld", "nt", "ndjson", "rdf-xml", "table", "tsv", "turtle", "xml")
GRAPHS = ("json-ld", "nt", "rdf-xml", "turtle")
UNRANKED = "SELECT * { ?s ?p ?o }"


@pytest.fixture(scope="module")
def films() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
terms = (
    texts.map(Literal)
    | st.builds(lambda text, tag: Literal(text, language=tag), texts, st.sampled_from(["en", "pt-br"]))
    | st.builds(lambda n, kind: Literal(str(n), datatype=NamedNode(XSD + kind)), st.integers(0, 9), st.sampled_from(
        ["integer", "decimal", "double", "date"]))
    | st.sampled_from([NamedNode("http://e/a?b&c"), NamedNode("http://e/\N{SNOWMAN}")])
)  # fmt: skip
rows = st.lists(st.tuples(st.none() | terms, terms), max_size=7)


@st.composite
def questions(draw: st.DrawFn) -> str:
    """A query without ranks: generated rows, or statements of the films, in any form and slice."""
    if draw(st.booleans()):
        lines = [f"({' '.join('UNDEF' if cell is None else str(cell) for cell in row)})" for row in draw(rows)]
        pattern, names = f"VALUES (?s ?o) {{ {' '.join(lines)} }}", ("s", "o")
    else:
        pattern, names = draw(
            st.sampled_from([("?s ?p ?o", ("s", "p", "o")), ("?s a ?o OPTIONAL { ?s <x:none> ?n }", ("s", "n", "o"))])
        )
    form = draw(st.sampled_from(["SELECT *", "SELECT DISTINCT ?o", f"SELECT {' '.join(f'?{n}' for n in names)}",
        "CONSTRUCT { ?o <http://e/p> ?s . _:b <http://e/q> ?o }", "CONSTRUCT { <http://e/s> <http://e/p> ?o }",
        "DESCRIBE ?s", "ASK"]))  # fmt: skip
    order = draw(st.sampled_from(["", " ORDER BY ?o"])) if form.startswith("SELECT") else ""
    limit = draw(st.sampled_from(["", " LIMIT 3", " LIMIT 1000", " OFFSET 2 LIMIT 5"])) if form != "ASK" else ""
    return f"{form} WHERE {{ {pattern} }}{order}{limit}"


def written(result: Result, fmt: str) -> str:
    out = io.StringIO(newline="")
    try:
        result.write(out, fmt)
    except HybridkgError as e:
        return f"{e.code}: {e.message}"  # the bytes before it may be fewer or more
    return out.getvalue()


@settings(max_examples=examples(18, 3000), deadline=None)
@given(st.data(), questions(), st.integers(1, 9), st.none() | st.integers(0, 6))
def test_the_bytes_of_a_stream_are_those_of_the_held_result(films, data, query, size, limit):
    fmt = data.draw(st.sampled_from([fmt for fmt in FORMATS if fmt != "table" or "_:b" not in query]))
    held = films.query(query, limit=limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_cursor.RowCursor.__init__, "__kwdefaults__", {"size": size})
        with films.stream(query, limit=limit) as stream:
            assert isinstance(stream, ResultStream) == (held.boolean is None and len(held) >= size)
            found, wanted = written(stream, fmt), written(held, fmt)
    if fmt == "json" and isinstance(stream, ResultStream) and not found.startswith(("Q", "R")):
        document, whole = json.loads(found), json.loads(wanted)
        assert document["x-hybridkg"]["returned"] is document["x-hybridkg"]["shortfall"] is None
        known = f'"returned":{len(held)},"shortfall":{json.dumps(held.shortfall)}'
        assert len(document["results"]["bindings"]) == len(whole["results"]["bindings"])
        found = found.replace('"returned":null,"shortfall":null', known, 1)
    assert blank(found) == blank(wanted)
    if isinstance(stream, ResultStream) and stream.returned is not None:
        assert (stream.returned, stream.shortfall, stream.exact) == (held.returned, held.shortfall, held.exact)
        assert stream.counted() == held.counted()


@pytest.mark.parametrize("strategy", ["columns", "oxigraph"])
def test_a_stream_that_offset_shortens_says_so_as_the_held_result_does(films, monkeypatch, strategy):
    query = "SELECT ?o { ?s a ?o } OFFSET 14 LIMIT 50"
    held = films.query(query, strategy=strategy)
    monkeypatch.setitem(row_cursor.RowCursor.__init__.__kwdefaults__, "size", 1)
    with films.stream(query, strategy=strategy) as stream:
        assert isinstance(stream, ResultStream)
        assert sum(block.size for block in stream.blocks()) == len(held)
        assert stream.shortfall == held.shortfall


def blank(text: str) -> str:
    """The text with numbers for the labels that Oxigraph makes anew for the blank nodes of each answer."""
    labels: dict[str, str] = {}
    return re.sub(r"\b[0-9a-f]{24,32}\b", lambda match: labels.setdefault(match[0], f"b{len(labels)}"), text)


def test_a_long_answer_can_be_read_by_oxigraph(films):
    query = "SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 5000"
    out = io.StringIO()
    with films.stream(query) as result:
        assert isinstance(result, ResultStream)
        assert (result.returned, result.shortfall, result.requested) == (None, None, 5000)
        result.write(out, "json")
        assert (result.returned, result.shortfall) == (5000, "")
    solutions = pyoxigraph.parse_query_results(out.getvalue(), pyoxigraph.QueryResultsFormat.JSON)
    assert sum(1 for _ in solutions) == 5000  # type: ignore[arg-type]


def test_a_short_answer_and_a_ranked_one_are_held(films):
    for query in (UNRANKED, "ASK {}", "EXPLAIN SELECT * {}", "SELECT ?f ?s { ?f MATCH 'space' AS ?s } RANK BY ?s"):
        with films.stream(query) as result:
            assert result.held() is result
            assert result.held().cells == films.query(query).cells


def test_every_format_of_this_package_but_two_reads_the_rows_once():
    ours = [name for name in OUTPUT_FORMATS.names() if OUTPUT_FORMATS.is_builtin(name)]
    assert {name for name in ours if not is_one_pass(OUTPUT_FORMATS.get(name))} == {"table", "trec"}


@dataclass
class Alive:
    """Rows of the store that are in memory, now and at most."""

    now: int = 0
    most: int = 0


class CountedRow(tuple[Term | None, ...]):
    """A row that counts itself."""

    alive = Alive()

    def __new__(cls, cells: tuple[Term | None, ...]) -> CountedRow:
        cls.alive.now += 1
        cls.alive.most = max(cls.alive.most, cls.alive.now)
        return super().__new__(cls, cells)

    def __del__(self) -> None:
        self.alive.now -= 1


@pytest.mark.parametrize("fmt", [fmt for fmt in FORMATS if fmt not in ("table", *GRAPHS)])
def test_few_rows_are_in_memory_whatever_their_number(films, monkeypatch, fmt):
    select = OxigraphStore.select

    def counted(self: OxigraphStore, sparql: str, bound: Mapping[str, Term] | None = None, **options: Any) -> Any:
        stream = select(self, sparql, bound, **options)
        return SolutionStream(stream.variables, map(CountedRow, stream.rows))

    monkeypatch.setattr(OxigraphStore, "select", counted)

    class Nowhere:
        def write(self, text: str) -> int:
            return len(text)

    def most(count: int) -> int:
        CountedRow.alive = Alive()
        with films.stream(f"SELECT ?a ?b {{ ?a ?x ?b . ?c ?y ?d . ?e ?z ?f }} LIMIT {count}") as result:
            result.write(Nowhere(), fmt)  # type: ignore[arg-type]
            assert result.returned == count
        del result
        return CountedRow.alive.most

    assert most(1_000) == 1_000
    assert most(20_000) <= 2 * ROWS_PER_BLOCK
    assert most(40_000) <= 2 * ROWS_PER_BLOCK
    assert CountedRow.alive.now == 0


@pytest.mark.parametrize("fmt", GRAPHS)
def test_a_writer_of_a_graph_holds_few_triples(films, fmt):
    pieces: list[int] = []

    class Counting:
        def write(self, text: str) -> int:
            pieces.append(len(text))
            return len(text)

    with films.stream("CONSTRUCT { ?a <http://e/p> ?d } { ?a ?x ?b . ?c ?y ?d }") as result:
        result.write(Counting(), fmt)  # type: ignore[arg-type]
    assert max(pieces) < 20_000 < sum(pieces)
