"""Runs a command and watches the memory of it and of all its children, if wanted inside a memory cgroup.

What is counted: `peak_rss_mb` is the largest sum of VmRSS over the process
and its descendants, sampled; that includes pages of mapped files, and pages
that two of them share are counted twice, so it is an upper bound.
`peak_anon_mb` is the same for RssAnon + RssShmem, memory that no file backs.
The kernel's limit of a cgroup also covers the page cache of files that the
processes are the first to touch (`forget` makes them the first), so a run that
ends well inside one needs no more than that, cache included.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

PERIOD_S = 0.02
MAX_SECONDS = 1_800
"""No process of this benchmark takes that long unless something is wrong, such as thrashing in its cgroup."""
MB = 1_000_000
GB = 1_000_000_000
_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Watched:
    """How a command went.

    Args:
        code: its exit code; negative for a signal.
        wall_s: from its start to its end.
        peak_rss_mb: see the module.
        peak_anon_mb: see the module.
        limit_mb: of its cgroup; None where it had none.
        limit_hits: how often the limit made the kernel take pages back.
    """

    code: int
    wall_s: float
    peak_rss_mb: float
    peak_anon_mb: float
    limit_mb: int | None
    limit_hits: int | None

    def figures(self) -> dict[str, Any]:
        """As a result stores it."""
        return asdict(self)


class MemoryGroup:
    """A memory cgroup of our own, version 1 or 2."""

    def __init__(self, limit: int):
        first = (_V1 / "memory.limit_in_bytes").exists()
        base = _V1 if first else _V2
        if not first and "memory" not in (_V2 / "cgroup.subtree_control").read_text().split():
            raise OSError("no memory controller")
        self._hits = ("memory.failcnt",) if first else ("memory.events", "max")
        self.folder = base / f"hybridkg-benchmark-{os.getpid()}-{time.monotonic_ns()}"
        self.folder.mkdir()
        try:
            (self.folder / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(limit))
        except OSError:
            self.folder.rmdir()
            raise

    def inside(self, command: Sequence[str]) -> list[str]:
        """A command that enters the group and becomes the given one."""
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.folder / "cgroup.procs"), *command]

    def hits(self) -> int:
        """How often the limit was met."""
        text = (self.folder / self._hits[0]).read_text()
        if len(self._hits) == 1:
            return int(text)
        return next((int(line.split()[1]) for line in text.splitlines() if line.split()[0] == self._hits[1]), 0)

    def remove(self) -> None:
        """Removes the group once its processes have ended."""
        for _ in range(50):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.1)


@contextlib.contextmanager
def memory_group(limit: int | None) -> Iterator[MemoryGroup | None]:
    """A group with a limit in bytes; None without a limit, or where this machine lets us make none."""
    group = None
    if limit is not None:
        try:
            group = MemoryGroup(limit)
        except OSError as e:
            print(f"no memory cgroup here ({e}); not limited", flush=True)
    try:
        yield group
    finally:
        if group:
            group.remove()


def family(pid: int) -> list[int]:
    """A process and its descendants."""
    found = [pid]
    for one in found:
        with contextlib.suppress(OSError):
            for task in Path(f"/proc/{one}/task").iterdir():
                found.extend(map(int, (task / "children").read_text().split()))
    return found


def resident(pid: int) -> tuple[int, int]:
    """VmRSS, and RssAnon + RssShmem, of a process in bytes; 0 where it has ended."""
    sizes = {"VmRSS": 0, "RssAnon": 0, "RssShmem": 0}
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in sizes:
                sizes[name] = int(value.split()[0]) * 1024
    return sizes["VmRSS"], sizes["RssAnon"] + sizes["RssShmem"]


def watch(
    command: Sequence[str], limit: int | None = None, *, longest_s: float = MAX_SECONDS, **environment: str
) -> Watched:
    """Runs a command to its end, or for so long, where it and its children are killed; its output goes to stderr."""
    with memory_group(limit) as group:
        started = time.perf_counter()
        child = subprocess.Popen(
            group.inside(command) if group else command,
            env={**os.environ, **environment},
            stdout=sys.stderr,
        )
        rss = anon = 0
        try:
            while child.poll() is None:
                sizes = [resident(pid) for pid in family(child.pid)]
                rss, anon = max(rss, sum(s[0] for s in sizes)), max(anon, sum(s[1] for s in sizes))
                if time.perf_counter() - started > longest_s:
                    break
                time.sleep(PERIOD_S)
        finally:
            for pid in reversed(family(child.pid)) if child.poll() is None else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            child.wait()
        wall = time.perf_counter() - started
        limits = (limit // MB if limit else None, group.hits()) if group else (None, None)
    return Watched(child.returncode, round(wall, 2), round(rss / MB, 1), round(anon / MB, 1), *limits)


def forget(folder: Path) -> None:
    """Asks the kernel to drop the cached pages of a folder's files, so that the next reader is charged for them."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
