r"""Files of links: lines `text TAB iri TAB confidence` in UTF-8.

The first column is the text of a query, or the id of a topic. A line without
a third column has confidence 1; a line with the first column only says that
the text has no links. Texts are compared without regard to case and blanks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import LoadError, TextQueryError
from hybridkg.interfaces.links import EntityLink
from hybridkg.linking.given import confidence_of, strongest
from hybridkg.rdf.input_file import CONVERT, InputFile

MAX_LINE_LENGTH = 1 << 16
"""Bytes."""

MAX_FILE_BYTES = 1 << 28
"""Bytes after unpacking; about 3 million lines."""


@dataclass(frozen=True)
class LinkFile:
    """Links by text.

    Args:
        links: by the text in its compared form (`compared`), in the order of the file.
        name: of the file, for messages.
    """

    links: Mapping[str, tuple[EntityLink, ...]]
    name: str = ""

    def of(self, text: str) -> tuple[EntityLink, ...]:
        """The links of a text; none where the file does not know it.

        >>> LinkFile({"red fish": (Link("x:f"),)}).of("Red  Fish")
        (Link(node='x:f', confidence=1.0),)
        """
        return self.links.get(compared(text), ())


def compared(text: str) -> str:
    """A text without what is not compared: case, and how many blanks there are.

    >>> compared("Red  Fish ")
    'red fish'
    """
    return " ".join(text.casefold().split())


def read_link_file(path: Path) -> LinkFile:
    """Reads a file of links; .gz, .bz2 and .xz by their names.

    Raises:
        LoadError: with file and line: no such file, not UTF-8, a line with too many columns, without a text, with
            an IRI that is none or a confidence out of range; too large.
    """
    found: dict[str, list[EntityLink]] = {}
    for number, line in _lines(path):
        text, *rest = line.split("\t")
        key = compared(text)
        if not key or len(rest) > 2:
            what = "no text in the first column" if not key else f"{len(rest) + 1} columns"
            raise LoadError(
                f"{what}; each line is: text TAB iri TAB confidence", hint="tabs part columns", place=f"{path}:{number}"
            )
        links = found.setdefault(key, [])
        columns = [column.strip() for column in rest]
        if not any(columns):
            continue
        try:
            iri = columns[0].removeprefix("<").removesuffix(">")
            links.append(EntityLink(iri, confidence_of(columns[1]) if columns[1:] and columns[1] else 1.0))
        except TextQueryError as e:
            raise LoadError(e.message, hint=e.hint, place=f"{path}:{number}") from None
    try:
        return LinkFile({key: strongest(links) for key, links in found.items()}, str(path))
    except TextQueryError as e:
        raise LoadError(e.message, hint=e.hint, place=str(path)) from None


def write_link_file(path: Path, links: Mapping[str, Sequence[EntityLink]]) -> None:
    """Writes what `read_link_file` reads; a text without links is a line without an IRI.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text, some in links.items():
            key = " ".join(text.split())
            file.writelines(f"{key}\t{link.node}\t{link.confidence!r}\n" for link in some)
            if not some:
                file.write(f"{key}\n")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number from 1, line), empty ones left out."""
    total = 0
    with InputFile(path) as file:
        for number, line in enumerate(file.lines(MAX_LINE_LENGTH), 1):
            total += len(line)
            if len(line) > MAX_LINE_LENGTH or total > MAX_FILE_BYTES:
                what = f"line of more than {MAX_LINE_LENGTH:,} bytes" if total <= MAX_FILE_BYTES else "file too large"
                raise LoadError(f"{what}: this is no file of links", place=f"{path}:{number}")
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise LoadError("the text is not UTF-8", hint=CONVERT, place=f"{path}:{number}") from None
            if text.strip():
                yield number, text
