"""Compilation of kernels: once, by however many processes, and never in the way of a command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import counted_kernels
import pytest
from counted_kernels import log_of

from hybridkg.compute import compilation, kernel_cache, kernels
from hybridkg.compute.kernel_list import KERNELS
from hybridkg.compute.kernels import LOAD_AFTER_POSTINGS, LazyKernel

ALL = [kernel.module for kernel in counted_kernels.KERNELS]


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """counted(...) takes the list of counted kernels, with the options of `counted_kernels.use`; -> the folder."""
    for name in ("imported", "folder", "state_digest"):
        monkeypatch.setattr(kernel_cache, name, getattr(kernel_cache, name))
    monkeypatch.setattr(compilation, "KERNELS", compilation.KERNELS)
    monkeypatch.setattr(compilation, "_processes", [])
    compilation._asked.clear()
    monkeypatch.delenv(compilation.SWITCH)

    def use(**options):
        counted_kernels.use(tmp_path, **options)
        return tmp_path

    yield use
    compilation._asked.clear()


def run(folder, **options) -> subprocess.Popen:
    """A process that compiles the counted kernels."""
    program = (
        "import sys; sys.path[:] = sys.argv[1:]; import counted_kernels; "
        f"counted_kernels.use({str(folder)!r}, **{options!r}); "
        "from hybridkg.compute.compilation import main; main()"
    )
    return subprocess.Popen([sys.executable, "-c", program, *sys.path])


def test_each_kernel_is_compiled_once_after_those_that_it_needs(counted):
    folder = counted()
    assert [kernel.module for kernel in compilation.remaining()] == ALL
    assert list(compilation.remaining()) == []
    assert log_of(folder) == ALL
    assert compilation.compiled() == list(counted_kernels.KERNELS)


def test_processes_at_once_share_the_kernels(counted):
    folder = counted()
    processes = [run(folder, seconds=0.05) for _ in range(4)]
    assert [process.wait(60) for process in processes] == [0] * 4
    assert sorted(log_of(folder)) == sorted(ALL)
    assert compilation.compiled() == list(counted_kernels.KERNELS)


def test_a_killed_process_leaves_nothing_that_is_broken(counted):
    folder = counted()
    assert run(folder, dies_at="made.third").wait(60) == 9
    assert not kernel_cache.is_compiled("made.third")
    assert [kernel.name for kernel in compilation.remaining()] == ["third", "fourth", "fifth"]
    assert log_of(folder) == ALL


def test_one_that_cannot_be_compiled_does_not_stop_the_others(counted):
    folder = counted(fails_at="made.second")
    with pytest.raises(RuntimeError, match=r"no made\.second"):
        list(compilation.remaining())
    assert log_of(folder) == ["made.first", "made.fifth"]  # the others need it
    counted()
    assert [kernel.name for kernel in compilation.remaining()] == ["second", "third", "fourth"]


def test_a_process_outlives_the_one_that_asked(counted):
    folder = counted()
    start = (
        "import sys; sys.path[:] = sys.argv[1:]; import counted_kernels; "
        f"counted_kernels.use({str(folder)!r}, seconds=0.02); from hybridkg.compute import compilation"
    )
    program = f"{start}; compilation._START = {f'{start}; compilation.main()'!r}; compilation.ask(); compilation.ask()"
    subprocess.run([sys.executable, "-c", program, *sys.path], check=True)
    deadline = time.monotonic() + 60
    while len(compilation.compiled()) < len(ALL) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert sorted(log_of(folder)) == sorted(ALL)


def test_no_process_is_started_twice_or_against_the_users_will(counted, monkeypatch):
    counted()
    started = []

    class Process:
        def __init__(self, arguments, **options):
            started.append(options)

        def wait(self):
            return 0

        def poll(self):
            return 0

    monkeypatch.setattr(compilation.subprocess, "Popen", Process)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    compilation.ask()
    compilation.ask()
    assert len(started) == compilation.MAX_COMPILERS
    assert all(options["start_new_session"] for options in started)
    with compilation._seat():
        compilation.start()
        assert compilation.is_running()
    assert len(started) == compilation.MAX_COMPILERS + 1
    assert not compilation.is_running()
    monkeypatch.setenv(compilation.SWITCH, "off")
    compilation.start()
    monkeypatch.delenv(compilation.SWITCH)
    list(compilation.remaining())
    compilation.start()  # nothing remains
    assert len(started) == compilation.MAX_COMPILERS + 1


def test_numpy_works_until_a_kernel_is_compiled_by_others(counted, monkeypatch):
    counted()
    asked = []
    monkeypatch.setattr(compilation, "start", lambda: asked.append(1))
    monkeypatch.setattr(kernels, "LOOK_AGAIN", 0.0)
    monkeypatch.setattr(kernels, "imported", lambda name: kernel_cache)
    kernel = LazyKernel("made.first")
    assert kernel.for_work(1) is None
    assert asked == []
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    assert kernel.for_work(LOAD_AFTER_POSTINGS) is None
    assert kernel.is_pending
    assert asked == [1]
    list(compilation.remaining())
    assert not kernel.is_pending
    assert kernel.loaded is None
    assert kernel.for_work(1) is kernel_cache


def test_a_kernel_that_is_wanted_now_is_compiled_once(counted, monkeypatch):
    folder = counted()
    monkeypatch.setattr(kernels, "imported", lambda name: kernel_cache)
    for _ in range(2):
        assert LazyKernel("made.fifth").load() is kernel_cache
    assert log_of(folder) == ["made.fifth"]


def test_every_kernel_that_is_loaded_is_in_the_list():
    listed = {kernel.module for kernel in KERNELS}
    assert len(listed) == len(KERNELS) == len({kernel.name for kernel in KERNELS})
    used = set()
    for path in kernel_cache.PACKAGE.rglob("*.py"):
        used |= set(re.findall(r'LazyKernel\("([\w.]+)"', path.read_text(encoding="utf-8")))
    assert len(used) > 10
    assert used <= listed


def test_the_list_says_what_each_kernel_needs():
    """Otherwise two processes would compile the same function."""
    listed = {kernel.module: kernel for kernel in KERNELS}

    def imports(module, seen):
        path = kernel_cache.PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py")
        for name in re.findall(r"^from (hybridkg[\w.]*kernel\w*) import", path.read_text(), re.MULTILINE):
            if name not in seen:
                seen.add(name)
                imports(name, seen)
        return seen

    before = set()
    for module, kernel in listed.items():
        assert set(kernel.needs) == imports(module, set()) & set(listed), module
        assert set(kernel.needs) <= before, module
        before.add(module)


def test_what_numba_would_compile_again_is_not_marked_as_compiled(tmp_path, monkeypatch):
    """It stores machine code by the folder and the time of a source; an installation beside has neither."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_cache, "BEGAN", time.time() + 100)

    def mark():
        kernel_cache.folder.cache_clear()
        kernel_cache.state_digest.cache_clear()
        return kernel_cache.mark_of("pack.one_kernel")

    marks = []
    for place in ("one", "other"):
        package = tmp_path / place / "pack"
        package.mkdir(parents=True)
        (package / "one_kernel.py").touch()
        os.utime(package / "one_kernel.py", (1_700_000_000,) * 2)
        monkeypatch.setattr(kernel_cache, "PACKAGE", package)
        marks.append(mark())
        assert mark() == marks[-1]
    os.utime(package / "one_kernel.py", (1_700_000_001,) * 2)
    marks.append(mark())
    assert len(set(marks)) == len(marks)
    assert len({mark.parent for mark in marks}) == 1  # the sources are the same
    monkeypatch.undo()
    mark()


def test_the_cache_is_of_the_processor_and_of_numba(monkeypatch):
    from llvmlite import binding

    def forget():
        kernel_cache.state_digest.cache_clear()
        kernel_cache.machine_digest.cache_clear()

    forget()
    here, machine = kernel_cache.state_digest(), kernel_cache.machine_digest()
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: "another")
    forget()
    assert kernel_cache.state_digest() != here
    assert kernel_cache.machine_digest() != machine
    monkeypatch.undo()
    forget()
    assert kernel_cache.state_digest() == here
    assert Path(kernel_cache.mark_of("some.module")).name == f"some.module.{here}.compiled"
