"""Compilation of the kernels, once for each installation, in processes of low priority that outlive this one.

A process that would load a kernel which is not compiled asks for it, and goes on with numpy. Up to MAX_COMPILERS
processes on the machine then take the kernels of the list one by one, each under a lock; so none is compiled twice, by
however many processes. A process that is killed leaves no lock and no mark (kernel_cache.py), and the next one that
asks compiles the rest. HYBRIDKG_COMPILE=off starts no process: `hybridkg doctor --compile` compiles all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from hybridkg.compute import kernel_cache
from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.compute.kernel_list import KERNELS, Kernel
from hybridkg.compute.worker_process import command

MAX_COMPILERS = 2

SWITCH = "HYBRIDKG_COMPILE"
"""Environment variable; `off` starts no process."""

AGAIN = 0.1
"""Seconds between two looks at what other processes have compiled."""

LOOKS = 3
"""Looks for a place that is free."""

LOWEST_PRIORITY = 19

_START = "import sys; sys.path[:] = sys.argv[1:]; from hybridkg.compute.compilation import main; main()"

_asked = threading.Event()
_processes: list[subprocess.Popen[bytes]] = []
"""Those that this process has started."""


def ask() -> None:
    """Lets other processes compile what is not compiled, if this process has not asked before."""
    if not _asked.is_set():
        _asked.set()
        start()


def start() -> None:
    """Starts processes that compile, up to MAX_COMPILERS on this machine."""
    if os.environ.get(SWITCH) == "off" or not sys.executable:
        return
    with suppress(OSError, ImportError, ValueError):
        for _ in range(_free_seats() if len(compiled()) < len(KERNELS) else 0):
            process = subprocess.Popen(
                command(_START),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                creationflags=getattr(subprocess, "DETACHED_PROCESS", 0),
            )
            _processes.append(process)
            # Takes note of its end, so that no zombie stays; does not keep this process from ending.
            threading.Thread(target=process.wait, name="hybridkg-compiler", daemon=True).start()


def has_asked() -> bool:
    """Whether this process could have used a kernel that was not compiled."""
    return _asked.is_set()


def compiled() -> list[Kernel]:
    """The kernels that are in the cache.

    Raises:
        ImportError: there is no numba.
        OSError: there is no folder for the cache.
    """
    return [kernel for kernel in KERNELS if kernel_cache.is_compiled(kernel.module)]


def is_running() -> bool:
    """Whether a process compiles, or one that this process has started will. Raises as `compiled`."""
    return any(process.poll() is None for process in _processes) or _free_seats() < _seats()


def wait(seconds: float, report: Callable[[int], None] = lambda compiled: None) -> int:
    """Waits until all kernels are compiled, nobody compiles, or the time is over.

    Args:
        seconds: the longest wait.
        report: gets the number of compiled kernels, now and then.

    Returns:
        The number of kernels that are compiled.
    """
    until = time.monotonic() + seconds
    ready = len(compiled())
    while ready < len(KERNELS) and time.monotonic() < until and is_running():
        time.sleep(AGAIN)
        ready = len(compiled())
        report(ready)
    return ready


def compile_here(module: str) -> None:
    """Compiles a module of kernels in this process, unless it is compiled; waits for another process that does it.

    Raises:
        ImportError, OSError: as `kernel_cache.imported`; `RuntimeError` too, if numba cannot write.
    """
    if not kernel_cache.is_compiled(module):
        with _lock_of(module, -1):
            _compile(module)


def remaining() -> Iterator[Kernel]:
    """Compiles in this process what is not compiled, and yields each kernel; others may do the same at the same time.

    At the end all kernels are compiled, by this process or another, except those whose compilation has failed in it:
    the first error is raised then.
    """
    failures: dict[str, Exception] = {}
    while True:
        found, others = None, False
        for kernel in KERNELS:
            if kernel.module in failures or kernel_cache.is_compiled(kernel.module):
                continue
            if not all(map(kernel_cache.is_compiled, kernel.needs)):
                continue
            try:
                with _lock_of(kernel.module, 0):
                    if _compile(kernel.module):
                        found = kernel
            except _BusyError:
                others = True
                continue
            except Exception as e:
                failures[kernel.module] = e
                continue
            break
        else:
            if not others:
                break
            time.sleep(AGAIN)
        if found is not None:
            yield found
    if failures:
        raise next(iter(failures.values()))


def main() -> None:
    """The process that compiles."""
    with suppress(OSError, AttributeError):
        os.nice(LOWEST_PRIORITY)
    with suppress(Exception), _seat():  # an error is shown by `hybridkg doctor --compile`
        for _ in remaining():
            pass


class _BusyError(Exception):
    """Another process has the lock."""


def _seats() -> int:
    return min(MAX_COMPILERS, os.cpu_count() or 1)


def _free_seats() -> int:
    """The number of processes that may still begin to compile."""
    free = 0
    for number in range(_seats()):
        with suppress(_BusyError), _lock_of(f"compiler-{number}", 0):
            free += 1
    return free


@contextmanager
def _seat() -> Iterator[None]:
    """One of the places of processes that compile; raises `_BusyError` if all are taken."""
    for _ in range(LOOKS):  # another process may be about to look whether it is free
        for number in range(_seats()):
            with ExitStack() as stack:
                try:
                    stack.enter_context(_lock_of(f"compiler-{number}", 0))
                except _BusyError:
                    continue
                yield
                return
        time.sleep(AGAIN)
    raise _BusyError


@contextmanager
def _lock_of(name: str, timeout: float) -> Iterator[None]:
    """A lock among processes; it ends with its process. `timeout` in seconds; -1 for none."""
    from filelock import FileLock, Timeout

    lock = FileLock(kernel_cache.folder() / f"{name}.lock", timeout=timeout)
    try:
        lock.acquire()
    except Timeout as e:
        raise _BusyError from e
    try:
        yield
    finally:
        lock.release()


def _compile(module: str) -> bool:
    """Compiles and marks a module whose lock this process has; whether it had not been compiled meanwhile."""
    if kernel_cache.is_compiled(module):
        return False
    kernel_cache.remove_damaged(module)
    start = time.perf_counter()
    with collector_paused():
        imported = kernel_cache.imported(module)
    kernel_cache.write_mark(imported, module, time.perf_counter() - start)
    return True
