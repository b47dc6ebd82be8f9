"""Parser of text documents: one JSON object on a line, `{"id": IRI, "field": "text" or ["text", ...], ...}`.

`null` or an empty list in place of the texts removes the field of the entity. A file of documents to remove has lines
of `{"id": IRI}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import Progress
from hybridkg.rdf.input_file import CONVERT, InputFile, extensions
from hybridkg.rdf.terms import NamedNode

MAX_LINE_LENGTH = 64 << 20
"""In bytes; a book has about one million."""

MAX_FIELDS = 256
"""Distinct field names in one knowledge base; each has its own arrays in the text index."""

FIELD = re.compile(r"[a-z][a-z0-9_-]{0,63}")

LINES_PER_REPORT = 1_000

TEXT_DOCUMENTS = (".jsonl", ".ndjson")
"""File name extensions."""

SHAPE = '{"id": "http://...", "title": "text", "note": ["text", "text"]}'


REMOVAL = '{"id": "http://..."}'


@dataclass(frozen=True, slots=True)
class TextDocument:
    """One line: an IRI and the texts of its fields, in the order of the line; no texts remove a field."""

    id: str
    fields: tuple[tuple[str, list[str]], ...]


def read_documents(file: InputFile, progress: Progress, known_fields: set[str]) -> Iterator[TextDocument]:
    """Documents of a file; empty lines are skipped.

    Args:
        file: a .jsonl file, plain or compressed; UTF-8.
        progress: counts bytes and documents.
        known_fields: names of fields with texts so far; those of the file are added.

    Raises:
        LoadError: a line is malformed; has file and line.
    """
    waiting = 0
    for place, value in _objects(file, SHAPE):
        iri = _iri(value, place, SHAPE)
        document = TextDocument(iri, tuple((k, check_texts(k, v, place)) for k, v in value.items() if k != "id"))
        known_fields.update(field for field, texts in document.fields if texts)
        check_number_of_fields(known_fields, place)
        yield document
        waiting += 1
        if waiting == LINES_PER_REPORT:
            progress.advance(file.advanced(), waiting)
            waiting = 0
    progress.advance(file.advanced(), waiting)


def read_removals(path: Path) -> Iterator[str]:
    """IRIs of the documents to remove, by a file of lines `{"id": IRI}`; empty lines are skipped.

    Args:
        path: a .jsonl file, plain or compressed; UTF-8.

    Raises:
        LoadError: the file cannot be read, a line is malformed, or has something besides the id, which may have been
            meant to replace a text; has file and line.
    """
    with InputFile(path) as file:
        check_name(file)
        for place, value in _objects(file, REMOVAL):
            iri = _iri(value, place, REMOVAL)
            other = next((name for name in value if name != "id"), None)
            if other is not None:
                raise LoadError(
                    f"{other[:80]!r} beside 'id', in a file of documents to remove",
                    hint=f"a line {REMOVAL} removes the whole document; to replace texts, or to remove one field by "
                    f"null, load the file: hybridkg load KB --text {path}",
                    place=place,
                )
            yield iri


def check_name(file: InputFile) -> None:
    """Raises LoadError unless the file name has an extension of text documents."""
    if extensions(file.path)[0] not in TEXT_DOCUMENTS:
        raise LoadError(
            f"text documents come as .jsonl, plain or .gz, .bz2, .xz; not as {str(file.path)!r}",
            hint="pass RDF files without --text",
        )


def check_number_of_fields(fields: Collection[str], place: str) -> None:
    """Raises LoadError for more than MAX_FIELDS."""
    if len(fields) > MAX_FIELDS:
        raise LoadError(
            f"more than {MAX_FIELDS} different fields", hint="field names are kinds of text, not data", place=place
        )


def _objects(file: InputFile, shape: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """`file:line` and JSON object of the lines of a file."""
    for number, line in enumerate(file.lines(MAX_LINE_LENGTH), 1):
        place = f"{file.path}:{number}"
        if len(line) > MAX_LINE_LENGTH:
            raise LoadError(
                f"a line of more than {MAX_LINE_LENGTH >> 20} MB", hint=f"one document: {shape}", place=place
            )
        if not line.isspace():
            yield place, _parsed(line, place, shape)


def _parsed(line: bytes, place: str, shape: str) -> dict[str, Any]:
    hint = f"one line: {shape}"
    try:
        value = json.loads(line.decode(), object_pairs_hook=_object)
    except UnicodeDecodeError as e:
        raise LoadError(
            f"not UTF-8 text: byte {line[e.start]:#04x} at position {e.start + 1}", hint=CONVERT, place=place
        ) from e
    except json.JSONDecodeError as e:
        reason = e.msg[:1].lower() + e.msg[1:]
        raise LoadError(f"not JSON: {reason} at character {e.colno}", hint=hint, place=place) from e
    except RecursionError as e:
        raise LoadError("JSON nested too deeply", hint=hint, place=place) from e
    except ValueError as e:  # a repeated name; a number of thousands of digits
        raise LoadError(str(e), hint=hint, place=place) from e
    if not isinstance(value, dict):
        raise LoadError(f"a line must be a JSON object, not {_kind(value)}", hint=hint, place=place)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)!r} occurs twice")
    return value


def _iri(value: dict[str, Any], place: str, shape: str) -> str:
    if "id" not in value:
        raise LoadError("no 'id'", hint=f"one line: {shape}", place=place)
    return check_iri(value["id"], place)


def check_iri(iri: object, place: str = "") -> str:
    """The IRI of a document. Raises LoadError: it is none."""
    try:
        if isinstance(iri, str):
            NamedNode(iri)
            return iri
    except ValueError:
        pass
    raise LoadError(f"'id' must be an absolute IRI, not {iri!r}", place=place)


def check_texts(field: str, value: object, place: str) -> list[str]:
    """The texts of a field from what a user has given: a text, several, or none to remove the field.

    Args:
        field: its name.
        value: a text, a list or tuple of texts, or None.
        place: where the user has given it.

    Raises:
        LoadError: the name or a text is not allowed.

    >>> check_texts("title", "Alien", "docs.jsonl:1"), check_texts("title", None, "docs.jsonl:2")
    (['Alien'], [])
    """
    if not FIELD.fullmatch(field):
        raise LoadError(
            f"the field name {field[:80]!r} is not allowed",
            hint="a field name has lower-case letters, digits, '_' and '-', and starts with a letter",
            place=place,
        )
    if value is None:
        return []
    if not isinstance(value, str | list | tuple):
        _wrong_text(field, value, place)
    texts = [value] if isinstance(value, str) else list(value)
    for text in texts:
        if not isinstance(text, str):
            _wrong_text(field, text, place)
        try:
            text.encode()
        except UnicodeEncodeError as e:
            raise LoadError(f"field {field!r} has half a surrogate pair, which is not a character", place=place) from e
    return texts


def _wrong_text(field: str, value: object, place: str) -> NoReturn:
    raise LoadError(f"field {field!r} must be a text or a list of texts, not {_kind(value)}", place=place)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null", str: "a text"}
    return names.get(type(value), "a number")
