"""Converter of published query annotations to links.

Formats: the TAGME annotations of the ELR repository and the query entities of KEWER (JSON), the tables of GEEER (CSV),
and the judgements of Nordlys' query collections (`qrels_*_elq.txt`). They name entities as `<dbpedia:X>`, `ENTITY/X` (a
Wikipedia title) or a whole IRI; links have IRIs of DBpedia.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from hybridkg.errors import LoadError, TextQueryError
from hybridkg.interfaces.links import EntityLink
from hybridkg.linking.given import strongest
from hybridkg.rdf.input_file import InputFile

DBPEDIA = "http://dbpedia.org/resource/"

MAX_FILE_BYTES = 1 << 26
"""After decompression."""

Links: TypeAlias = Mapping[str, tuple[EntityLink, ...]]
"""Links by topic."""

GEEER_HEADER = ",query_id,tag,confidence"

NO_NAMES = ("", "ENTITY/")
"""Table cells for no entity."""

_NAMED = re.compile(r"<?(?:dbpedia:|ENTITY/|http://dbpedia\.org/resource/)(?P<title>[^<>\s]+?)>?")
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20]')


def read_annotations(path: Path) -> Links:
    """Reads a file in one of the formats, recognised by its extension and first line.

    A missing confidence is 1, one above 1 is 1, and links with 0 or less are left out. A topic of the file without
    links has an empty tuple.

    Raises:
        LoadError: unknown format, or damaged; with the line in a table.
    """
    text = _text(path)
    reader = _json if path.name.removesuffix(".gz").removesuffix(".xz").endswith(".json") else _table
    by_topic: dict[str, list[EntityLink]] = {}
    try:
        for topic, iri, confidence in reader(path, text):
            links = by_topic.setdefault(topic, [])
            if iri and confidence > 0:
                links.append(EntityLink(iri, min(1.0, confidence)))
        return {topic: strongest(links) for topic, links in by_topic.items()}
    except TextQueryError as e:
        raise LoadError(e.message, hint=e.hint, place=str(path)) from None


def entity_iri(name: str) -> str:
    """The IRI of DBpedia for an entity; characters that are invalid in an IRI are percent-encoded.

    Raises:
        TextQueryError: the name has none of the forms.

    >>> entity_iri("<dbpedia:Blade_Runner>"), entity_iri('ENTITY/"Heroes"')
    ('http://dbpedia.org/resource/Blade_Runner', 'http://dbpedia.org/resource/%22Heroes%22')
    """
    match = _NAMED.fullmatch(name.strip().replace(" ", "_"))
    if not match:
        raise TextQueryError(f"{name[:60]!r} names no entity of DBpedia", hint="<dbpedia:X>, ENTITY/X or an IRI")
    return DBPEDIA + _NOT_IN_IRI.sub(lambda character: f"%{ord(character[0]):02X}", match["title"])


_Row: TypeAlias = tuple[str, str, float]
"""Topic, IRI or "" for none, confidence."""


def _text(path: Path) -> str:
    parts: list[bytes] = []
    with InputFile(path) as file:
        while block := file.block():
            parts.append(block)
            if sum(map(len, parts)) > MAX_FILE_BYTES:
                raise LoadError(f"more than {MAX_FILE_BYTES >> 20} MiB: no file of annotations", place=str(path))
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError:
        raise LoadError("the text is not UTF-8", place=str(path)) from None


def _json(path: Path, text: str) -> Iterator[_Row]:
    try:
        for topic, entry in json.loads(text).items():
            yield topic, "", 0.0
            yield from _kewer(topic, entry) if "entities" in entry else _tagme(topic, entry)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, TextQueryError) as e:
        raise LoadError("neither query entities of KEWER nor annotations of the ELR repository", place=str(path)) from e


def _kewer(topic: str, entry: Mapping[str, Any]) -> Iterator[_Row]:
    for name, confidence in entry["entities"]:
        yield topic, entity_iri(name), float(confidence)


def _tagme(topic: str, entry: Mapping[str, Any]) -> Iterator[_Row]:
    for interpretation in entry["interpretations"].values():
        for annotation in interpretation["annots"].values():
            yield topic, entity_iri(annotation["uri"]), float(annotation["score"])


def _table(path: Path, text: str) -> Iterator[_Row]:
    lines = text.splitlines()
    geeer = bool(lines) and lines[0].strip() == GEEER_HEADER
    for number, line in enumerate(lines[1:] if geeer else lines, 2 if geeer else 1):
        if line.strip():
            try:
                yield from _geeer_row(line) if geeer else _judged_row(line)
            except (ValueError, TextQueryError) as e:
                known = "number, topic, ENTITY/X, confidence" if geeer else "topic TAB number TAB <dbpedia:X> TAB ..."
                raise LoadError(f"each line is: {known}", place=f"{path}:{number}") from e


def _geeer_row(line: str) -> Iterator[_Row]:
    """Row of a table that is no proper CSV: a name may have commas, and unbalanced quotes; a few lines have neither."""
    mark = "\t" if "\t" in line else ","
    _, topic, rest = line.split(mark, 2)
    name, _, confidence = rest.rpartition(mark)
    if name.startswith('"'):
        name = name[1:].removesuffix('"').replace('""', '"')
    yield topic, "" if name in NO_NAMES else entity_iri(name), float(confidence)


def _judged_row(line: str) -> Iterator[_Row]:
    topic, *rest = line.split("\t")
    if not topic or "," in topic or (rest and not rest[0].isdecimal()):
        raise ValueError(line)
    yield topic, "", 0.0
    for name in rest[1:]:
        yield topic, entity_iri(name), 1.0
