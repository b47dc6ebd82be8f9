from __future__ import annotations

from hybridkg.text import kernels
from hybridkg.text.kernels import PATIENCE, SMALL, LazyKernel


def test_a_kernel_is_loaded_once_the_process_has_read_enough(monkeypatch):
    loaded = []
    monkeypatch.setattr(kernels, "_import_with_cache", lambda name: loaded.append(name) or kernels)
    kernel = LazyKernel("some.module")
    assert kernel.for_work(PATIENCE // 2) is None
    assert kernel.for_work(SMALL - 1) is None
    assert loaded == []
    assert kernel.for_work(PATIENCE) is kernels
    assert kernel.for_work(SMALL) is kernels
    assert kernel.for_work(SMALL - 1) is None
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
