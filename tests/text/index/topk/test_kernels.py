from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hybridkg.compute import compilation, kernel_cache, kernels
from hybridkg.compute.kernels import LOAD_AFTER_POSTINGS, LazyKernel

STATE = f"hybridkg-kernels-{kernel_cache.digest_of(kernel_cache.sources(kernel_cache.PACKAGE), kernel_cache.PACKAGE)}"


@pytest.fixture
def compiled(monkeypatch):
    """Every kernel counts as compiled."""
    monkeypatch.setattr(kernels, "is_compiled", lambda name: True)
    monkeypatch.setattr(compilation, "compile_here", lambda name: None)


def test_a_kernel_is_loaded_once_the_process_has_read_enough(monkeypatch, compiled):
    loaded = []
    monkeypatch.setattr(kernels, "imported", lambda name: loaded.append(name) or kernels)
    kernel = LazyKernel("some.module")
    assert kernel.for_work(LOAD_AFTER_POSTINGS // 2) is None
    assert kernel.for_work(0) is None
    assert loaded == []
    assert kernel.for_work(LOAD_AFTER_POSTINGS // 2) is kernels
    assert kernel.for_work(1) is kernels
    assert loaded == ["some.module"]


def test_without_numba_or_a_cache_numpy_does_the_work(monkeypatch, compiled):
    tried = []

    def fail(name):
        tried.append(name)
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(kernels, "imported", fail)
    kernel = LazyKernel("some.module")
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    assert tried == ["some.module"]


def test_other_threads_go_on_with_numpy_while_one_loads(monkeypatch, compiled):
    kernel = LazyKernel("some.module")
    seen = []
    monkeypatch.setattr(kernels, "imported", lambda name: seen.append(kernel.for_work(LOAD_AFTER_POSTINGS)) or kernels)
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is kernels
    assert seen == [None]


def test_a_kernel_may_be_loaded_behind_while_numpy_answers(monkeypatch, compiled):
    loading, go_on = threading.Event(), threading.Event()

    def load(name):
        loading.set()
        assert go_on.wait(120)
        return kernels

    monkeypatch.setattr(kernels, "imported", load)
    kernel = LazyKernel("some.module", background=True)
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    assert loading.wait(120)
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    go_on.set()
    assert kernel.load() is kernels  # waits for the thread
    assert kernel.for_work(0) is kernels


def test_the_cache_folder_stays_until_the_last_thread_has_imported(tmp_path, monkeypatch):
    from numba.core import config

    used, inner, outer = [], threading.Event(), threading.Event()

    def load(name):
        if name == "slow":
            inner.set()
            assert outer.wait(120)
        used.append(config.CACHE_DIR)

    monkeypatch.setattr(kernel_cache, "import_module", load)
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    slow = threading.Thread(target=kernel_cache.imported, args=("slow",))
    slow.start()
    assert inner.wait(120)
    kernel_cache.imported("quick")
    outer.set()
    slow.join()
    assert used == [str(tmp_path / "numba" / STATE / kernel_cache.machine_digest())] * 2
    assert config.CACHE_DIR == ""


def test_the_cache_is_where_the_user_says_or_in_the_users_cache_folder(tmp_path, monkeypatch):
    from numba.core import config

    used = []
    monkeypatch.setattr(kernel_cache, "import_module", lambda name: used.append(config.CACHE_DIR))
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    kernel_cache.imported("some.module")
    assert config.CACHE_DIR == ""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "chosen"))
    kernel_cache.imported("some.module")
    machine = kernel_cache.machine_digest()
    assert used == [str(tmp_path / "numba" / STATE / machine), str(tmp_path / "chosen" / STATE / machine)]
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: None)
    with pytest.raises(OSError, match="no folder"):
        kernel_cache.imported("some.module")


CALLEE = """
from numba import njit
from pack.figures import {name}

@njit(cache=True)
def callee(x):
    return x + {name} * {factor}
"""

CALLER = """
from numba import njit
from pack.callee_kernel import callee

@njit(cache=True)
def caller(x):
    return 2 * callee(x)
"""

ASK = """
import os
import sys
import time
from pathlib import Path
import numba
from hybridkg.compute import kernel_cache, kernels

kernel_cache.PACKAGE = Path(sys.argv[1]) / "pack"
sys.path.insert(0, sys.argv[1])
for _ in sys.stdin:
    if not (process := os.fork()):
        kernel_cache.BEGAN = time.time()
        kernel = kernels.LazyKernel("pack.caller_kernel").load()
        print(kernel.caller(1), sum(kernel.caller.stats.cache_hits.values()), flush=True)
        os._exit(0)
    os.waitpid(process, 0)
"""
"""Answers each line in a process of its own, none of which has to import numba."""


def test_what_is_cached_is_of_the_sources_as_they_are(tmp_path):
    """numba alone looks at the caller's file only, and would answer 22 each time."""
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "caller_kernel.py").write_text(CALLER)

    def answer(figure, factor=1):
        (package / "figures.py").write_text(f"TEN = {figure}\n")
        (package / "callee_kernel.py").write_text(CALLEE.format(name="TEN", factor=factor))
        asked.stdin.write("answer\n")
        asked.stdin.flush()
        value, hits = map(int, asked.stdout.readline().split())
        return value, hits > 0

    environment = {
        **os.environ,
        "HYBRIDKG_CACHE": str(tmp_path / "cache"),
        "NUMBA_CACHE_DIR": "",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with subprocess.Popen(
        [sys.executable, "-c", ASK, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as asked:
        assert answer(10) == (22, False)
        assert answer(10) == (22, True)
        assert answer(10, factor=3) == (62, False)
        assert answer(20) == (42, False)
        assert answer(10) == (22, True)


def test_every_file_with_kernels_has_the_name_of_one():
    for path in kernel_cache.PACKAGE.rglob("*.py"):
        if re.search(r"^(from|import) numba", path.read_text(), re.MULTILINE):
            assert "kernel" in path.name, path


def test_the_digest_is_of_kernels_and_what_they_import(tmp_path):
    package = tmp_path / "pack"
    (package / "inner").mkdir(parents=True)
    files = {
        "one_kernel.py": "from pack.inner import (\n    sizes,\n)\nfrom pack.numbers import TEN, TWO\n",
        "numbers.py": "from pack.inner.far import TWO\nTEN = 10\n",
        "inner/__init__.py": "", "inner/sizes.py": "", "inner/far.py": "TWO = 2\n", "other.py": "",
    }  # fmt: skip
    for name, text in files.items():
        (package / name).write_text(text)

    def digest():
        return kernel_cache.digest_of(kernel_cache.sources(package), package)

    before = digest()
    assert before == digest()
    for name, text in files.items():
        (package / name).write_text(text + "# more\n")
        assert (digest() != before) == (name != "other.py"), name
        (package / name).write_text(text)
    assert digest() == before


def test_kernels_import_in_the_way_that_their_digest_sees():
    found = kernel_cache.sources(kernel_cache.PACKAGE)
    for path, text in found.items():
        waiting: list[ast.AST] = [ast.parse(text)]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # where what is imported is no constant
                waiting += ast.iter_child_nodes(node)
            if isinstance(node, ast.Import):
                assert not any(name.name.startswith("hybridkg") for name in node.names), path
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                if node.module.startswith("hybridkg"):
                    base = kernel_cache.PACKAGE.parent.joinpath(*node.module.split("."))
                    assert {base.with_suffix(".py"), base / "__init__.py"} & set(found), (path, node.module)


def test_sources_that_change_under_a_process_are_not_compiled(tmp_path, monkeypatch):
    """Its constants are of the files as they were, and would be kept as if they were of the new ones."""
    from numba.core import config

    package, imported = tmp_path / "pack", []
    package.mkdir()
    (package / "one_kernel.py").touch()
    monkeypatch.setattr(kernel_cache, "PACKAGE", package)
    monkeypatch.setattr(kernel_cache, "BEGAN", time.time() + 10)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(config, "CACHE_DIR", "before")

    def load(name):
        imported.append(Path(config.CACHE_DIR))
        imported[-1].mkdir(exist_ok=True)
        (imported[-1] / "compiled").touch()
        if name == "late":
            monkeypatch.setattr(kernel_cache, "BEGAN", time.time() - 10)

    monkeypatch.setattr(kernel_cache, "import_module", load)
    kernel_cache.imported("early")
    assert (imported[0] / "compiled").exists()
    for name in ("late", "never"):
        with pytest.raises(OSError, match="has changed since this process began"):
            kernel_cache.imported(name)
    assert len(imported) == 2
    assert not imported[0].exists()
    assert config.CACHE_DIR == "before"


def test_only_caches_of_other_states_go_after_a_month(tmp_path):
    old, new, now = (f"{kernel_cache.CACHES}{digit * 16}" for digit in "123")
    for name, days in ((old, 31), (new, 29), (now, 31), ("hybridkg-store", 99), (f"{kernel_cache.CACHES}mine", 99)):
        (tmp_path / name / "inside").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
    kernel_cache._remove_old(tmp_path / now)
    assert {path.name for path in tmp_path.iterdir()} == {new, now, "hybridkg-store", f"{kernel_cache.CACHES}mine"}


def test_where_nothing_can_be_written_the_users_cache_folder_serves(tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.resources.cache_dir", lambda: tmp_path / "own")
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert kernel_cache._folder_for("name") == tmp_path / "own" / "numba" / "name"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "far" / "away"))
    assert kernel_cache._folder_for("name") == tmp_path / "far" / "away" / "name"
