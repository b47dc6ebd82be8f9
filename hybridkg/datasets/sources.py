"""The input files of datasets: search and bounded reading, because they are untrusted; errors name file and line."""

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
"""Maximum bytes of a decompressed file; the largest real one has 18 million."""

ENDINGS = ("", ".xz", ".gz")
"""Possible compressions of a file, whichever its recipe names."""


@dataclass(frozen=True)
class SourceFile:
    """An input file of a dataset: its path below the data folder in the recipe, and its actual path."""

    name: str
    path: Path

    def text(self) -> str:
        """The decompressed text. Raises LoadError: it cannot be read, is damaged, too large, or not UTF-8."""
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
        """(line number, cells) of a tab-separated file, without empty lines. Raises LoadError: another number."""
        for number, line in enumerate(self.text().split("\n"), 1):
            if not line.strip() or (header and number == 1):
                continue
            cells = line.split("\t")
            if len(cells) != columns:
                raise self.wrong(f"{len(cells)} cells, where {columns} are expected", number)
            yield number, cells

    def wrong(self, message: str, line: int) -> LoadError:
        """The error of a line of this file."""
        return LoadError(message, place=f"{self.path}:{line}")

    def sha256(self) -> str:
        """Hash of the file as it is on disk, compressed."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


def find_sources(
    name: str, wanted: Mapping[str, str], given: Path, origin: str, option: str = "--from"
) -> dict[str, SourceFile]:
    """The files of a dataset, by the keys of `wanted`.

    Args:
        name: of the dataset, for errors.
        wanted: key -> path below the data folder.
        given: the data folder, a folder in it, or a folder with just the files.
        origin: source of the files, for errors.
        option: command-line option of the folder, for errors.

    Raises:
        LoadError: a file is missing.
    """
    if not given.is_dir():
        what = "is a file" if given.exists() else "does not exist"
        raise LoadError(f"the folder {str(given)!r} {what}", hint=_where(name, origin, option))
    paths = {key: _find(PurePosixPath(path), given) for key, path in wanted.items()}
    missing = [wanted[key] for key, path in paths.items() if path is None]
    if missing:
        more = f" (and {len(missing) - 1} more of its {len(wanted)} files)" if len(missing) > 1 else ""
        raise LoadError(f"{missing[0]!r}{more} is not in {str(given)!r}", hint=_where(name, origin, option))
    return {key: SourceFile(wanted[key], path) for key, path in paths.items() if path is not None}


def find_optional(wanted: Mapping[str, str], given: Path) -> dict[str, SourceFile]:
    """The existing ones of some files, below the given folder or its two parents, by their whole paths."""
    folders = [given, *given.resolve().parents[:2]]
    sources: dict[str, SourceFile] = {}
    for key, path in wanted.items():
        for candidate in (file for folder in folders for file in _packings(folder / path)):
            if key not in sources and candidate.is_file():
                sources[key] = SourceFile(path, candidate)
    return sources


def _where(name: str, origin: str, option: str) -> str:
    return f"{option} is the data folder, or the folder with the files of {name!r}\nthey come from {origin}"


def _find(path: PurePosixPath, given: Path) -> Path | None:
    """The file at any suffix of its path below the given folder; else at its path below a parent of the folder."""
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
