"""Batches: what comes of one depends on it alone; who works it out, dies or damages its file changes nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError
from functools import partial

import numpy as np
import pytest
from ended import assert_ends
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.compute.worker_process import started
from hybridkg.config.settings import Config
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index import EmbeddedTextBuilder
from hybridkg.text.index.build import batch_cache, builder, worker_pool
from hybridkg.text.index.build.analysis_batch import AnalyzedBatch, BatchAnalyzer, payload_of
from hybridkg.text.index.build.builder import BuildLimits
from hybridkg.text.index.build.runs import NEXT_VALUE, NO_TERM
from hybridkg.text.index.build.worker import BatchWorker, frame
from hybridkg.text.index.build.worker_pool import WorkerPool
from hybridkg.text.index.engine import RESUMABLE, EmbeddedTextEngine

BOTH = {name: ANALYZERS.get(name)() for name in ("standard", "stopped")}
SIZES = BuildLimits(direct_bytes=1, batch_bytes=300, workers=1)
FIELDS = [IndexedField("title"), IndexedField("body")]

texts = st.text(st.sampled_from("abéß'. ,1\0\u4e2d\ud800"), max_size=12)
records = st.lists(st.lists(st.tuples(texts, st.sampled_from(["", "en", "FR", "de"])), max_size=3), max_size=8)


def batch_of(records, name="standard"):
    values = [value for own in records for value in own]
    return payload_of(
        name, BOTH[name].chain, [text for text, _ in values], [tag for _, tag in values], list(map(len, records))
    )


def analyzed(payload):
    return BatchAnalyzer(BOTH, compiled_from=float("inf")).analyze(payload)


def facts(batch):
    """Everything in a batch, comparable."""
    arrays = (batch.tokens, batch.records, batch.slots, batch.changed, batch.changed_at, batch.tags)
    return batch.terms, [a.tolist() for a in arrays], batch.languages, batch.text_bytes


def restated(records):
    """(terms of each slot, or the mark) of each record that has any, one word at a time."""
    analyzer, found = BOTH["standard"], {}
    for i, values in enumerate(records):
        slots = []
        for text, tag in values:
            slots += [NEXT_VALUE] if slots else []
            slots += [analyzer.term(word, analyzer.stemmer(tag)) or NO_TERM for word in analyzer.words(text)]
        if slots:
            found[i] = slots
    return found


@settings(max_examples=examples(30, 100), deadline=None)
@given(records, records)
def test_a_batch_gives_its_words_whatever_was_analysed_before(before, records):
    used = BatchAnalyzer(BOTH, compiled_from=float("inf"))
    used.analyze(batch_of(before))
    found = used.analyze(batch_of(records))
    assert facts(found) == facts(analyzed(batch_of(records)))
    cuts = np.cumsum(found.slots)[:-1]
    shown = {
        int(record): [token if token >= NEXT_VALUE else found.terms[token] for token in part.tolist()]
        for record, part in zip(found.records, np.split(found.tokens, cuts), strict=bool(len(found.records)))
    }
    assert shown == restated(records)
    assert found.text_bytes == sum(len(t.encode("utf-8", "surrogatepass")) for own in records for t, _ in own)


@settings(max_examples=examples(30, 50), deadline=None)
@given(records=records, data=st.data())
def test_a_damaged_file_is_not_believed(tmp_path_factory, records, data):
    path = tmp_path_factory.mktemp("batch") / "x.batch"
    batch = analyzed(batch_of(records))
    assert batch.write(path)
    assert facts(AnalyzedBatch.read(path, len(records))) == facts(batch)
    if len(batch.records):
        assert AnalyzedBatch.read(path, int(batch.records[-1])) is None
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at])
    assert AnalyzedBatch.read(path, len(records)) is None
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << data.draw(st.integers(0, 7))]) + whole[at + 1 :])
    assert AnalyzedBatch.read(path, len(records)) is None
    assert AnalyzedBatch.read(path.with_name("none.batch"), 1) is None


RECORDS = [[("Red seas and the sea", "en")], [], [("la mer rouge", "fr"), ("red", "")]]


@pytest.fixture
def pool(tmp_path):
    made = WorkerPool(tmp_path / "kept", BOTH, 1)
    (tmp_path / "kept").mkdir()
    yield made
    made.close()


def not_here(*args):
    raise AssertionError("analysed in this process")


def want():
    return facts(analyzed(batch_of(RECORDS)))


def test_a_process_does_the_work_and_a_file_spares_it(pool, monkeypatch):
    expected = want()
    monkeypatch.setattr(worker_pool, "BatchAnalyzer", not_here)
    assert facts(pool.submit(batch_of(RECORDS), 3).result()) == expected
    assert pool.found == 0
    assert facts(pool.submit(batch_of(RECORDS), 3).result()) == expected
    assert pool.found == 1


def test_a_process_that_was_killed_is_replaced(pool, monkeypatch):
    pool.submit(batch_of(RECORDS), 3).result()
    pool._idle[0].kill()
    pool._idle[0].wait()
    again = [[("other words", "en")], *RECORDS]
    found = pool.submit(batch_of(again), 4).result()
    assert facts(found) == facts(analyzed(batch_of(again)))
    monkeypatch.setattr(worker_pool, "BatchAnalyzer", not_here)
    assert pool.submit(batch_of([[("and more", "en")]]), 1).result().terms == ["and", "more"]


@pytest.mark.parametrize("workers", [0, 2])
def test_what_comes_when_there_is_no_more_room_is_not_kept(tmp_path, workers):
    own = [[[(f"word{i}", "")], *RECORDS] for i in range(6)]
    want = [BatchAnalyzer(BOTH).analyze(batch_of(one)).terms for one in own]
    for most, left in ((0, 0), (1 << 30, 6)):
        made = WorkerPool(tmp_path, BOTH, workers, most)
        assert [made.submit(batch_of(one), 4).result().terms for one in own] == want
        made.close()
        assert len(batch_cache.files(tmp_path)) == left
    size = max(path.stat().st_size for path in batch_cache.files(tmp_path))
    batch_cache.remove(tmp_path)
    tmp_path.mkdir(exist_ok=True)
    for _ in range(2):  # the second finds what the first has kept, and keeps no more
        made = WorkerPool(tmp_path, BOTH, workers, 3 * size)
        assert [made.submit(batch_of(one), 4).result().terms for one in own] == want
        made.close()
        names = [path.name for path in batch_cache.files(tmp_path)]
        assert len(names) == 3
    assert made.found == 3


@pytest.mark.parametrize("program", ["", "/nowhere/python", "/bin/false", "/bin/true"])
def test_processes_that_cannot_be_started_are_not_needed(pool, monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    for i in range(5):
        own = [[(f"word{i}", "")], *RECORDS]
        assert pool.submit(batch_of(own), 4).result().terms[0] == f"word{i}"
    assert not pool._alive


def test_an_analyzer_that_a_process_has_otherwise_is_used_here(tmp_path):
    class Other:
        chain = "other/1"

        def __getattr__(self, name):
            return getattr(BOTH["standard"], name)

    payload = payload_of("standard", "other/1", ["red seas"], [""], [1])
    assert BatchWorker().answer(tmp_path / "x.batch", payload) == b"-"
    made = WorkerPool(tmp_path, {"standard": Other()}, 1)
    assert made.submit(payload, 1).result().terms == ["red", "sea"]
    made.close()


def test_close_ends_what_runs(pool):
    waiting = [pool.submit(batch_of([[(f"word{i} " * 1_000_000, "en")]]), 1) for i in range(8)]
    time.sleep(0.2)
    processes = list(pool._alive)
    pool.close()
    assert all(process.poll() is not None for process in processes)
    assert any(one.cancelled() or isinstance(one.exception(), CancelledError) for one in waiting)


def test_a_process_ignores_control_c_and_ends_with_its_input(tmp_path):
    process = started(worker_pool._START)
    payload = batch_of(RECORDS)
    for name in ("a.batch", "b.batch"):
        assert worker_pool._answer_of(process, tmp_path / name, payload) == b"+"
        os.kill(process.pid, signal.SIGINT)
    assert (tmp_path / "a.batch").read_bytes() == (tmp_path / "b.batch").read_bytes()
    process.stdin.write(frame(tmp_path / "c.batch", payload) + payload[:5])
    process.stdin.close()
    assert process.wait(120) == 0
    process.stdout.close()
    assert not (tmp_path / "c.batch").exists()


PARENT = """
import os, sys
from pathlib import Path
from hybridkg.compute.worker_process import started
from hybridkg.text.index.build.worker_pool import _START, _answer_of
process = started(_START)
_answer_of(process, Path(sys.argv[1]), b"nonsense\\n")
print(process.pid, flush=True)
os._exit(0)
"""


def test_a_process_ends_with_its_parent(tmp_path):
    shown = subprocess.run([sys.executable, "-c", PARENT, tmp_path / "x"], capture_output=True, text=True, check=True)
    assert_ends(int(shown.stdout))


def text_of(entity):
    return " ".join(f"word{entity * k % 89}" for k in range(1, 12))


def broken_at(end, more=""):
    for entity in range(100):
        if entity == end:
            raise KeyboardInterrupt
        yield entity, [(text_of(entity) + more, "en")]


class Source:
    """Two fields of 100 entities; reading the second one breaks at an entity."""

    fields = FIELDS
    filters = ()

    def __init__(self, end=-1):
        self.end = end
        self.nodes, self.provisional = list(range(100)), list(range(100))

    def extract(self, early=None):
        early(0, broken_at(-1))
        return self

    def stream(self, position):
        return broken_at(self.end, " more")


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_an_interrupted_build_goes_on_from_what_is_kept(tmp_path, monkeypatch):
    engine = EmbeddedTextEngine(tmp_path, Config())
    folders = [tmp_path / name for name in ("clean", "broken", "again")]
    for folder in folders:
        folder.mkdir()
    want = EmbeddedTextEngine(folders[0], Config()).build(folders[0], Source(), SILENT)
    assert not (folders[0] / batch_cache.NAME).exists()
    monkeypatch.setattr(builder, "EmbeddedTextBuilder", partial(EmbeddedTextBuilder, sizes=SIZES))
    with pytest.raises(KeyboardInterrupt) as interrupted:
        engine.build(folders[1], Source(50), SILENT)
    assert interrupted.value.__notes__ == [RESUMABLE]
    kept = batch_cache.files(tmp_path / batch_cache.NAME)
    assert len(kept) > 5
    kept[0].write_bytes(b"damaged")
    pools = []
    monkeypatch.setattr(builder, "WorkerPool", lambda *args: pools.append(WorkerPool(*args)) or pools[0])
    assert engine.build(folders[2], Source(), SILENT) == want
    assert files(folders[2]) == files(folders[0])
    assert pools[0].found == len(kept) - 1
    engine.publish(folders[2])
    assert not (tmp_path / batch_cache.NAME).exists()


def test_a_short_build_keeps_nothing(tmp_path):
    engine = EmbeddedTextEngine(tmp_path, Config())
    (tmp_path / "text").mkdir()
    with pytest.raises(KeyboardInterrupt) as interrupted:
        engine.build(tmp_path / "text", Source(50), SILENT)
    assert not hasattr(interrupted.value, "__notes__")
    assert not (tmp_path / batch_cache.NAME).exists()


def test_the_folder_is_bounded_and_holds_nothing_unfinished(tmp_path):
    folder = tmp_path / batch_cache.NAME
    folder.mkdir()
    for i, name in enumerate(["old.batch", "middle.batch", "young.batch"]):
        (folder / name).write_bytes(bytes(10))
        os.utime(folder / name, (i, i))
    (folder / "half.new").write_bytes(b"1")
    batch_cache.opened(folder, max_bytes=25)
    assert [path.name for path in batch_cache.files(folder)] == ["middle.batch", "young.batch"]
    assert not (folder / "half.new").exists()
    (folder / "mine.txt").write_text("mine")
    batch_cache.remove(folder)
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
