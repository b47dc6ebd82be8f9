from __future__ import annotations

import threading

import pytest

from hybridkg import kernels
from hybridkg.text.kernels import PATIENCE, LazyKernel


def test_a_kernel_is_loaded_once_the_process_has_read_enough(monkeypatch):
    loaded = []
    monkeypatch.setattr(kernels, "_import_with_cache", lambda name: loaded.append(name) or kernels)
    kernel = LazyKernel("some.module")
    assert kernel.for_work(PATIENCE // 2) is None
    assert kernel.for_work(0) is None
    assert loaded == []
    assert kernel.for_work(PATIENCE // 2) is kernels
    assert kernel.for_work(1) is kernels
    assert loaded == ["some.module"]


def test_without_numba_or_a_cache_numpy_does_the_work(monkeypatch):
    tried = []

    def fail(name):
        tried.append(name)
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(kernels, "_import_with_cache", fail)
    kernel = LazyKernel("some.module")
    assert kernel.for_work(PATIENCE) is None
    assert kernel.for_work(PATIENCE) is None
    assert tried == ["some.module"]


def test_other_threads_go_on_with_numpy_while_one_loads(monkeypatch):
    kernel = LazyKernel("some.module")
    seen = []
    monkeypatch.setattr(kernels, "_import_with_cache", lambda name: seen.append(kernel.for_work(PATIENCE)) or kernels)
    assert kernel.for_work(PATIENCE) is kernels
    assert seen == [None]


def test_a_kernel_may_be_loaded_behind_while_numpy_answers(monkeypatch):
    loading, go_on = threading.Event(), threading.Event()

    def load(name):
        loading.set()
        assert go_on.wait(10)
        return kernels

    monkeypatch.setattr(kernels, "_import_with_cache", load)
    kernel = LazyKernel("some.module", behind=True)
    assert kernel.for_work(PATIENCE) is None
    assert loading.wait(10)
    assert kernel.for_work(PATIENCE) is None
    go_on.set()
    assert kernel.load() is kernels  # waits for the thread
    assert kernel.for_work(0) is kernels


def test_the_cache_folder_stays_until_the_last_thread_has_imported(tmp_path, monkeypatch):
    from numba.core import config

    used, inner, outer = [], threading.Event(), threading.Event()

    def load(name):
        if name == "slow":
            inner.set()
            assert outer.wait(10)
        used.append(config.CACHE_DIR)

    monkeypatch.setattr(kernels, "import_module", load)
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    slow = threading.Thread(target=kernels._import_with_cache, args=("slow",))
    slow.start()
    assert inner.wait(10)
    kernels._import_with_cache("quick")
    outer.set()
    slow.join()
    assert used == [str(tmp_path / "numba")] * 2
    assert config.CACHE_DIR == ""


def test_the_cache_is_where_the_user_says_or_in_the_users_cache_folder(tmp_path, monkeypatch):
    from numba.core import config

    used = []
    monkeypatch.setattr(kernels, "import_module", lambda name: used.append(config.CACHE_DIR))
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    kernels._import_with_cache("some.module")
    assert config.CACHE_DIR == ""
    monkeypatch.setattr(config, "CACHE_DIR", "/chosen")
    kernels._import_with_cache("some.module")
    assert used == [str(tmp_path / "numba"), "/chosen"]
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: None)
    with pytest.raises(OSError, match="no folder"):
        kernels._import_with_cache("some.module")
