r"""Link files: lines `text TAB iri TAB confidence` in UTF-8.

The first column is the text of a query, or the id of a topic; the default confidence is 1. A line with one column is a
text without links. Texts are compared without case and repeated blanks.
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
"""In bytes."""

MAX_FILE_BYTES = 1 << 28
"""After decompression; about 3 million lines."""


@dataclass(frozen=True)
class LinkFile:
    """Links by normalised text (`normalized_text`), in the order of the file; its name is for messages."""

    links: Mapping[str, tuple[EntityLink, ...]]
    name: str = ""

    def of(self, text: str) -> tuple[EntityLink, ...]:
        """Links of a text; empty for an unknown one.

        >>> LinkFile({"red fish": (EntityLink("x:f"),)}).of("Red  Fish")
        (EntityLink(node='x:f', confidence=1.0),)
        """
        return self.links.get(normalized_text(text), ())


def normalized_text(text: str) -> str:
    """A text without case and repeated blanks.

    >>> normalized_text("Red  Fish ")
    'red fish'
    """
    return " ".join(text.casefold().split())


def read_link_file(path: Path) -> LinkFile:
    """Reads a link file, also .gz, .bz2 and .xz.

    Raises:
        LoadError: no such file, not UTF-8, or too large; a line with too many columns, without a text, with an invalid
            IRI or a confidence out of range; has file and line.
    """
    by_text: dict[str, list[EntityLink]] = {}
    for number, line in _lines(path):
        text, *rest = line.split("\t")
        key = normalized_text(text)
        if not key or len(rest) > 2:
            problem = "no text in the first column" if not key else f"{len(rest) + 1} columns"
            raise LoadError(
                f"{problem}; each line is: text TAB iri TAB confidence",
                hint="tabs separate columns",
                place=f"{path}:{number}",
            )
        links = by_text.setdefault(key, [])
        columns = [column.strip() for column in rest]
        if not any(columns):
            continue
        try:
            iri = columns[0].removeprefix("<").removesuffix(">")
            links.append(EntityLink(iri, confidence_of(columns[1]) if columns[1:] and columns[1] else 1.0))
        except TextQueryError as e:
            raise LoadError(e.message, hint=e.hint, place=f"{path}:{number}") from None
    try:
        return LinkFile({key: strongest(links) for key, links in by_text.items()}, str(path))
    except TextQueryError as e:
        raise LoadError(e.message, hint=e.hint, place=str(path)) from None


def write_link_file(path: Path, links: Mapping[str, Sequence[EntityLink]]) -> None:
    """Writes a link file; a text without links is a line without an IRI."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text, some in links.items():
            key = " ".join(text.split())
            file.writelines(f"{key}\t{link.node}\t{link.confidence!r}\n" for link in some)
            if not some:
                file.write(f"{key}\n")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """(number from 1, line), without empty ones."""
    total = 0
    with InputFile(path) as file:
        for number, line in enumerate(file.lines(MAX_LINE_LENGTH), 1):
            total += len(line)
            if len(line) > MAX_LINE_LENGTH or total > MAX_FILE_BYTES:
                problem = (
                    f"line of more than {MAX_LINE_LENGTH:,} bytes" if total <= MAX_FILE_BYTES else "file too large"
                )
                raise LoadError(f"{problem}: this is not a file of links", place=f"{path}:{number}")
            try:
                text = line.decode().rstrip("\r\n")
            except UnicodeDecodeError:
                raise LoadError("the text is not UTF-8", hint=CONVERT, place=f"{path}:{number}") from None
            if text.strip():
                yield number, text
