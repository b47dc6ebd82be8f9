"""Parallel work on dumps and ranges, in one process per core, or in threads for little work.

Decompression and compression release Python's lock; everything else holds it, so threads alone use one core.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
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
"""Processes an item; for processes, it and its arguments, results and errors can be pickled."""


class _StoppedError(Exception):
    """Another item has failed."""


class _Together:
    """The common progress of several items; it stops the others when one has failed."""

    def __init__(self, advance: Callable[[int, int], None], stopped: Any):
        self._advance, self.stopped = advance, stopped

    def start(self, label: str, total_bytes: int | None) -> None:
        """Ignored: the step has been started for all."""

    def advance(self, bytes_read: int, items: int) -> None:
        """Reports the progress of one item."""
        if self.stopped.is_set():
            raise _StoppedError
        self._advance(bytes_read, items)

    def done(self, items: int) -> None:
        """Ignored: the step ends with the last item."""


class ParallelWorkers(Generic[Item, Result]):
    """Two or more workers, made by `workers`: `submit` queues an item, `stop` stops running ones."""

    def __init__(self, submit: Callable[[Item], Future[Result]], stop: Callable[[], None]):
        self._submit, self._stop = submit, stop

    def as_done(self, items: Iterable[Item]) -> Iterator[tuple[Item, Result]]:
        """Each item with its result as they finish. Raises the error of the first failed item, and cancels others."""
        futures = {self._submit(item): item for item in items}
        error: BaseException | None = None
        try:
            for future in as_completed(futures):
                try:
                    result = _result(future)
                except BaseException as e:  # also of items that were stopped because of it
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
        """The results in the order of the items; at most `most` items are submitted ahead."""
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
            "a conversion process has died",
            hint="out of memory? the same command resumes it; a Python script needs "
            'if __name__ == "__main__": around its code',
        ) from e


@contextmanager
def workers(
    work: Work[Item, Result], count: int, progress: Progress, *, processes: bool
) -> Iterator[ParallelWorkers[Item, Result]]:
    """Workers in `count` processes, or threads, that end with the block; `progress` receives the sums of all."""
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
        while (report := reports.get()) is not None:  # to its end: a child waits until its report is read
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
                with ctrl_c_withheld():  # the first submission starts the processes
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
"""The work of a child process."""


def _begin_child(work: Work[Any, Any], reports: Any, stopped: Any) -> None:
    become_child()
    together = _Together(lambda bytes_read, items: reports.put((bytes_read, items)), stopped)
    _work_here.append(lambda item: work(item, together))


def _work_of_child(item: Any) -> Any:
    return _work_here[0](item)
