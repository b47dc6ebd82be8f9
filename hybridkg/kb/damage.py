"""Detection of bit rot behind an unexpected failure.

Opening a knowledge base compares the checksums of small files only, to be fast. A damaged byte of a large one may first
show as an IndexError, say, which looks like a bug of hybridkg. Before such an error is passed on, files are compared
with the checksums of the manifest, those of the part that failed first, and damage is reported in its place. At most
`MAX_BYTES_READ` are read; `KnowledgeBase.verify` has no such limit.
"""

from __future__ import annotations

from types import TracebackType

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import check_checksums

MAX_BYTES_READ = 2_000_000_000
"""Bytes compared after one failure: CRC-32 takes 0.6 s for them, a cold disk of 200 MB/s 10 s."""

FILES_OF = {
    "text": ("text/", "nodes."),
    "vector": ("vectors/",),
    "graph": ("projection/", "statistics.json"),
    "entities": ("nodes.", "documents/"),
    "store": ("graph/", "documents/"),
}
"""Prefixes of the names of the files that a package of hybridkg reads."""

EXPECTED = (HybridkgError, OSError, MemoryError, RecursionError)
"""Errors that name their cause themselves."""


def may_be_damage(error: BaseException) -> bool:
    """Whether hybridkg raises no such error on purpose, so that a damaged file may have caused it.

    >>> may_be_damage(IndexError()), may_be_damage(OSError()), may_be_damage(KeyboardInterrupt())
    (True, False, False)
    """
    return isinstance(error, Exception) and not isinstance(error, EXPECTED)


def raise_if_damaged(generation: Generation, error: BaseException, progress: Progress = SILENT) -> None:
    """Compares files of a generation with their checksums after an error for which `may_be_damage` holds.

    The error gets a note if not all files have been compared.

    Raises:
        CorruptError: a file is damaged; its cause is the error.
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
    """Prefixes of the names of the files that the code of a traceback reads, those of the innermost call first."""
    packages: list[str] = []
    while trace is not None:
        top, _, below = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")
        packages += [below.partition(".")[0]] if top == "hybridkg" else []
        trace = trace.tb_next
    return tuple(dict.fromkeys(part for package in reversed(packages) for part in FILES_OF.get(package, ())))


def _within_limit(generation: Generation, parts: tuple[str, ...]) -> tuple[list[str], int]:
    """Names and total bytes of the files to compare: those of `parts` first, small files before large ones."""

    def order(name: str) -> tuple[int, int, str]:
        part = next((at for at, prefix in enumerate(parts) if name.startswith(prefix)), len(parts))
        return part, generation.manifest.files[name].size, name

    names, total = [], 0
    for name in sorted(generation.manifest.files, key=order):
        size = generation.manifest.files[name].size
        if total + size <= MAX_BYTES_READ:
            names.append(name)
            total += size
    return names, total
