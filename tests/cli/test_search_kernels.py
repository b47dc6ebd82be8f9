"""What commands show of kernels that are not compiled: `doctor --compile`, and the wait after a load."""

from __future__ import annotations

import re

import counted_kernels
import pytest
from click.testing import CliRunner
from counted_kernels import log_of

from hybridkg.cli import cli
from hybridkg.cli.search_kernels import tell_what_remains
from hybridkg.compute import compilation, kernel_cache
from hybridkg.kb.write import await_kernels

NAMES = [kernel.name for kernel in counted_kernels.KERNELS]


class Shown:
    """The progress that a command shows: (label, total) or a number of units."""

    def __init__(self):
        self.seen = []

    def start(self, label, total):
        self.seen.append((label, total))

    def advance(self, units, items):
        self.seen.append(units)

    def done(self, items):
        self.seen.append("done")


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """counted(...) takes the list of counted kernels, with the options of `counted_kernels.use`; -> the folder."""
    for name in ("imported", "folder", "state_digest"):
        monkeypatch.setattr(kernel_cache, name, getattr(kernel_cache, name))
    for module in (compilation, await_kernels):
        monkeypatch.setattr(module, "KERNELS", counted_kernels.KERNELS)
    monkeypatch.setattr("hybridkg.compute.kernel_list.KERNELS", counted_kernels.KERNELS)
    monkeypatch.setattr(await_kernels, "_waits", [])
    compilation._asked.clear()

    def use(**options):
        counted_kernels.use(tmp_path, **options)
        return tmp_path

    yield use
    compilation._asked.clear()


def compile_all():
    """The result, and its lines without seconds."""
    result = CliRunner().invoke(cli, ["doctor", "--compile"])
    return result, re.sub(r": [0-9.]+ s$", "", result.output, flags=re.MULTILINE).splitlines()


def test_doctor_compiles_all_and_names_each(counted):
    folder = counted()
    result, (*lines, last) = compile_all()
    assert result.exit_code == 0, result.output
    assert lines == [f"{i:>2}/5  {name}" for i, name in enumerate(NAMES, 1)]
    assert last == "all 5 search kernels are compiled"
    assert compile_all()[1] == [last]
    assert len(log_of(folder)) == len(NAMES)


def test_doctor_counts_on_from_those_that_are_compiled(counted):
    counted()
    next(compilation.remaining())
    assert compile_all()[1][0] == " 2/5  second"


def test_doctor_says_why_one_cannot_be_compiled(counted):
    counted(fails_at="made.fifth")
    result, _ = compile_all()
    assert result.exit_code != 0
    assert " 4/5  fourth" in result.output
    assert "the search kernels cannot be compiled: no made.fifth" in result.output


def test_a_load_that_missed_no_kernel_does_not_wait(counted, monkeypatch):
    counted()
    monkeypatch.setattr(compilation, "is_running", lambda: True)
    shown = Shown()
    await_kernels.await_kernels(shown)
    assert shown.seen == []


def test_a_load_waits_until_all_are_compiled(counted, monkeypatch, capsys):
    counted()
    rest = compilation.remaining()
    next(rest)
    monkeypatch.setattr(compilation, "is_running", lambda: next(rest, None) is not None or True)
    monkeypatch.setattr(compilation, "AGAIN", 0.0)
    compilation.ask()
    shown = Shown()
    await_kernels.await_kernels(shown)
    assert shown.seen == [(await_kernels.LABEL, 5), 1, 2, 1, 1, "done"]
    tell_what_remains()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("trouble", ["time", "Ctrl-C"])
def test_a_load_leaves_the_rest_to_the_background(counted, monkeypatch, capsys, trouble):
    counted()
    next(compilation.remaining())
    monkeypatch.setattr(compilation, "is_running", lambda: True)
    compilation.ask()
    if trouble == "time":
        monkeypatch.setattr(await_kernels, "MAX_WAIT", 0.001)
    else:

        def interrupted(seconds):
            raise KeyboardInterrupt

        monkeypatch.setattr(compilation.time, "sleep", interrupted)
    shown = Shown()
    await_kernels.await_kernels(shown)
    assert [one for one in shown.seen if one != 0] == [(await_kernels.LABEL, 5), 1, "done"]
    tell_what_remains()
    assert "compiled in the background, 1 of 5 so far" in capsys.readouterr().err


def test_a_process_waits_no_longer_in_all(counted, monkeypatch):
    counted()
    waits = []
    monkeypatch.setattr(compilation, "is_running", lambda: True)
    monkeypatch.setattr(compilation, "wait", lambda seconds, report: waits.append(seconds))
    monkeypatch.setattr(await_kernels.time, "monotonic", lambda: 10.0 * len(waits))
    compilation.ask()
    for _ in range(3):
        await_kernels.await_kernels(Shown())
    assert waits == [15.0, 5.0]


def test_nobody_waits_where_nobody_compiles(counted, monkeypatch):
    counted()
    compilation.ask()  # HYBRIDKG_COMPILE is off in tests
    shown = Shown()
    await_kernels.await_kernels(shown)
    assert shown.seen == []
