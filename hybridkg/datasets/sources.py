"""Finds and reads the files that a dataset is made of.

They are downloaded by the user and may be anything, so every reader here is
bounded, and every error names the file and the line.
"""

from __future__ import annotations

import gzip
import hashlib
import lzma
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from hybridkg.errors import LoadError

MAX_TEXT = 256_000_000
"""Bytes of a source file after decompression; the largest real one has 18 million."""

ENDINGS = ("", ".xz", ".gz")
"""How a file may be packed, whichever way its recipe names it."""


@dataclass(frozen=True)
class SourceFile:
    """A file that a dataset is made of.

    Args:
        name: its path below the data folder, as the recipe has it.
        path: where it has been found.
    """

    name: str
    path: Path

    def text(self) -> str:
        """The whole text, unpacked.

        Raises:
            LoadError: it cannot be read, is damaged, too large, or not UTF-8.
        """
        try:
            with _opened(self.path) as file:
                data: bytes = file.read(MAX_TEXT + 1)
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as e:
            reason = e.strerror if isinstance(e, OSError) and e.strerror else str(e)
            raise LoadError(f"cannot read {self.path.name!r}: {reason.lower()}", place=str(self.path)) from e
        if len(data) > MAX_TEXT:
            raise LoadError(f"{self.path.name!r} is larger than {MAX_TEXT:,} bytes", place=str(self.path))
        try:
            return data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as e:
            place = f"{self.path}:{data.count(bytes([10]), 0, e.start) + 1}"
            raise LoadError(f"{self.path.name!r} is not UTF-8 text", place=place) from e

    def rows(self, columns: int, *, header: bool = False) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of a file of cells that tabs separate; empty lines are skipped.

        Args:
            columns: cells that every line must have.
            header: whether the first line names the columns.

        Raises:
            LoadError: a line has another number of cells.
        """
        for number, line in enumerate(self.text().split("\n"), 1):
            if not line.strip() or (header and number == 1):
                continue
            cells = line.split("\t")
            if len(cells) != columns:
                raise self.wrong(f"{len(cells)} cells, where {columns} are expected", number)
            yield number, cells

    def wrong(self, message: str, line: int) -> LoadError:
        """An error about a line of this file."""
        return LoadError(message, place=f"{self.path}:{line}")

    def sha256(self) -> str:
        """Of the file as it lies there, packed."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find_sources(
    name: str, wanted: Mapping[str, str], given: Path, origin: str, option: str = "--from"
) -> dict[str, SourceFile]:
    """The files of a dataset, by the keys of `wanted`.

    Args:
        name: of the dataset, for errors.
        wanted: path below the data folder of each file.
        given: the data folder, a folder in it, or a folder with just the files.
        origin: where the files can be had, for errors.
        option: of the command that names the folder, for errors.

    Raises:
        LoadError: one is missing.
    """
    if not given.is_dir():
        what = "is a file" if given.exists() else "does not exist"
        raise LoadError(f"the folder {str(given)!r} {what}", hint=_where(name, origin, option))
    found = {key: _find(PurePosixPath(path), given) for key, path in wanted.items()}
    missing = [wanted[key] for key, path in found.items() if path is None]
    if missing:
        more = f" (and {len(missing) - 1} more of its {len(wanted)} files)" if len(missing) > 1 else ""
        raise LoadError(f"{missing[0]!r}{more} is not in {str(given)!r}", hint=_where(name, origin, option))
    return {key: SourceFile(wanted[key], path) for key, path in found.items() if path is not None}


def find_optional(wanted: Mapping[str, str], given: Path) -> dict[str, SourceFile]:
    """Those of some files that are there, below the given folder or the two that it is in, by their whole paths."""
    folders = [given, *given.resolve().parents[:2]]
    found: dict[str, SourceFile] = {}
    for key, path in wanted.items():
        candidates = [file for folder in folders for file in _packings(folder / path)]
        for candidate in candidates:
            if key not in found and candidate.is_file():
                found[key] = SourceFile(path, candidate)
    return found


def _where(name: str, origin: str, option: str) -> str:
    return f"{option} is the data folder, or the folder with the files of {name!r}\nthey come from {origin}"


def _find(path: PurePosixPath, given: Path) -> Path | None:
    """The file at any end of its path below the given folder; then below the data folder that this one is in."""
    ends = [PurePosixPath(*path.parts[i:]) for i in range(len(path.parts))]
    for folder, inside in [*((given, end) for end in ends), *((above, path) for above in given.resolve().parents[:3])]:
        for candidate in _packings(folder / inside):
            if candidate.is_file():
                return candidate
    return None


def _packings(path: Path) -> Sequence[Path]:
    plain = path.with_suffix("") if path.suffix in ENDINGS[1:] else path
    return [path, *(plain.with_name(plain.name + ending) for ending in ENDINGS)]


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".xz":
        return cast("IO[bytes]", lzma.open(path))
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")
