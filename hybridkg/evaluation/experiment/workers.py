"""Worker processes that answer topics in parallel; each opens the knowledge base for itself.

A worker reads topics from the pipe to its parent, which handles Ctrl-C, and ends with the parent.
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


def answers_at_once(query: AskedSystem, todo: Mapping[str, Values]) -> Iterator[TopicRanking]:
    """Answers of workers in order of arrival; HybridkgError if a topic fails, StorageError if a worker dies."""
    waiting = iter(todo.items())
    context = get_context("spawn")
    workers: dict[Connection, Any] = {}
    try:
        with ctrl_c_withheld():
            for _ in range(min(query.jobs, len(todo))):
                ours, theirs = context.Pipe()
                worker = context.Process(target=_work, args=(theirs, query, next(iter(todo.items()))), daemon=True)
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
                    answer = pipe.recv()
                except (EOFError, OSError) as e:
                    raise _died(query) from e
                if isinstance(answer, BaseException):
                    raise answer
                yield answer
                item = next(waiting, None)
                if item is None:
                    busy.remove(pipe)
                else:
                    _send(pipe, item)
    finally:
        for worker in workers.values():
            worker.kill()  # workers only read, and a query may take hours
        for pipe, worker in workers.items():
            worker.join()
            pipe.close()


def _send(pipe: Connection, item: tuple[str, Values]) -> None:
    with suppress(OSError):  # a dead worker shows when its pipe is read
        pipe.send(item)


def _died(query: AskedSystem) -> StorageError:
    return StorageError(
        f"a process that answered topics of {query.system!r} has died",
        hint='out of memory? --jobs 1; a Python script with jobs needs if __name__ == "__main__":',
    )


def _work(pipe: Connection, query: AskedSystem, warm: tuple[str, Values]) -> None:
    become_child()
    prepared = failure = None
    try:
        prepared = query.open()
        query.answer(prepared, *warm)
    except HybridkgError as e:
        failure = e if prepared is None else None  # a failing topic fails again below
    with suppress(EOFError, OSError):
        while True:
            topic, values = pipe.recv()
            try:
                pipe.send(failure if prepared is None else query.answer(prepared, topic, values))
            except HybridkgError as e:
                pipe.send(e)
