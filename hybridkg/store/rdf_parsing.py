"""One RDF document as a stream of quads, with every failure named by file and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pyoxigraph import parse

from hybridkg.entities.input_file import InputFile, looks_compressed
from hybridkg.errors import LoadError
from hybridkg.rdf.terms import Quad
from hybridkg.store.blank_nodes import BlankNodeNames
from hybridkg.store.byte_feed import ByteFeed, SeenMark, Watcher
from hybridkg.store.formats import Format, format_of

BATCH = 8192
"""Quads between two looks at the blank-node mark and two reports of progress."""

POSITION = re.compile(r"^Parser error at line \d+ (column \d+|between columns \d+ and \d+): ")


def quads_of(file: InputFile, names: BlankNodeNames, base_iri: str | None) -> Iterator[list[Quad]]:
    """The quads of a file in batches, blank nodes renamed.

    Raises:
        LoadError: the file is malformed; names the file and the line.
    """
    form = format_of(file.path)
    if file.size == 0:
        return
    mark = SeenMark(form.blank_node_mark)
    feed = ByteFeed(file, [*_guards(form, file.path), mark])
    try:
        quads = parse(feed, format=form.syntax, base_iri=base_iri)  # type: ignore[arg-type]
        while batch := list(islice(quads, BATCH)):
            yield names.renamed(batch) if mark.seen else batch
        feed.drain()
    except SyntaxError as e:
        raise _malformed(e, form, file) from e


def _guards(form: Format, path: Path) -> list[Watcher]:
    return []


def _malformed(error: SyntaxError, form: Format, file: InputFile) -> LoadError:
    reason = POSITION.sub("", error.msg)
    place = ":".join(str(part) for part in (file.path, error.lineno, error.offset) if part is not None)
    return LoadError(
        f"not valid {form.name}: {reason[:1].lower()}{reason[1:]}", hint=_hint(reason, form, file), place=place
    )


def _hint(reason: str, form: Format, file: InputFile) -> str:
    return ""
