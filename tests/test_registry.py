"""Names of implementations, which are imported when somebody asks for them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hybridkg.registry import Registry


def test_threads_that_ask_at_once_all_get_what_was_registered(tmp_path, monkeypatch):
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\nVALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("thing", "hybridkg.tests.nothing", {"seven": "slowly_imported:VALUE"})
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: registry.get("seven"), range(4))) == [7] * 4
    assert registry.get("seven") == 7
