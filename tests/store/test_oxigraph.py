from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyoxigraph import RdfFormat, Store, parse

from hybridkg.errors import CorruptError, StorageError, UserError
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Quad
from hybridkg.store import oxigraph
from hybridkg.store.oxigraph import OxigraphStore

A, B, P, G = (NamedNode(f"http://e/{name}") for name in "abpg")
TRIG = (
    b'<http://e/a> <http://e/p> <http://e/b>, "x" . _:n <http://e/p> "y" .'
    b'<http://e/g> { <http://e/b> <http://e/p> "z" }'
)


@pytest.fixture
def store() -> OxigraphStore:
    return OxigraphStore.memory(parse(TRIG, format=RdfFormat.TRIG))


def rows(store, text, bound=None):
    return sorted(store.select(text, bound).rows, key=str)


def test_a_select_gives_its_variables_and_rows(store):
    answer = store.select("SELECT ?o ?none WHERE { <http://e/a> <http://e/p> ?o }").collect()
    assert answer.variables == ("o", "none")
    assert sorted(answer.rows, key=str) == [(Literal("x"), None), (B, None)]


def test_a_bound_variable_still_appears_in_every_row(store):
    text = "SELECT ?s ?o WHERE { ?s <http://e/p> ?o }"
    assert rows(store, text, {"s": A}) == [row for row in rows(store, text) if row[0] == A]


def test_a_blank_node_can_be_bound(store):
    assert rows(store, "SELECT ?s ?o { ?s <http://e/p> ?o }", {"s": BlankNode("n")}) == [(BlankNode("n"), Literal("y"))]


def test_a_bound_variable_reaches_filters(store):
    answer = store.select("SELECT ?s ?o ?v { ?s <http://e/p> ?o FILTER(?o = ?v) }", {"v": Literal("x")})
    assert [dict(zip(answer.variables, row, strict=True)) for row in answer.rows] == [
        {"s": A, "o": Literal("x"), "v": Literal("x")}
    ]


def test_a_bound_variable_that_is_not_selected_is_our_own_bug(store):
    with pytest.raises(RuntimeError, match="projection"):
        store.select("SELECT ?o { ?s <http://e/p> ?o }", {"s": A})


def test_ask_takes_bound_variables_of_any_kind(store):
    assert store.ask("ASK { ?s <http://e/p> ?o }", {"s": A, "o": B})
    assert not store.ask("ASK { ?s <http://e/p> ?o }", {"s": B})


def test_the_default_graph_can_be_the_union_of_all():
    quads = list(parse(TRIG, format=RdfFormat.TRIG))
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    plain, union = OxigraphStore.memory(quads), OxigraphStore.memory(quads, union_default_graph=True)
    assert [next(s.select(count).rows)[0].value for s in (plain, union)] == ["3", "4"]
    assert len(plain) == 4


def test_wrong_syntax_is_our_own_bug_and_surfaces(store):
    with pytest.raises(SyntaxError):
        store.select("SELECT WHERE")


def test_a_missing_store_is_a_storage_error(tmp_path):
    with pytest.raises(StorageError, match="cannot open the graph"):
        OxigraphStore.open(tmp_path / "none")


def test_many_threads_get_the_same_answers(store):
    text = "SELECT ?s ?o { ?s <http://e/p> ?o }"
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: rows(store, text), range(64)))
    assert all(answer == answers[0] for answer in answers)


def written(folder):
    store = Store(str(folder))
    store.extend([Quad(A, P, Literal("x"))])
    store.flush()
    return OxigraphStore.written(folder)


def test_a_written_store_is_opened_once_at_its_first_use(tmp_path, monkeypatch):
    store, opened = written(tmp_path / "graph"), []
    monkeypatch.setattr(oxigraph, "_opened", lambda folder: opened.append(folder) or Store.read_only(str(folder)))
    assert not store.is_open
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: len(store), range(16))) == {1}
    assert store.is_open
    assert opened == [tmp_path / "graph"]


def test_a_written_store_that_cannot_be_opened_is_an_error_of_its_use(tmp_path):
    store = written(tmp_path / "graph")
    (tmp_path / "graph" / "CURRENT").write_text("MANIFEST-999999\n")
    with pytest.raises((StorageError, CorruptError), match="cannot open the graph"):
        len(store)


def test_a_closed_store_is_not_opened_again(tmp_path):
    store = written(tmp_path / "graph")
    store.close()
    with pytest.raises(UserError, match="has ended"):
        len(store)
