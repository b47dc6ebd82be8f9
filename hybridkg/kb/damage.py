"""Bit rot behind an unexpected failure.

Opening a knowledge base compares the sizes of its files only, because it has to be fast. So a byte that rotted on disk
first shows as an array that no code expects: an IndexError, say, which looks like a bug of hybridkg. Before such an
error is passed on, the files are compared with the checksums of the manifest, those of the part that failed first, and
damage is reported in its place. A bug reads no more than `MAX_BYTES_READ`, whatever the size of the knowledge base;
`KnowledgeBase.verify` has no such limit.
"""

from __future__ import annotations

from types import TracebackType

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import check_checksums

MAX_BYTES_READ = 2_000_000_000
"""Bytes that are compared after one failure: CRC-32 takes 0.6 s for them, a cold disk of 200 MB/s 10 s."""

FILES_OF = {
    "text": ("text/", "nodes."),
    "vector": ("vectors/",),
    "graph": ("projection/", "statistics.json"),
    "entities": ("nodes.", "documents/"),
    "store": ("graph/", "documents/"),
}
"""Beginnings of the names of the files that a package of hybridkg reads."""

EXPECTED = (HybridkgError, OSError, MemoryError, RecursionError)
"""Failures that say themselves what is wrong."""


def may_be_damage(error: BaseException) -> bool:
    """Whether no part of hybridkg raises such an error on purpose, so that a damaged file may be behind it.

    >>> may_be_damage(IndexError()), may_be_damage(OSError()), may_be_damage(KeyboardInterrupt())
    (True, False, False)
    """
    return isinstance(error, Exception) and not isinstance(error, EXPECTED)


def raise_if_damaged(generation: Generation, error: BaseException, progress: Progress = SILENT) -> None:
    """Compares files of a generation with their checksums, because of an error for which `may_be_damage` holds.

    Args:
        generation: the state that the failed work read.
        error: the failure. Where not all files have been compared, it gets a note that says so.
        progress: advances by the files that are read.

    Raises:
        CorruptError: a file is damaged; the error is its cause.
    """
    entries = generation.manifest.files
    names, size = _within_limit(generation, parts_of(error.__traceback__))
    progress.start("the query failed: comparing the files with their checksums", size)
    try:
        check_checksums(generation.path, generation.manifest, names, progress)
    except HybridkgError as damage:
        raise damage from error
    finally:
        progress.done(len(names))
    if len(names) < len(entries):
        error.add_note(
            f"{len(names):,} of {len(entries):,} files of the knowledge base have the checksums of their manifest; the "
            "others were not read: KnowledgeBase.verify(), or hybridkg stats KB --verify, reads all"
        )


def parts_of(trace: TracebackType | None) -> tuple[str, ...]:
    """Beginnings of the names of the files that the code of a traceback reads, those of the innermost call first."""
    packages: list[str] = []
    while trace is not None:
        top, _, below = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")
        packages += [below.partition(".")[0]] if top == "hybridkg" else []
        trace = trace.tb_next
    return tuple(dict.fromkeys(part for package in reversed(packages) for part in FILES_OF.get(package, ())))


def _within_limit(generation: Generation, parts: tuple[str, ...]) -> tuple[list[str], int]:
    """Names of the files to read and their bytes: those of `parts` first, small files before large ones."""

    def order(name: str) -> tuple[int, int, str]:
        part = next((at for at, beginning in enumerate(parts) if name.startswith(beginning)), len(parts))
        return part, generation.manifest.files[name].size, name

    names, total = [], 0
    for name in sorted(generation.manifest.files, key=order):
        size = generation.manifest.files[name].size
        if total + size <= MAX_BYTES_READ:
            names.append(name)
            total += size
    return names, total
