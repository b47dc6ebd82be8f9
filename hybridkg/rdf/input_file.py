"""Input files, decompressed while they are read; progress counts bytes of the compressed file."""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self, cast

from hybridkg.errors import LoadError

BLOCK = 1 << 20
"""Bytes of one read."""

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}
"""Known compressions by extension."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""U+FEFF in UTF-8, which some editors put before a text and which is not part of it (Unicode 15, section 23.8)."""

CONVERT = "convert it: iconv -f LATIN1 -t UTF-8 FILE > NEW, with the encoding that it has in place of LATIN1"
"""Hint for a text that is not UTF-8."""

URL = re.compile(r"(https?|ftp):/+(.*)", re.IGNORECASE | re.DOTALL)
"""A URL in place of a file name; a Path has lost one of its slashes."""

SIMILAR = 0.6
"""Minimum similarity, of 1, of two names without extensions for a suggestion."""

SIGNATURES = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ": ".xz"}


def extensions(path: Path) -> tuple[str, str]:
    """The extensions of the format and of the compression, in lower case.

    >>> extensions(Path("dbpedia.NT.bz2"))
    ('.nt', '.bz2')
    """
    last = path.suffix.lower()
    if last in COMPRESSIONS:
        return path.with_suffix("").suffix.lower(), last
    return last, ""


def check_readable(path: Path, known: Callable[[], Collection[str]] | None = None) -> None:
    """Checks that a file can be read. Raises LoadError: it is missing, a folder, or may not be read.

    `known` are the extensions of the files of a folder that its error names; by default it names any.
    """
    InputFile(path, known).close()


class InputFile:
    """A file opened for reading, decompressed by its extension. Raises LoadError: missing, a folder, or unreadable."""

    def __init__(self, path: Path, known: Callable[[], Collection[str]] | None = None):
        self.path = path
        try:
            if (path / "CURRENT").is_file():
                raise LoadError(
                    f"{str(path)!r} is a knowledge base, and one cannot be loaded into another",
                    hint="give the RDF files that it was made from",
                )
            if path.is_dir():
                raise LoadError(f"{str(path)!r} is a folder, not a file", hint=_files_hint(path, known))
            self._raw = path.open("rb", buffering=0)
        except FileNotFoundError as e:
            if address := URL.fullmatch(str(path)):
                url = f"{address[1]}://{address[2]}"
                raise LoadError(
                    f"{url!r} is an address, and hybridkg fetches nothing from the network",
                    hint=f"download it first: curl -OL {url}",
                ) from e
            if str(path) == "-":
                raise LoadError(
                    "standard input has no file name, which determines the format, so it is not loaded",
                    hint="write it to a file first: ... > data.ttl, then: hybridkg load KB data.ttl",
                ) from e
            raise LoadError(f"no file {str(path)!r}", hint=_neighbour(path)) from e
        except OSError as e:
            raise LoadError(f"cannot read {str(path)!r}: {e.strerror}") from e
        # A pipe (`<(zcat FILE)` in a shell) has no size and no position.
        self._seekable = self._raw.seekable()
        self.size = path.stat().st_size
        self._stream = self._decompressed(extensions(path)[1])
        self._reported = 0
        self._at_start = True

    def _decompressed(self, compression: str) -> IO[bytes]:
        match compression:
            case ".gz":
                return cast(IO[bytes], gzip.GzipFile(fileobj=self._raw, mode="rb"))
            case ".bz2":
                return cast(IO[bytes], bz2.BZ2File(self._raw))
            case ".xz":
                return cast(IO[bytes], lzma.LZMAFile(self._raw))
        return cast(IO[bytes], self._raw)

    def advanced(self) -> int:
        """Bytes of the compressed file read since the last call; 0 for a pipe."""
        if not self._seekable:
            return 0
        position = self._raw.tell()
        delta, self._reported = position - self._reported, position
        return delta

    def block(self) -> bytes:
        """At most BLOCK bytes, without byte order mark; empty at the end. Raises LoadError: damaged, unreadable."""
        if self.size == 0 and self._seekable:
            return b""
        try:
            data = self._stream.read(BLOCK)
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as e:
            raise self._unreadable(e) from e
        if self._at_start:
            self._at_start = False
            return data.removeprefix(BYTE_ORDER_MARK)
        return data

    def lines(self, longest: int) -> Iterator[bytes]:
        """The lines with their ends; one longer than `longest` is cut and the last. Raises LoadError as `block`."""
        rest = b""
        while data := self.block():
            parts = (rest + data).split(b"\n") if b"\n" in data else [rest + data]
            rest = parts.pop()
            for part in parts:
                yield part + b"\n"
            if len(rest) > longest:
                yield rest[: longest + 1]
                return
        if rest:
            yield rest

    def _unreadable(self, error: Exception) -> LoadError:
        kind = COMPRESSIONS.get(extensions(self.path)[1])
        place = str(self.path)
        if isinstance(error, EOFError):
            return LoadError(f"the {kind} archive ends too early", hint="fetch or compress it again", place=place)
        if kind and (not isinstance(error, OSError) or error.errno is None):
            return LoadError(f"not a whole {kind} archive: {_sentence(error)}", place=place)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return LoadError(f"reading failed: {reason}", place=place)

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()
        self._raw.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def looks_compressed(start: bytes) -> str:
    """The extension of the compression whose signature a file starts with; empty for none.

    >>> looks_compressed(b"BZh91AY")
    '.bz2'
    """
    return next((name for signature, name in SIGNATURES.items() if start.startswith(signature)), "")


def _sentence(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:]


def _neighbour(path: Path) -> str:
    stem = path.name.partition(".")[0]  # without extensions, which unrelated files share
    near = [
        name
        for name in difflib.get_close_matches(path.name, _names(path.parent), 3)
        if difflib.SequenceMatcher(None, stem, name.partition(".")[0]).ratio() >= SIMILAR
    ]
    return f"did you mean {str(path.parent / near[0])!r}?" if near else ""


def _files_hint(folder: Path, known: Callable[[], Collection[str]] | None) -> str:
    names = _names(folder)
    if known is not None:
        wanted = known()
        names = [name for name in names if extensions(Path(name))[0] in wanted]
        if not names:
            return f"none of its files is of a known kind: {', '.join(wanted)}"
    return f"give its files, such as {', '.join(repr(str(folder / name)) for name in names[:3])}" if names else ""


def _names(folder: Path) -> Sequence[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return []
