"""JSON: an array of objects, read one object at a time."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import CONVERT, InputFile
from hybridkg.tables.headers import MAX_LINE_LENGTH
from hybridkg.tables.readers.cells import integer
from hybridkg.tables.readers.json_rows import ObjectFile, RepeatedNameError, finite, malformed, named_once

_SPACE = re.compile(r"[ \t\r\n]*")


class JsonArrayTable(ObjectFile):
    """The objects of an array that is the whole file."""

    def objects(self, file: InputFile) -> Iterator[Any]:
        """The values of the array. Raises LoadError: it is malformed; names the number of the object."""
        text = _Text(file, self.path)
        if text.next_character() != "[":
            raise LoadError(
                "no array: the file must be a JSON array of objects",
                hint="select the array in it: jq '.items' FILE > NEW.json; or one object a line, as .jsonl",
                place=str(self.path),
            )
        text.skip()
        number = 0
        while text.next_character() != "]":
            if number:
                text.expect(",", f"{self.path}, after object {number}")
            number += 1
            yield text.value(f"{self.path}, object {number}")
        text.skip()
        if rest := text.next_character():
            raise LoadError(f"{rest!r} stands behind the array", place=str(self.path))


class JsonArrayReader:
    """Opens files with one JSON array."""

    extensions = (".json",)

    def open(self, path: Path) -> Sequence[JsonArrayTable]:
        """The only table of a file. Raises LoadError: it is no array of objects."""
        return [JsonArrayTable(path)]


JSON_ARRAY = JsonArrayReader()


class _Text:
    """The unread text of a file; grows until a value is whole."""

    def __init__(self, file: InputFile, path: Path):
        self._file, self._path = file, path
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at, self._is_ended = "", 0, False
        self._decoder = json.JSONDecoder(object_pairs_hook=named_once, parse_float=finite, parse_int=integer)

    def next_character(self) -> str:
        """The next character that is no space; empty at the end."""
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def skip(self) -> None:
        """Takes one character."""
        self._at += 1

    def expect(self, character: str, place: str) -> None:
        """Takes a character. Raises LoadError: there is another one."""
        found = self.next_character()
        if found != character:
            before = f" before {found!r}" if found else ""
            raise LoadError(f"not valid JSON: {character!r} is missing{before}", place=place)
        self._at += 1

    def value(self, place: str) -> Any:
        """Takes a value. Raises LoadError: there is none, or it is too long."""
        self.next_character()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end == len(self._text) and self._grow():
                    continue  # a number may go on
                self._at = end
                return value
            except RepeatedNameError as e:
                raise e.at(place) from e
            except RecursionError as e:
                raise LoadError("JSON that nests too deep", place=place) from e
            except ValueError as e:
                unread = len(self._text) - self._at
                if unread > MAX_LINE_LENGTH:
                    raise LoadError(f"an object of more than {MAX_LINE_LENGTH >> 20} MB", place=place) from e
                if not self._grow(unread):
                    raise malformed(e, place) from e

    def _grow(self, least: int = 0) -> bool:
        """Reads on, at least so many bytes, so that a long value costs a constant number of attempts a byte."""
        parts, size = [self._text[self._at :]], 0
        while not self._is_ended:
            block = self._file.block()
            self._is_ended = not block
            size += len(block)
            try:
                parts.append(self._decode.decode(block, final=self._is_ended))
            except UnicodeDecodeError as e:
                raise LoadError("invalid UTF-8", hint=CONVERT, place=str(self._path)) from e
            if size and size >= least:
                break
        self._text, self._at = "".join(parts), 0
        return bool(size)
