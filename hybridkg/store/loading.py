"""Loading of RDF into the graph of a `Building`.

Quads flow from the parser into Oxigraph's bulk loader in small batches that die young: a list of 100,000 costs 3 us
a quad in the garbage collector, as much as parsing and renaming together. Threads write quads without blank nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pyoxigraph import RdfFormat, Store, parse

from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.statement_source import StatementSource
from hybridkg.rdf.input_file import InputFile, check_readable
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD_STRING, DefaultGraph, Literal, Quad, Triple
from hybridkg.store.generations.next_generation import Building
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames, StatementBatch
from hybridkg.store.rdf_io.formats import format_of, known_extensions
from hybridkg.store.rdf_io.part_writer import PART, PartWriter
from hybridkg.store.rdf_io.rdf_parsing import quads_of
from hybridkg.store.rdf_io.rdflib_input import name_of, prefixes_of_rdflib, quads_of_rdflib

STATEMENTS_PER_REPORT = 8_192

FEW = 10_000
"""Statements of an input whose quads are looked up one by one: 5 us each, against 0.2 us for each quad of the graph."""

Also = Callable[[bytes], None]
"""Receives the loaded statements as N-Quads."""

Source = Path | str | StatementSource | Iterable[Any]
"""A file, a table with its map, an rdflib graph, or an iterable of triples or quads of rdflib or pyoxigraph terms."""


@dataclass(frozen=True, slots=True)
class SourceCount:
    """The counts of one input.

    Args:
        name: of the input.
        statements: read, with repeated ones.
        new: quads that were not in the graph before.
        in_named_graphs: those of them that are in a named graph; None where some may be, and nothing has counted them.
    """

    name: str
    statements: int
    new: int
    in_named_graphs: int | None = 0


def check_sources(sources: Sequence[Source]) -> None:
    """Checks sources before work begins. Raises LoadError: an unreadable file, an unknown format, or no source."""
    for source in sources:
        if isinstance(source, Path | str):
            check_readable(Path(source), known_extensions)
            format_of(Path(source))
        elif isinstance(source, list | tuple | set | frozenset) and any(
            isinstance(one, Path) or (type(one) is str and "." in one) for one in source
        ):
            raise LoadError(
                f"{source!r} is a {type(source).__name__} of file names, and they are taken one by one",
                hint="unpack it: kb.load(*files)",
            )
        elif not isinstance(source, Iterable | StatementSource):
            raise LoadError(
                f"{source!r} cannot be loaded: it is not a file name, graph or collection of statements",
                hint="give files of RDF or tables, DataFrames, rows as a dict or a list of dicts, a dict of named "
                "tables, rdflib graphs, or iterables of triples or quads",
            )


def load(
    building: Building,
    sources: Sequence[Source],
    progress: Progress = SILENT,
    *,
    base_iri: str | None = None,
    also: Also | None = None,
) -> list[SourceCount]:
    """Adds RDF to the graph of `building`; all or nothing, because an error ends the building.

    Args:
        building: the unfinished generation.
        sources: files of any format of FORMATS, plain or compressed, tables with their maps, and rdflib graphs.
        progress: receives each input's name and size, and the bytes and statements read.
        base_iri: base of relative IRIs in files; without it they are errors.
        also: receives every statement as well, with its blank nodes renamed, in whole lines.

    Raises:
        LoadError: an input cannot be read or is malformed; names file and line.
        OSError: the disk is full or fails (`Folder.building` makes it a StorageError).
    """
    check_sources(sources)
    store, quads_before = building.writable_graph(), building.counts["quads"]
    try:
        counts = [_load(store, source, building, progress, base_iri, also) for source in sources]
        if building.counts["quads"] >= 2 * quads_before:  # so a graph that grows is compacted once per doubling
            store.optimize()
            building.is_compact = True
        store.flush()
        return counts
    finally:
        del store  # closes it; the frames of an exception would keep it open while its folder is removed


def name_of_source(source: Source) -> str:
    """The name of an input in errors and progress."""
    if isinstance(source, StatementSource):
        return source.name
    return str(source) if isinstance(source, Path | str) else name_of(source)


def read_quads(
    source: Source, document: int, progress: Progress = SILENT, declared: dict[str, str] | None = None
) -> Iterator[Quad]:
    """The quads of an input one by one, with its blank nodes renamed as those of the document of this number.

    `declared` receives the prefixes that the input declares.

    Raises:
        LoadError: the input cannot be read or is malformed; names file and line.
    """
    check_sources([source])
    with _opened(source, document, progress, None, {} if declared is None else declared) as reading:
        for batch in reading:
            yield from parse(batch.plain, RdfFormat.N_QUADS, lenient=True)
            yield from batch.renamed
        progress.done(reading.statements)


def _load(
    store: Store, source: Source, building: Building, progress: Progress, base_iri: str | None, also: Also | None
) -> SourceCount:
    try:
        declared: dict[str, str] = {}
        with _opened(source, building.next_document(), progress, base_iri, declared) as reading:
            batches = iter(reading)
            first = [*_up_to(FEW, batches)]
            named: int | None
            if sum(batch.statements for batch in first) < FEW:
                new, named = _add_few(store, first, also)
            else:
                _add_many(store, chain(first, batches), also)
                new = len(store) - building.counts["quads"]
                may_have = _may_name_graphs(source) and next(iter(store.named_graphs()), None) is not None
                named = None if may_have else 0
        building.counts["quads"] += new
        building.prefixes.add(reading.name, declared)
        if isinstance(source, StatementSource) and source.row_subject is not None:
            building.keep_table(source.row_subject)
        progress.done(reading.statements)
        return SourceCount(reading.name, reading.statements, new, named)
    finally:
        del store


def _may_name_graphs(source: Source) -> bool:
    if isinstance(source, Path | str):
        return format_of(Path(source)).syntax.supports_datasets
    return not isinstance(source, StatementSource)


def _up_to(statements: int, batches: Iterator[StatementBatch]) -> Iterator[StatementBatch]:
    """Batches until they have so many statements."""
    for batch in batches:
        yield batch
        statements -= batch.statements
        if statements <= 0:
            return


def _add_few(store: Store, batches: Sequence[StatementBatch], also: Also | None) -> tuple[int, int]:
    """Adds quads that are looked up one by one, because the length of a store is known only by reading all of it.

    Returns:
        the number of quads that were not there, and how many of these are in named graphs.
    """
    quads: dict[Quad, None] = {}
    for batch in batches:
        quads.update(dict.fromkeys(batch.renamed))
        quads.update(dict.fromkeys(parse(batch.plain, RdfFormat.N_QUADS, lenient=True)))
        _tell(batch, also)
    new = _once([quad for quad in quads if quad not in store])
    store.bulk_extend(new)
    return len(new), sum(not isinstance(quad.graph_name, DefaultGraph) for quad in new)


def _once(quads: list[Quad]) -> list[Quad]:
    """The quads without those that differ from another one in the form of a value only, as 7 and +7: the store keeps
    the value.
    """
    valued = [quad for quad in quads if isinstance(quad.object, Triple) or _has_value(quad.object)]
    values = Store()
    values.extend(valued)
    if len(values) == len(valued):
        return quads
    rest = set(quads).difference(valued)
    return [*(quad for quad in quads if quad in rest), *values]


def _has_value(term: object) -> bool:
    return isinstance(term, Literal) and term.datatype not in (XSD_STRING, RDF_LANG_STRING)


def _add_many(store: Store, batches: Iterator[StatementBatch], also: Also | None) -> None:
    with PartWriter(store) as writer:
        quads = _with_blank_nodes(batches, writer, also)
        while (first := next(quads, None)) is not None:
            store.bulk_extend(chain((first,), islice(quads, PART - 1)))


def _with_blank_nodes(batches: Iterator[StatementBatch], writer: PartWriter, also: Also | None) -> Iterator[Quad]:
    """The quads with blank nodes; the others go straight to the writer."""
    for batch in batches:
        writer.add(batch.plain, batch.plain_statements)
        _tell(batch, also)
        yield from batch.renamed


def _tell(batch: StatementBatch, also: Also | None) -> None:
    if also is not None:
        also(batch.plain)
        also(batch.renamed_text)


class _Reading:
    """The quads of one source in batches, counted and reported."""

    def __init__(
        self,
        name: str,
        batches: Iterator[StatementBatch],
        progress: Progress,
        file: InputFile | StatementSource | None,
    ):
        self.name, self.statements = name, 0
        self._batches, self._progress, self._file = batches, progress, file

    def __iter__(self) -> Iterator[StatementBatch]:
        reported = 0
        for batch in self._batches:
            self.statements += batch.statements
            yield batch
            if self.statements >= reported + STATEMENTS_PER_REPORT:
                self._report(self.statements - reported)
                reported = self.statements
        self._report(self.statements - reported)

    def _report(self, statements: int) -> None:
        self._progress.advance(self._file.advanced() if self._file else 0, statements)


@contextmanager
def _opened(
    source: Source, document: int, progress: Progress, base_iri: str | None, declared: dict[str, str]
) -> Iterator[_Reading]:
    names = BlankNodeNames(document)
    if isinstance(source, StatementSource):
        progress.start(source.name, source.size)
        declared |= source.prefixes
        batches = (StatementBatch(number, text, number) for text, number in source.lines())
        yield _Reading(source.name, batches, progress, source)
        return
    if not isinstance(source, Path | str):
        name = name_of(source)
        declared |= prefixes_of_rdflib(source)
        progress.start(name, None)
        yield _Reading(name, quads_of_rdflib(source, names), progress, None)
        return
    with InputFile(Path(source)) as file:
        progress.start(str(source), file.size)
        yield _Reading(str(source), quads_of(file, names, base_iri, declared), progress, file)
