"""The graph after a commit is opened at its first use, and then it is that of the commit."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError
from hybridkg.store import oxigraph

LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


@pytest.fixture
def opened(monkeypatch):
    """The folders whose graph has been opened for reading."""
    found, real = [], oxigraph._opened
    monkeypatch.setattr(oxigraph, "_opened", lambda folder: found.append(folder) or real(folder))
    return found


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "f.kb") as kb:
        kb.update(f'INSERT DATA {{ <http://e/a> {LABEL} "red fish" }}')
        yield kb


def insert(kb, name, text):
    return kb.update(f'INSERT DATA {{ <http://e/{name}> {LABEL} "{text}" }}')


def test_commits_one_after_another_do_not_open_the_graph(kb, opened):
    for number in range(3):
        assert insert(kb, f"b{number}", "blue fish").added == 1
        assert len(kb.query('SELECT ?f { ?f MATCH "blue" }')) == number + 1
    assert opened == []


def test_a_query_of_the_graph_opens_it_once(kb, opened):
    insert(kb, "b", "blue fish")
    for _ in range(2):
        assert len(kb.query(f"SELECT ?f ?g {{ GRAPH ?g {{ ?f {LABEL} ?l }} }}")) == 0
    assert len(opened) == 1


def test_what_is_there_already_is_not_added_again(kb):
    insert(kb, "b", "blue fish")
    assert insert(kb, "b", "blue fish").added == 0
    assert insert(kb, "a", "red fish").added == 0
    assert kb.update(f'DELETE DATA {{ <http://e/a> {LABEL} "red fish" }}').removed == 1
    assert kb.update(f'DELETE DATA {{ <http://e/a> {LABEL} "red fish" }}').removed == 0
    assert insert(kb, "a", "red fish").added == 1


def test_a_graph_that_is_lost_after_the_commit_is_an_error_of_the_query(kb):
    insert(kb, "b", "blue fish")
    for file in (kb._snapshot.generation.path / "graph").glob("CURRENT"):
        file.unlink()
    with pytest.raises(HybridkgError, match="graph"):
        kb.query(f"SELECT ?f ?g {{ GRAPH ?g {{ ?f {LABEL} ?l }} }}")
    assert len(kb.query('SELECT ?f { ?f MATCH "blue" }')) == 1


def test_a_damaged_table_that_a_commit_has_linked_is_an_error_of_the_commit(kb):
    insert(kb, "b", "blue fish")
    table = sorted((kb._snapshot.generation.path / "graph").glob("*.sst"))[0]
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 255
    table.write_bytes(content)
    with pytest.raises(HybridkgError, match=r"is damaged|cannot open the graph"):
        insert(kb, "c", "green fish")
