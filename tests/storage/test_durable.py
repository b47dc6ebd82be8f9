"""Writing that begins early changes nothing but the time of an fsync."""

from __future__ import annotations

import os

import pytest

from hybridkg.storage import durable
from hybridkg.storage.durable import fsync_file, start_writing, sync_threads


@pytest.mark.parametrize("has_call", [True, False])
def test_a_file_may_be_written_to_the_disk_before_an_fsync(tmp_path, monkeypatch, has_call):
    monkeypatch.setattr(durable, "MIN_STARTED", 1)
    if not has_call:
        monkeypatch.setattr(durable, "_sync_file_range", lambda: None)
    with (tmp_path / "file").open("wb") as file:
        start_writing(file.fileno())
        file.write(b"red fish")
        file.flush()
        start_writing(file.fileno())
    fsync_file(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"red fish"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_starts_threads_of_its_own(tmp_path):
    assert list(sync_threads().map(len, ["red", "fish"])) == [3, 4]
    if not (child := os.fork()):
        is_done = list(sync_threads().map(len, ["sea"])) == [3]  # the threads of the parent are not there
        os._exit(0 if is_done else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert sync_threads() is sync_threads()
