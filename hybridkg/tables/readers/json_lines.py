"""JSON Lines: one object on a line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import CONVERT, InputFile
from hybridkg.tables.headers import MAX_LINE_LENGTH
from hybridkg.tables.readers.cells import integer
from hybridkg.tables.readers.json_rows import ObjectFile, RepeatedNameError, finite, malformed, named_once


class JsonLinesTable(ObjectFile):
    """The objects of a file, one a line; empty lines are none."""

    def objects(self, file: InputFile) -> Iterator[Any]:
        """The value of each line. Raises LoadError: one is no JSON; names the line."""
        for number, line in enumerate(file.lines(MAX_LINE_LENGTH), 1):
            if len(line) > MAX_LINE_LENGTH:
                raise LoadError(f"a line of more than {MAX_LINE_LENGTH >> 20} MB", place=f"{self.path}:{number}")
            if line.strip():
                yield parsed(line, f"{self.path}:{number}")

    def place(self, row: int) -> str:
        """File and line of a row, found by reading the file again up to it."""
        with InputFile(self.path) as file:
            filled = (i for i, line in enumerate(file.lines(MAX_LINE_LENGTH), 1) if line.strip())
            return f"{self.path}:{next(islice(filled, row - 1, None), 0)}"


class JsonLinesReader:
    """Opens files of JSON Lines."""

    extensions = (".jsonl", ".ndjson")

    def open(self, path: Path) -> Sequence[JsonLinesTable]:
        """The only table of a file. Raises LoadError: a line is malformed."""
        return [JsonLinesTable(path)]


JSON_LINES = JsonLinesReader()


def parsed(text: bytes, place: str) -> Any:
    """The JSON value of a text. Raises LoadError: it is malformed, or nests too deep."""
    try:
        return json.loads(text.decode(), object_pairs_hook=named_once, parse_float=finite, parse_int=integer)
    except RepeatedNameError as e:
        raise e.at(place) from e
    except UnicodeDecodeError as e:
        raise LoadError("invalid UTF-8", hint=CONVERT, place=place) from e
    except RecursionError as e:
        raise LoadError("JSON that nests too deep", place=place) from e
    except ValueError as e:
        raise malformed(e, place) from e
