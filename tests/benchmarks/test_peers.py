"""Engines that the benchmarks compare with leave their files in the scratch folder, never in the checkout."""

from __future__ import annotations

import types
from pathlib import Path

from benchmarks.hybrid import peer_arcade
from benchmarks.hybrid.writing import Data


def test_the_logs_of_arcadedb_lie_beside_its_data(tmp_path, monkeypatch):
    def start_jvm(heap_size):
        Path("log").mkdir()  # where the process is, as the engine does it

    modules = {
        "arcadedb_embedded": types.ModuleType("arcadedb_embedded"),
        "arcadedb_embedded.jvm": types.SimpleNamespace(start_jvm=start_jvm),
    }
    monkeypatch.setattr(peer_arcade, "import_module", modules.__getitem__)
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    data = Data(tmp_path / "scratch")
    data.engines.mkdir(parents=True)
    assert peer_arcade._java(data) is modules["arcadedb_embedded"]
    assert list((tmp_path / "checkout").iterdir()) == []
    assert [path.name for path in data.engines.iterdir()] == ["log"]
