"""Documents that are added and read beside other work are those that would be added and read here."""

from __future__ import annotations

import gzip
import json
import os
import signal

import pytest

from hybridkg import KnowledgeBase
from hybridkg.compute.worker_process import WorkerProcess
from hybridkg.entities.documents import document_store as documents_module
from hybridkg.entities.documents import load_documents as adding_module
from hybridkg.entities.documents.document_store import Documents, add_documents
from hybridkg.entities.documents.load_documents import adding
from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT

N = 4_000


class Told:
    """A Progress that keeps what it is told."""

    def __init__(self):
        self.pieces = []

    def start(self, label, total_bytes):
        self.pieces.append([label, total_bytes, 0, 0, None])

    def advance(self, bytes_read, items):
        self.pieces[-1][2] += bytes_read
        self.pieces[-1][3] += items

    def done(self, items):
        self.pieces[-1][4] = items


def document(i):
    return {"id": f"http://x/{i * 7919 % N:05d}", "title": [f"t{i}", f"t{i}", " ", "a"], "note": f"word{i} " * 40}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(adding_module, "ASIDE_FROM", 0)
    monkeypatch.setattr(documents_module, "ASIDE_FROM", 0)
    paths = [tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"]
    whole = [json.dumps(document(i)) + "\n" for i in range(N)]
    paths[0].write_bytes(gzip.compress("".join(whole[: N // 2]).encode(), mtime=0))
    paths[1].write_text("".join(whole[N // 2 :]))
    return paths


def test_what_is_added_beside_is_the_same(files, tmp_path, monkeypatch):
    want = add_documents(files, None, tmp_path / "want")
    told = Told()
    with adding(files, None, tmp_path / "d", beside=True) as finish:
        monkeypatch.setattr(adding_module, "add_documents", None)  # not here
        assert finish(told) == want
    assert (tmp_path / "d/000001.texts").read_bytes() == (tmp_path / "want/000001.texts").read_bytes()
    assert [piece[0] for piece in told.pieces] == [str(path) for path in files]
    for _, total, read, items, done in told.pieces:
        assert read == total
        assert items <= done == N // 2


def test_a_file_that_is_begun_is_told_from_where_it_is(files, tmp_path):
    with adding(files, None, tmp_path / "d", beside=True) as finish:
        while not list((tmp_path / "d").glob("*.texts")):
            pass
        finish(told := Told())
    assert [piece[4] for piece in told.pieces] == [N // 2, N // 2]


def test_an_error_is_that_of_the_line(files, tmp_path):
    with files[1].open("a") as file:
        file.write("{}\n")
    with adding(files, None, tmp_path / "d", beside=True) as finish, pytest.raises(LoadError, match="no 'id'") as e:
        finish(SILENT)
    assert e.value.place == f"{files[1]}:{N - N // 2 + 1}"


def test_a_process_that_dies_costs_time_only(files, tmp_path, monkeypatch):
    want = add_documents(files, None, tmp_path / "want")
    kept = []
    monkeypatch.setattr(adding_module, "WorkerProcess", lambda *given: kept.append(WorkerProcess(*given)) or kept[0])
    with adding(files, None, tmp_path / "d", beside=True) as finish:
        os.kill(kept[0]._process.pid, signal.SIGKILL)
        assert finish(SILENT) == want
    assert (tmp_path / "d/000001.texts").read_bytes() == (tmp_path / "want/000001.texts").read_bytes()


@pytest.mark.parametrize("beside", [True, False])
def test_small_files_and_files_alone_need_no_process(files, tmp_path, monkeypatch, beside):
    monkeypatch.setattr(adding_module, "ASIDE_FROM", 0 if not beside else 1 << 30)
    monkeypatch.setattr(adding_module, "WorkerProcess", None)
    with adding(files, None, tmp_path / "d", beside=beside) as finish:
        assert [count.documents for count in finish(SILENT)] == [N // 2, N // 2]


@pytest.mark.parametrize(("field", "killed_after"), [("title", None), ("note", 0), ("note", 2_100), ("none", None)])
def test_values_are_read_in_another_process_as_here(files, tmp_path, monkeypatch, field, killed_after):
    add_documents(files[:1], None, tmp_path / "one")
    add_documents(files[1:], tmp_path / "one", tmp_path / "two")
    documents, kept = Documents.open(tmp_path / "two"), []
    monkeypatch.setattr(documents_module, "WorkerProcess", lambda *given: kept.append(WorkerProcess(*given)) or kept[0])
    found = []
    for n, value in enumerate(documents.values(field)):
        if n == killed_after:
            os.kill(kept[0]._process.pid, signal.SIGKILL)
        found.append(value)
    want = [
        (f"<{node.value}>", sorted({text for text in texts if text.strip()})) for node, texts in documents.stream(field)
    ]
    assert found == want
    assert len(kept) == 1
    assert len(found) == (0 if field == "none" else N)


def test_a_knowledge_base_is_the_same_however_it_was_loaded(files, tmp_path, monkeypatch):
    triples = tmp_path / "g.nt"
    triples.write_text("".join(f"<http://x/{i:05d}> <http://x/p> <http://x/{i * 3 % N:05d}> .\n" for i in range(N)))
    found = []
    for limit in (0, 1 << 40):
        monkeypatch.setattr(adding_module, "ASIDE_FROM", limit)
        monkeypatch.setattr(documents_module, "ASIDE_FROM", limit)
        with KnowledgeBase.create(tmp_path / f"{limit}.kb") as kb:
            counts = kb.load(triples, text=files, index=True)
            index = kb._snapshot.generation.path / "text"
            found.append((counts, {path.name: path.read_bytes() for path in index.iterdir()}))
    assert found[0] == found[1]
