"""Lines of several results read at once against the rows of `select`."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.errors import StorageError
from hybridkg.rdf.terms import XSD, BlankNode, Literal, NamedNode, Quad, Triple
from hybridkg.rdf.tsv import is_node_token, literal_parts, node_of
from hybridkg.store import oxigraph, result_lines
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.store.result_lines import read_lines

texts = st.text(st.one_of(st.characters(exclude_categories=["Cs"]), st.sampled_from('\t\n\r"\\@^<>\x0b\x85\u2028')))
types = st.sampled_from([XSD + name for name in ("string", "token", "integer", "decimal", "double", "boolean", "date")])
literals = st.one_of(
    st.builds(Literal, texts),
    st.builds(Literal, texts, language=st.sampled_from(["en", "de-AT"])),
    st.builds(Literal, texts, datatype=types.map(NamedNode)),
    st.builds(
        Literal, st.sampled_from(["+05", "1.50", "1e3", "true", "0", "INF", "-0.0"]), datatype=types.map(NamedNode)
    ),
)
terms = st.one_of(literals, st.sampled_from([NamedNode("x:a"), BlankNode("b")]))


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["x:p", "x:q"]), terms), max_size=20), st.sampled_from([1, 3, 1_000]))
def test_lines_read_back_are_the_rows_of_select(statements, at_once):
    quads = [Quad(NamedNode(f"x:s{i}"), NamedNode(p), term) for i, (p, term) in enumerate(statements)]
    store = OxigraphStore.memory(quads)
    queries = [f"SELECT ?s ?o WHERE {{ ?s <{p}> ?o }}" for p in ("x:p", "x:none", "x:q")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(oxigraph, "MAX_ROWS_AT_ONCE", at_once)
        patch.setattr(result_lines, "CHUNK_BYTES", 40)
        found = [(i, line.split("\t")) for i, lines in store.select_lines(queries) for line in lines]
    want = [(i, row) for i, query in enumerate(queries) for row in store.select(query).rows]
    assert len(found) == len(want)
    assert {(i, node_of(s)) for i, (s, _) in found} == {(i, row[0]) for i, row in want}
    by_subject = {node_of(s): o for _, (s, o) in found}
    for _, (subject, term) in want:
        token = by_subject[subject]
        if isinstance(term, Literal):
            text, language, datatype = literal_parts(token)
            assert not is_node_token(token)
            assert (text, language) == (term.value, term.language or "")
            short = not token.startswith('"')
            assert datatype == ("" if language or short else term.datatype.value)
            assert not (short and term.datatype.value == XSD + "string")
        else:
            assert is_node_token(token)
            assert node_of(token) == term
            assert str(term) == token


def test_a_triple_and_a_direction_are_read_too():
    node = NamedNode("x:a")
    store = OxigraphStore.memory([Quad(node, node, Triple(node, node, Literal("x")))])
    [(_, [token]), (_, [])] = store.select_lines(["SELECT ?o WHERE { ?s ?p ?o }"])
    assert not is_node_token(token)
    assert literal_parts('"a"@ar--rtl') == ("a", "ar", "")


def writer_of(data: bytes, size: int):
    def write(output):
        for start in range(0, len(data), size):
            assert output.write(data[start : start + size]) == len(data[start : start + size])

    return write


@pytest.mark.parametrize("size", [1, 7, 1_000_000])
@pytest.mark.parametrize("chunk", [1, 10, 1 << 18])
def test_every_line_comes_once_and_in_order_however_it_was_written(monkeypatch, size, chunk):
    monkeypatch.setattr(result_lines, "CHUNK_BYTES", chunk)
    lines = ["é" * (i % 40 + 1) for i in range(200)]
    data = "".join(f"{line}\n" for line in ["?x", *lines]).encode()
    found: list[list[str]] = [[], [], []]
    for i, some in read_lines([writer_of(data, size), writer_of(b"?x\n", size), writer_of(data, size)]):
        found[i] += some
    assert found == [lines, [], lines]
    assert list(read_lines([])) == []


def test_what_a_writer_raises_is_raised_and_no_thread_stays():
    def fail(output):
        output.write(b"?x\n1\n")
        raise StorageError("reading the graph failed: no disk")

    before = threading.active_count()
    with pytest.raises(StorageError, match="no disk"):
        list(read_lines([writer_of(b"?x\n1\n" * 10, 3), fail]))
    assert threading.active_count() == before


def test_closing_the_iterator_stops_writers_that_would_never_end():
    def endless(output):
        output.write(b"?x\n")
        while True:
            output.write(b"1\n" * 100_000)

    before = threading.active_count()
    rows = read_lines([endless] * 9)
    assert next(rows)[1][0] == "1"
    rows.close()
    assert threading.active_count() == before


def test_a_disk_that_fails_is_a_storage_error():
    class Broken:
        def query(self, *_, **__):
            raise OSError("input/output error")

    with pytest.raises(StorageError, match="reading the graph failed"):
        list(OxigraphStore(Broken()).select_lines(["SELECT ?s WHERE { ?s ?p ?o }"]))
