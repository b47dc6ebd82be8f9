"""Bounded reading of lines in files of topics, judgements or runs, plain or packed (gzip, bzip2, xz by extension).

ASCII blanks alone separate columns, as in trec_eval; other characters, a no-break space included, may be part of an
identifier. Errors name the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import CONVERT, InputFile, looks_compressed

MAX_LINE_LENGTH = 1 << 16
"""Maximum bytes of a line."""

MAX_TEXT = 1 << 29
"""Maximum unpacked bytes: 13 million lines of 40 bytes (6,980 topics of MS MARCO at depth 1,000 are 7 million)."""

MAX_LINES = 1 << 24
"""Maximum lines, blank ones included."""

MAX_QUOTED_LENGTH = 60
"""Maximum characters of a wrong value in a message."""


def numbered_lines(path: Path, what: str, longest: int = MAX_LINE_LENGTH) -> Iterator[tuple[int, bytes]]:
    """(line number from 1, stripped line) of the lines that are not blank.

    Args:
        path: the file, packed or not.
        what: the expected file in messages, such as "a run".
        longest: maximum bytes of a line.

    Raises:
        LoadError: the file cannot be read, is not text, is empty, or exceeds a limit.
    """
    total, is_empty = 0, True
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
                is_empty = False
                yield number, line
    if is_empty:
        raise LoadError("the file is empty", hint=f"{what} was expected", place=str(path))


def columns(path: Path, number: int, line: bytes, names: tuple[str, ...], hint: str = "") -> list[bytes]:
    """The columns of a line; LoadError, with `hint`, if they are not as many as `names`."""
    values = line.split()
    if len(values) != len(names):
        layout = f"each line is: {' '.join(names)}"
        some = f"{len(values)} column{'' if len(values) == 1 else 's'}"
        refuse(path, number, f"{some} instead of {len(names)}", f"{layout}\n{hint}" if hint else layout)
    return values


def decoded(path: Path, number: int, value: bytes) -> str:
    """A column as text; LoadError if it is not UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        refuse(path, number, "the text is not UTF-8", CONVERT)


def refuse(path: Path, number: int, message: str, hint: str = "") -> NoReturn:
    raise LoadError(message, hint=hint, place=f"{path}:{number}")


def quoted(value: bytes | str) -> str:
    """A wrong value in a message, truncated."""
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= MAX_QUOTED_LENGTH else text[:MAX_QUOTED_LENGTH] + "...")
