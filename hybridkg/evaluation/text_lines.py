"""The lines of a file of topics, judgements or a ranking, with an error that names the line.

Columns part at ASCII blanks only, as in trec_eval: an identifier may hold any other character, a no-break space
included. Plain, gzip, bzip2 and xz files by extension. What is read is bounded, packed or not: a line by its
length, a file by its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import CONVERT, InputFile, looks_compressed

MAX_LINE_LENGTH = 1 << 16
"""Bytes; longer is no line of such a file."""

MAX_TEXT = 1 << 29
"""Bytes after unpacking: 13 million lines of 40 bytes (the 6,980 topics of MS MARCO at depth 1,000 are 7 million)."""

MAX_LINES = 1 << 24
"""Blank ones included, which cost time although they hold hardly any text."""

MAX_QUOTED_LENGTH = 60
"""Characters of a wrong value in a message."""


def numbered_lines(path: Path, what: str, longest: int = MAX_LINE_LENGTH) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, line without its end), blank lines left out.

    Args:
        path: the file, packed or not.
        what: what the file should be, for messages: "a run".
        longest: bytes of a line.

    Raises:
        LoadError: it cannot be read, is not text, is larger, has more lines or a longer line than it may, or has no
            line at all.
    """
    total, found = 0, False
    with InputFile(path) as file:
        for number, line in enumerate(file.lines(longest), 1):
            size = len(line)
            total += size
            if number == 1 and (packed := looks_compressed(line)):
                raise LoadError(
                    f"the file is packed, but its name does not end in {packed!r}",
                    hint=f"rename it to '{path.name}{packed}'",
                    place=str(path),
                )
            if b"\0" in line:
                raise LoadError(f"not {what}: the file is not text", place=f"{path}:{number}")
            if size > longest:
                refuse(path, number, f"a line of more than {longest:,} bytes", f"this is not {what}")
            if number > MAX_LINES:
                refuse(path, number, f"more than {MAX_LINES:,} lines", "split the file by topics")
            if total > MAX_TEXT:
                refuse(path, number, f"more than {MAX_TEXT >> 20} MiB of text", "split the file by topics")
            if line := line.strip():
                found = True
                yield number, line
    if not found:
        raise LoadError("the file is empty", hint=f"{what} was expected", place=str(path))


def columns(path: Path, number: int, line: bytes, names: tuple[str, ...], hint: str = "") -> list[bytes]:
    """The columns of a line, as many as `names`; `hint` is added to the error.

    Raises:
        LoadError: more or fewer.
    """
    found = line.split()
    if len(found) != len(names):
        layout = f"each line is: {' '.join(names)}"
        some = f"{len(found)} column{'' if len(found) == 1 else 's'}"
        refuse(path, number, f"{some} instead of {len(names)}", f"{layout}\n{hint}" if hint else layout)
    return found


def decoded(path: Path, number: int, value: bytes) -> str:
    """A column as text.

    Raises:
        LoadError: it is not UTF-8.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        refuse(path, number, "the text is not UTF-8", CONVERT)


def refuse(path: Path, number: int, message: str, hint: str = "") -> NoReturn:
    """Raises the LoadError for a line."""
    raise LoadError(message, hint=hint, place=f"{path}:{number}")


def quoted(value: bytes | str) -> str:
    """A wrong value for a message, cut where it is long."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= MAX_QUOTED_LENGTH else text[:MAX_QUOTED_LENGTH] + "...")
