"""Readers, threads and processes beside commits: each request is done once, or its caller has an error."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rebuilt import answer, quads_of
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, LoadError, StorageError, UserError
from hybridkg.kb import knowledge_base, snapshot
from hybridkg.kb.write import committing, open_transaction
from hybridkg.kb.write.updating import UpdateRun
from hybridkg.store.changes import ChangingGraph
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import Building

PREFIX = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
THREADS = 16


@pytest.fixture(scope="module")
def fish(tmp_path_factory):
    """A knowledge base that nobody changes."""
    path = tmp_path_factory.mktemp("fish") / "kb"
    with KnowledgeBase.create(path) as kb:
        kb.update(f'{PREFIX} INSERT DATA {{ :a rdfs:label "red fish" }}')
    return path


@pytest.fixture
def kb(fish, tmp_path) -> KnowledgeBase:
    return KnowledgeBase.open(shutil.copytree(fish, tmp_path / "kb", symlinks=True))


def inserted(kb: KnowledgeBase) -> list[str]:
    kb.refresh()
    return sorted(str(row["x"]) for row in kb.query(f"{PREFIX} SELECT ?x {{ ?x :by ?n }}"))


def generation(kb: KnowledgeBase) -> int:
    return int(kb._folder.live_name())


class Together:
    """Requests of threads that wait for one another, so that the first commit has them all."""

    def __init__(self, kb: KnowledgeBase, texts: list[str], **options: Any):
        self.outcomes: list[Any] = [None] * len(texts)

        def run(n: int) -> None:
            try:
                self.outcomes[n] = kb.update(texts[n], index=False, wait=60, **options)
            except BaseException as e:
                self.outcomes[n] = e

        waiting = committing.queue_of(kb._folder.path)._waiting
        with kb._folder.locked():
            threads = [threading.Thread(target=run, args=[n]) for n in range(len(texts))]
            for thread in threads:
                thread.start()
            until = time.monotonic() + 60
            while len(waiting) < len(texts) and time.monotonic() < until:
                time.sleep(0.002)
        for thread in threads:
            thread.join()
        assert not waiting


def test_one_thread_opens_a_commit_for_all_that_share_it(kb, monkeypatch):
    opened: list[Folder] = []

    def counted(folder: Folder, *, written: bool):
        opened.append(folder)
        return snapshot.open_snapshot(folder, written=written)

    monkeypatch.setattr(knowledge_base, "open_snapshot", counted)
    before = generation(kb)
    together = Together(kb, [f"{PREFIX} INSERT DATA {{ :x{n} :by {n} }}" for n in range(THREADS)])
    assert [done.added for done in together.outcomes] == [1] * THREADS
    assert len(opened) == generation(kb) - before == 1


def test_threads_share_a_commit_and_each_request_is_done_once(kb):
    before = generation(kb)
    texts = [f"{PREFIX} INSERT DATA {{ :t{n} :by {n} }}" for n in range(THREADS)]
    texts[5] = f"{PREFIX}\nINSERT DATA {{ :t5 :by 5 }} ;\nDROP GRAPH :none"
    texts[9] = f"{PREFIX} INSERT {{ [] :by ?l }} WHERE {{ ?x rdfs:label ?l }}"
    outcomes = Together(kb, texts).outcomes
    assert generation(kb) == before + 1
    assert isinstance(outcomes[5], UserError)
    assert "--> update:3:12" in outcomes[5].render()
    assert [one.added for n, one in enumerate(outcomes) if n != 5] == [1] * (THREADS - 1)
    found = inserted(kb)
    assert [x for x in found if x.startswith("http")] == sorted(
        f"http://e/t{n}" for n in range(THREADS) if n not in (5, 9)
    )
    assert len(found) == THREADS - 1


def test_a_request_sees_those_before_it_in_its_commit_and_not_the_ones_that_failed(kb):
    def texts(n: int) -> str:
        if n % 4 == 3:
            return f"{PREFIX} DELETE {{ ?x :by ?n }} WHERE {{ ?x :by ?n }} ; DROP GRAPH :none"
        where = "OPTIONAL { :count :is ?n } BIND(COALESCE(?n, 0) + 1 AS ?m)"
        return f"{PREFIX} DELETE {{ :count :is ?n }} INSERT {{ :count :is ?m }} WHERE {{ {where} }}"

    Together(kb, [texts(n) for n in range(THREADS)])
    kb.refresh()
    (row,) = kb.query(f"{PREFIX} SELECT ?n {{ :count :is ?n }}")
    assert row["n"].toPython() == THREADS - THREADS // 4


@pytest.mark.parametrize(("limit", "value", "commits"), [("MAX_TRIPLES", 2, 4), ("MAX_REQUESTS", 2, 2)])
def test_a_commit_takes_no_more_requests_than_its_limits(kb, monkeypatch, limit, value, commits):
    monkeypatch.setattr(committing, limit, value)
    before = generation(kb)
    Together(kb, [f"{PREFIX} INSERT DATA {{ :t{n} :by 1 , 2 , 3 }}" for n in range(4)])
    assert generation(kb) == before + commits
    assert inserted(kb) == [f"http://e/t{n}" for n in range(4) for _ in range(3)]


def test_a_failed_commit_is_an_error_of_each_of_its_callers(kb, monkeypatch):
    before, name = quads_of(kb), kb._folder.live_name()

    def full(self: Building) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Building, "finish", full)
        outcomes = Together(kb, [f"{PREFIX} INSERT DATA {{ :t{n} :by {n} }}" for n in range(4)]).outcomes
    assert [type(one) for one in outcomes] == [StorageError] * 4
    assert len({id(one) for one in outcomes}) == 4
    assert kb._folder.live_name() == name
    kb.refresh()
    assert quads_of(kb) == before
    assert kb.update(f"{PREFIX} INSERT DATA {{ :after :by 1 }}").added == 1


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_a_disk_that_fails_while_the_graph_is_written_fails_the_whole_commit(kb, monkeypatch, failing):
    before = quads_of(kb)
    write = ChangingGraph._write

    def half(self: ChangingGraph, removed: Any, added: Any, whole: Any, *_: Any) -> None:
        write(self, removed, list(added)[:1], whole)
        if len(added) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ChangingGraph, "_write", half)
    texts = [f"{PREFIX} INSERT DATA {{ :t{n} :by {n} }}" for n in range(3)]
    texts[failing] = f"{PREFIX} INSERT DATA {{ :t1 :by 1 , 2 , 3 }}"
    outcomes = Together(kb, texts).outcomes
    assert all(isinstance(one, OSError | StorageError) for one in outcomes), outcomes
    kb.refresh()
    assert quads_of(kb) == before


@pytest.mark.parametrize("place", ["in a request", "after the commit"])
def test_ctrl_c_of_one_thread_leaves_the_requests_of_the_others(kb, monkeypatch, place):
    interrupted = threading.Event()

    def once(original: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            result = None if before else original(*args)
            if not interrupted.is_set():
                interrupted.set()
                raise KeyboardInterrupt
            return original(*args) if before else result

        return run

    if place == "in a request":
        monkeypatch.setattr(UpdateRun, "run", once(UpdateRun.run, before=True))
    else:
        monkeypatch.setattr(Folder, "_remove_before", once(Folder._remove_before, before=False))
    texts = [f"{PREFIX} INSERT {{ :t{n} :by [] }} WHERE {{}}" for n in range(6)]
    outcomes = Together(kb, texts).outcomes
    stopped = [n for n, one in enumerate(outcomes) if isinstance(one, KeyboardInterrupt)]
    assert len(stopped) == 1
    assert all(one.added == 1 for n, one in enumerate(outcomes) if n not in stopped)
    done = range(6) if place == "after the commit" else [n for n in range(6) if n not in stopped]
    assert inserted(kb) == [f"http://e/t{n}" for n in done]


def test_requests_with_other_options_do_not_share_a_commit(kb):
    before = generation(kb)
    with kb.transaction(index=False) as t:
        t.update(f"{PREFIX} INSERT DATA {{ :one :by 1 }}")
        with pytest.raises(HybridkgError, match="transaction"):
            kb.update(f"{PREFIX} INSERT DATA {{ :two :by 2 }}", wait=0)
    assert generation(kb) == before + 1
    assert kb.update(f"{PREFIX} INSERT DATA {{ :two :by 2 }}", dry_run=True).added == 1
    assert inserted(kb) == ["http://e/one"]


def test_an_old_reader_answers_the_same_during_many_commits(kb):
    queries = (
        f"{PREFIX} SELECT * {{ ?s ?p ?o }} ORDER BY ?s ?p ?o",
        'SELECT ?x ?s { ?x MATCH "red" AS ?s } RANK BY ?s',
    )
    with KnowledgeBase.open(kb._folder.path) as reader:
        wanted, quads = [answer(reader, query) for query in queries], quads_of(reader)
        for n in range(examples(8, 100)):
            text = f'{PREFIX} INSERT DATA {{ :n{n} rdfs:label "red {n}" }} ; DELETE WHERE {{ :a ?p ?o }}'
            kb.update(text, index=None if n % 6 == 0 else False)
            assert [answer(reader, query) for query in queries] == wanted
        assert quads_of(reader) == quads
        reader.refresh()
        assert quads_of(reader) == quads_of(kb) != quads
    assert len([entry for entry in kb._folder.path.iterdir() if entry.name.isdigit()]) <= 4


def test_each_commit_of_several_processes_is_there_once(kb):
    program = (
        "import sys\nfrom hybridkg import KnowledgeBase\n"
        "kb = KnowledgeBase.open(sys.argv[1])\n"
        "for n in range(int(sys.argv[3])):\n"
        "    kb.update(f'INSERT DATA {{ <http://e/p{sys.argv[2]}x{n}> <http://e/by> {n} }}', index=False, wait=100)\n"
        "try:\n    kb.update('DROP GRAPH <http://e/none>')\nexcept Exception as e:\n    print(type(e).__name__)\n"
    )
    writers, count, before = examples(2, 3), examples(2, 30), generation(kb)
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(kb._folder.path), str(n), str(count)], stdout=subprocess.PIPE, text=True
        )
        for n in range(writers)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["UserError"] * writers
    assert inserted(kb) == sorted(f"http://e/p{n}x{m}" for n in range(writers) for m in range(count))
    assert generation(kb) == before + writers * count
    kb.verify()


def test_an_index_that_another_writer_has_made_is_followed(kb, monkeypatch):
    kb.update(f"{PREFIX} INSERT DATA {{ :b :by 1 }}", index=False)
    decide = open_transaction._step

    def late(*args: Any) -> Any:
        step = decide(*args)
        if kb._folder.current().behind():
            KnowledgeBase.open(kb._folder.path).index()
        return step

    monkeypatch.setattr(open_transaction, "_step", late)
    report = kb.update(f'{PREFIX} INSERT DATA {{ :c rdfs:label "green" }}')
    assert not report.is_behind
    assert len(kb.query('SELECT ?x { ?x MATCH "green" }')) == 1


def test_a_malformed_file_of_one_writer_is_no_matter_of_another(kb, tmp_path):
    (tmp_path / "bad.nt").write_text("<x:a> .")
    with pytest.raises(LoadError), kb.transaction() as t:
        t.load(Path(tmp_path, "bad.nt"))
    assert kb.update(f"{PREFIX} INSERT DATA {{ :one :by 1 }}").added == 1
