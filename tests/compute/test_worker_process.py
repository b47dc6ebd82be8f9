"""Work in a process of its own: what it sends, what it raises, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from ended import assert_ends
from works_aside import count, die, refuse

from hybridkg.compute.worker_process import WorkerLostError, WorkerProcess
from hybridkg.errors import LoadError


def test_what_the_work_sends_and_returns_comes_in_order_from_another_process():
    with WorkerProcess(count, 2_000, "printed words are no answer") as aside:
        sent = list(aside)
        assert aside.result == 20_000
    assert [i for i, _ in sent] == list(range(2_000))
    assert {pid for _, pid in sent}.isdisjoint([os.getpid()])


@pytest.mark.parametrize(
    "error", [LoadError("wrong 'x'", hint="mend it", place="a.nt:3"), OSError(28, "No space left on device", "x")]
)
def test_an_error_comes_as_it_is(error):
    with WorkerProcess(refuse, error) as aside:
        received = []
        with pytest.raises(type(error)) as caught:
            received.extend(aside)
    assert str(caught.value) == str(error)
    assert vars(caught.value) == vars(error)


@pytest.mark.parametrize(("work", "given"), [(die, 0), (die, 9), (refuse, KeyError("a mistake of ours"))])
def test_a_process_that_ends_without_an_answer_is_lost(work, given):
    with WorkerProcess(work, given) as aside:
        received = iter(aside)
        assert next(received) == 1
        with pytest.raises(WorkerLostError):
            next(received)


@pytest.mark.parametrize("program", ["", "/nowhere/python", "/bin/false", "/bin/true"])
def test_a_process_that_cannot_be_started_is_lost(monkeypatch, program):
    monkeypatch.setattr(sys, "executable", program)
    with WorkerProcess(count, 3) as aside, pytest.raises(WorkerLostError):
        next(iter(aside))


def test_control_c_does_not_end_it_and_the_end_of_the_block_does():
    with WorkerProcess(count, 10**9) as aside:
        received = iter(aside)
        _, pid = next(received)
        os.kill(pid, signal.SIGINT)
        assert [next(received)[0] for _ in range(3_000)] == list(range(1, 3_001))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PARENT = """
import os, sys
from works_aside import count
from hybridkg.compute.worker_process import WorkerProcess
print(next(iter(WorkerProcess(count, 10**9)))[1], flush=True)
os._exit(0)
"""


def test_it_ends_with_its_parent():
    path = os.pathsep.join(filter(None, sys.path))
    shown = subprocess.run(
        [sys.executable, "-c", PARENT],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert_ends(int(shown.stdout))
