"""Answers topics in several processes, each of which opens the knowledge base for itself.

A worker has one pipe, to the process that started it, and waits there for topics. It leaves Ctrl-C to that process and
ends with it, whatever ended that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

from hybridkg.errors import HybridkgError, StorageError
from hybridkg.evaluation.child_process import become_child, ctrl_c_withheld
from hybridkg.evaluation.experiment.answers import TopicRanking
from hybridkg.evaluation.experiment.asked import AskedSystem

Values = Mapping[str, str]


def answers_at_once(asked: AskedSystem, todo: Mapping[str, Values]) -> Iterator[TopicRanking]:
    """Answers of `asked.jobs` workers, in the order in which they come.

    Raises:
        HybridkgError: a topic fails.
        StorageError: a worker has died.
    """
    waiting = iter(todo.items())
    context = get_context("spawn")
    workers: dict[Connection, Any] = {}
    try:
        with ctrl_c_withheld():
            for _ in range(min(asked.jobs, len(todo))):
                ours, theirs = context.Pipe()
                worker = context.Process(target=_work, args=(theirs, asked, next(iter(todo.items()))), daemon=True)
                worker.start()
                theirs.close()
                workers[ours] = worker
        busy = list(workers)
        for worker_pipe, first in zip(busy, waiting, strict=False):
            _send(worker_pipe, first)
        while busy:
            for pipe in wait(busy):
                assert isinstance(pipe, Connection)
                try:
                    found = pipe.recv()
                except (EOFError, OSError) as e:
                    raise _died(asked) from e
                if isinstance(found, BaseException):
                    raise found
                yield found
                item = next(waiting, None)
                if item is None:
                    busy.remove(pipe)
                else:
                    _send(pipe, item)
    finally:
        for worker in workers.values():
            worker.kill()  # they only read, and a query may take hours
        for pipe, worker in workers.items():
            worker.join()
            pipe.close()


def _send(pipe: Connection, item: tuple[str, Values]) -> None:
    with suppress(OSError):  # it has died: what it leaves to read, nothing, tells
        pipe.send(item)


def _died(asked: AskedSystem) -> StorageError:
    return StorageError(
        f"a process that answered topics of {asked.system!r} has died",
        hint='out of memory? --jobs 1; a Python script that asks with jobs needs if __name__ == "__main__":',
    )


def _work(pipe: Connection, asked: AskedSystem, warm: tuple[str, Values]) -> None:
    """Answers what comes through the pipe until it is closed."""
    become_child()
    prepared = failure = None
    try:
        prepared = asked.open()
        asked.answer(prepared, *warm)
    except HybridkgError as e:
        failure = e if prepared is None else None  # a topic will tell itself what is wrong with it
    with suppress(EOFError, OSError):
        while True:
            topic, values = pipe.recv()
            try:
                pipe.send(failure if prepared is None else asked.answer(prepared, topic, values))
            except HybridkgError as e:
                pipe.send(e)
