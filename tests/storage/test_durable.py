"""Writing that begins early changes nothing but the time of an fsync."""

from __future__ import annotations

import pytest

from hybridkg.storage import durable
from hybridkg.storage.durable import fsync_file, start_writing


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
