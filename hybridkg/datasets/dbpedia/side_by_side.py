"""Works on dumps and ranges side by side: in a process to a core, or in threads where there is little to do.

Unpacking a dump and packing a range do not hold Python's lock; all that comes
between them does, so threads alone keep one core busy.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Generic, TypeAlias, TypeVar

from hybridkg.errors import StorageError
from hybridkg.evaluation.child_process import become_child, ctrl_c_withheld
from hybridkg.interfaces.progress import Progress

Item = TypeVar("Item")
Result = TypeVar("Result")

Work: TypeAlias = Callable[[Item, Progress], Result]
"""Does an item; for processes it can be pickled, and so can what it takes, gives and raises."""


class _StoppedError(Exception):
    """Another item has ended the work."""


class _Together:
    """What several items report, as one piece of work; ends the others when one has failed.

    Args:
        advance: told bytes and items.
        stopped: an event of threads or of processes.
    """

    def __init__(self, advance: Callable[[int, int], None], stopped: Any):
        self._advance, self.stopped = advance, stopped

    def start(self, label: str, total_bytes: int | None) -> None:
        """The piece has been started for all."""

    def advance(self, bytes_read: int, items: int) -> None:
        """What came of one of them."""
        if self.stopped.is_set():
            raise _StoppedError
        self._advance(bytes_read, items)

    def done(self, items: int) -> None:
        """The piece ends with the last."""


class ParallelWorkers(Generic[Item, Result]):
    """Two or more workers, made by `workers`.

    Args:
        submit: begins an item, or lets it wait for its turn.
        stop: makes what is running end.
    """

    def __init__(self, submit: Callable[[Item], Future[Result]], stop: Callable[[], None]):
        self._submit, self._stop = submit, stop

    def as_done(self, items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Each item with what has come of it, as it is done, begun in the order given.

        Raises:
            Exception: what the first that failed has raised; the others are given up, except those that are done.
        """
        futures = {self._submit(item): item for item in items}
        error: BaseException | None = None
        try:
            for future in as_completed(futures):
                try:
                    result = _result(future)
                except BaseException as e:  # also of those that have been stopped because of it
                    error = error or e
                    self._give_up(futures)
                    continue
                yield futures[future], result
        except BaseException:  # Ctrl-C
            self._give_up(futures)
            raise
        if error is not None:
            raise error

    def in_order(self, items: Iterable[Item], most: int) -> Iterator[Result]:
        """What has come of each item, in their order; at most `most` results wait."""
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(self._submit(item))
                if len(waiting) == most:
                    yield _result(waiting.popleft())
            while waiting:
                yield _result(waiting.popleft())
        except BaseException:
            self._give_up(waiting)
            raise

    def _give_up(self, futures: Iterable[Future[Result]]) -> None:
        self._stop()
        for future in futures:
            future.cancel()


def _result(future: Future[Result]) -> Result:
    try:
        return future.result()
    except BrokenProcessPool as e:
        raise StorageError(
            "a process that converts has died",
            hint="out of memory? the same command goes on where it was; a Python script needs "
            'if __name__ == "__main__": around what it does',
        ) from e


@contextmanager
def workers(
    work: Work[Item, Result], count: int, progress: Progress, *, processes: bool
) -> Iterator[ParallelWorkers[Item, Result]]:
    """Workers that are gone when the block ends.

    Args:
        work: what each item needs.
        count: how many workers.
        progress: told bytes and items of all.
        processes: whether they are processes; otherwise threads.
    """
    lock = threading.Lock()

    def advance(bytes_read: int, items: int) -> None:
        with lock:
            progress.advance(bytes_read, items)

    if not processes:
        together = _Together(advance, threading.Event())
        with ThreadPoolExecutor(count, "hybridkg-dumps") as threads:
            yield ParallelWorkers(lambda item: threads.submit(work, item, together), together.stopped.set)
        return
    context = get_context("spawn")
    reports, stopped = context.SimpleQueue(), context.Event()
    failed: list[BaseException] = []

    def listen() -> None:
        while (report := reports.get()) is not None:  # to its end: who reports waits until somebody listens
            try:
                if not failed:
                    advance(*report)
            except BaseException as e:
                failed.append(e)
                stopped.set()

    listener = threading.Thread(target=listen, name="hybridkg-reports", daemon=True)
    listener.start()
    try:
        with ProcessPoolExecutor(count, context, initializer=_begin_child, initargs=(work, reports, stopped)) as pool:

            def submit(item: Item) -> Future[Result]:
                with ctrl_c_withheld():  # processes are started by what is submitted first
                    return pool.submit(_work_of_child, item)

            yield ParallelWorkers(submit, stopped.set)
    except _StoppedError:
        if not failed:
            raise
    finally:
        reports.put(None)
        listener.join()
    if failed:
        raise failed[0]


_work_here: list[Callable[[Any], Any]] = []
"""In a child: what it does with an item."""


def _begin_child(work: Work[Any, Any], reports: Any, stopped: Any) -> None:
    become_child()
    together = _Together(lambda bytes_read, items: reports.put((bytes_read, items)), stopped)
    _work_here.append(lambda item: work(item, together))


def _work_of_child(item: Any) -> Any:
    return _work_here[0](item)
