"""`manifest.json`: the content of a generation, and the sources of each part.

It depends on the input only, so the same input gives the same bytes; except for the checksums of Oxigraph's files,
whose tables carry creation times, and the time in the description of an endpoint.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any

from hybridkg.errors import CorruptError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.row_subject import KeptColumn, RowSubject
from hybridkg.storage.durable import checksum
from hybridkg.storage.json_lines import json_lines

FORMAT = 1
"""Version of the folder layout; every other version is refused."""

NAME = "manifest.json"

OPENING = "{\n"
"""How the file begins, before its checksum."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """Size in bytes and CRC-32 of a file."""

    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The content of manifest.json.

    Args:
        generation: number of the generation, from 1.
        hybridkg: version of the package that wrote it.
        documents: RDF documents loaded over the life of the knowledge base; numbers their blank nodes.
        counts: figures to show, by name; always with `quads`.
        sources: for `graph` and `documents`, the generation in which each last changed.
        indexes: for each index, the `sources` that it was built from.
        engines: for each index, its engine: `embedded`, or a server's engine and its name for the index.
        files: by path below the generation, with `/`.
        endpoint: for a graph at a SPARQL endpoint, the result of its export: `graph` (as in kb.toml), `url` (without
            credentials), `at`, `triples`, `longest`, `is_capped`, `repeats`, `round_trip_us`, `row_us`; else empty.
        prefixes: namespaces of the prefixes that queries need not declare, by name; earlier versions wrote none.
        tables: subjects of the rows of loaded tables, to which later tables may refer; earlier versions wrote none.
    """

    generation: int
    hybridkg: str
    documents: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    indexes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    engines: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileEntry] = field(default_factory=dict)
    endpoint: Mapping[str, Any] = field(default_factory=dict)
    prefixes: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[RowSubject, ...] = ()

    def behind(self) -> tuple[str, ...]:
        """Names of the stale indexes, built from an older graph or older documents than this generation holds.

        >>> Manifest(2, "0", sources={"graph": 2}, indexes={"text": {"graph": 1}}).behind()
        ('text',)
        """
        return tuple(name for name, built_from in sorted(self.indexes.items()) if built_from != self.sources)

    def to_json(self) -> str:
        """The text of the file: the CRC-32 of what follows it, then sorted keys, one per line, UTF-8."""
        value = {
            "format": FORMAT,
            "hybridkg": self.hybridkg,
            "generation": self.generation,
            "documents": self.documents,
            "counts": dict(self.counts),
            "sources": dict(self.sources),
            "indexes": {name: dict(built_from) for name, built_from in self.indexes.items()},
            "engines": dict(self.engines),
            "files": {name: {"size": f.size, "crc32": f.checksum} for name, f in self.files.items()},
        }
        if self.endpoint:
            value["endpoint"] = dict(self.endpoint)
        if self.prefixes:
            value["prefixes"] = dict(self.prefixes)
        if self.tables:
            value["tables"] = [_row_subject_value(one) for one in self.tables]
        text = json_lines(value) + "\n"
        return f'{OPENING} "checksum": "{_checksum(text)}",\n{text.removeprefix(OPENING)}'


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a generation. Raises CorruptError: it is missing, damaged, or of another format version."""
    path = folder / NAME
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text)
    except FileNotFoundError as e:
        raise CorruptError(f"{str(path)!r} is missing", hint=RESTORE) from e
    except (OSError, ValueError, RecursionError) as e:
        raise CorruptError(f"{str(path)!r} cannot be read: {e}", hint=RESTORE) from e
    version = value.get("format") if isinstance(value, dict) else None
    if version != FORMAT:
        raise CorruptError(
            f"{str(folder)!r} has format version {version!r}; this hybridkg reads version {FORMAT}",
            hint="use the hybridkg version that wrote it, or load the data again",
        )
    # Earlier versions wrote none; and where the name of the checksum is damaged, nothing else is.
    if "checksum" in value:
        own, _, rest = text.removeprefix(OPENING).partition("\n")
        if own.strip() != f'"checksum": "{_checksum(OPENING + rest)}",':
            raise CorruptError(f"{str(path)!r} is damaged: its checksum differs", hint=RESTORE)
    try:
        return _from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise CorruptError(f"{str(path)!r} is damaged: {e}", hint=RESTORE) from e


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


RESTORE = "restore the folder from a backup, or load the data into a new knowledge base"

TEXT_FILES = ("text/", "nodes.")
"""Prefixes of the names of the files of the text index and its entities."""

REBUILD = "hybridkg index KB rebuilds it"

DISPENSABLE = ("projection/", "statistics.json", "vectors/")
"""Parts that most queries do not need; their readers handle damage, and an index step rebuilds them."""

INDEXES = (*DISPENSABLE, *TEXT_FILES)
"""Parts that an index step rebuilds where their files have the right sizes, so that the knowledge base opens."""


def _from_json(value: Mapping[str, Any]) -> Manifest:
    return Manifest(
        generation=int(value["generation"]),
        hybridkg=str(value["hybridkg"]),
        documents=int(value["documents"]),
        counts={str(name): int(count) for name, count in value["counts"].items()},
        sources={str(name): int(number) for name, number in value["sources"].items()},
        indexes={str(name): {str(k): int(n) for k, n in of.items()} for name, of in value["indexes"].items()},
        engines={str(name): str(engine) for name, engine in value.get("engines", {}).items()},
        files={str(name): FileEntry(int(f["size"]), str(f["crc32"])) for name, f in value["files"].items()},
        endpoint=_endpoint(value.get("endpoint")),
        prefixes={str(name): str(iri) for name, iri in value.get("prefixes", {}).items()},
        tables=tuple(_row_subject(one) for one in value.get("tables", [])),
    )


def _row_subject(value: Mapping[str, Any]) -> RowSubject:
    columns = tuple(KeptColumn(*map(str, one)) for one in value.get("columns", []))
    table, column, kind, start, end = (str(value[name]) for name in ("table", "column", "kind", "start", "end"))
    return RowSubject(table, column, kind, start, end, columns)


def _row_subject_value(one: RowSubject) -> dict[str, Any]:
    value = {name: getattr(one, name) for name in ("table", "column", "kind", "start", "end")}
    return value | ({"columns": [[*astuple(column)] for column in one.columns]} if one.columns else {})


def _endpoint(value: Mapping[str, Any] | None) -> dict[str, Any]:
    if value is None:
        return {}
    kinds = {"graph": str, "url": str, "at": str, "triples": int, "longest": int, "is_capped": bool}
    endpoint = {name: kind(value[name]) for name, kind in kinds.items()}
    endpoint["repeats"] = bool(value.get("repeats", True))
    return endpoint | {name: float(value[name]) for name in ("round_trip_us", "row_us")}


def check_sizes(folder: Path, manifest: Manifest, but: tuple[str, ...] = ()) -> None:
    """Checks that every file exists with its size; inexpensive, done at every opening.

    Args:
        folder: of the generation.
        manifest: names the files.
        but: folders, as `name/`, that are not checked because their damage can be repaired.

    Raises:
        CorruptError: names the first file that is missing or of another size.
    """
    place = os.fspath(folder)
    for name, entry in manifest.files.items():
        if name.startswith(but):
            continue
        try:
            size = os.stat(f"{place}/{name}").st_size  # noqa: PTH116 - runs for each file, and a Path takes 6 us more
        except OSError as e:
            raise CorruptError(f"{str(folder / name)!r} is missing", hint=_hint(name)) from e
        if size != entry.size:
            what = f"{size} bytes instead of {entry.size}"
            raise CorruptError(f"{str(folder / name)!r} is damaged: {what}", hint=_hint(name))


def check_checksums(
    folder: Path, manifest: Manifest, names: Collection[str] | None = None, progress: Progress = SILENT
) -> None:
    """Checks that every file has its size, and that files have their checksums, which reads them.

    Args:
        folder: of the generation.
        manifest: names the files.
        names: files to read, in this order; None for all.
        progress: advances file by file.

    Raises:
        CorruptError: names the first file that is missing, damaged or unreadable.
    """
    check_sizes(folder, manifest)
    for name in manifest.files if names is None else names:
        entry = manifest.files[name]
        check_file(folder, name, entry)
        progress.advance(entry.size, 1)


def check_file(folder: Path, name: str, entry: FileEntry, after_block: Callable[[], None] = lambda: None) -> None:
    """Compares one file of a generation with its checksum, which reads it.

    Args:
        folder: of the generation.
        name: of the file, in the manifest.
        entry: its size and checksum there.
        after_block: called now and then while the file is read; what it raises ends the work.

    Raises:
        CorruptError: the file is missing, damaged or unreadable.
    """
    try:
        actual = checksum(folder / name, after_block)
    except FileNotFoundError as e:
        raise CorruptError(f"{str(folder / name)!r} is missing", hint=_hint(name)) from e
    except OSError as e:
        raise CorruptError(f"{str(folder / name)!r} cannot be read: {e.strerror}", hint=_hint(name)) from e
    if actual != entry.checksum:
        hint = REBUILD if name.startswith(INDEXES) else RESTORE
        raise CorruptError(f"{str(folder / name)!r} is damaged: its checksum differs", hint=hint)


def check_opened(folder: Path, manifest: Manifest, parts: tuple[str, ...], suspects: Collection[str] = ()) -> None:
    """Compares with their checksums the files of some parts that opening reads whole, and small ones.

    The others are mapped, and a query reads a few pages of them; kb/background_check.py compares those.

    Args:
        folder: of the generation.
        manifest: names the files.
        parts: prefixes of the names of the files, such as `text/`.
        suspects: names of other files to compare.

    Raises:
        CorruptError: names the first file that is missing, damaged or unreadable.
    """
    for name, entry in manifest.files.items():
        if name.startswith(parts) and (name in suspects or is_checked_at_opening(name, entry.size)):
            check_file(folder, name, entry)


MAX_SMALL_FILE = 1 << 16
"""Bytes of a file that is compared with its checksum when it is opened, even where it is mapped: 30 us, most of which
is the system call."""

READ_WHOLE = re.compile(r".*\.json|text/(engine|synonyms\.txt|[^.]+\.(sets\.\w+|peaks\.(terms|longest|starts|codes)))")
"""Files that their readers read whole when they are opened, whatever their size."""


def is_checked_at_opening(name: str, size: int) -> bool:
    """Whether a file is compared with its checksum whenever its part is opened.

    >>> is_checked_at_opening("text/1.sets.entities", 8), is_checked_at_opening("text/1.packed", 12_467_760)
    (True, False)
    """
    return size <= MAX_SMALL_FILE or READ_WHOLE.fullmatch(name) is not None


def _hint(name: str) -> str:
    return REBUILD if name.startswith(DISPENSABLE) else RESTORE
