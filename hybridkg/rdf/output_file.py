"""Output files, compressed while they are written; the inverse of input_file.py."""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from hybridkg.rdf.input_file import extensions
from hybridkg.storage.whole_file import whole_binary_file

STDOUT = Path("-")
"""In place of a file: standard output, never compressed."""

LEVEL = 6
"""Of gzip: that of the program `gzip`."""


@contextmanager
def output_file(path: Path) -> Iterator[IO[bytes]]:
    """A binary file, compressed by its extension, that takes its name when the block has ended; or standard output.

    The same content gives the same bytes: gzip gets neither name nor time.

    Raises:
        StorageError: the file cannot be written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.nt.gz"
    >>> with output_file(path) as file:
    ...     _ = file.write(b"<x:a> <x:p> <x:b> .")
    >>> gzip.decompress(path.read_bytes())
    b'<x:a> <x:p> <x:b> .'
    """
    if path == STDOUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with whole_binary_file(path) as raw, ExitStack() as stack:
        match extensions(path)[1]:
            case ".gz":
                yield cast(IO[bytes], stack.enter_context(gzip.GzipFile("", "wb", LEVEL, raw, mtime=0)))
            case ".bz2":
                yield cast(IO[bytes], stack.enter_context(bz2.BZ2File(raw, "wb")))
            case ".xz":
                yield cast(IO[bytes], stack.enter_context(lzma.LZMAFile(raw, "wb")))
            case _:
                yield raw
