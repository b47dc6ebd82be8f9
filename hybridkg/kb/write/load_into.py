"""Inputs whose quads are looked up one by one: into one graph, in place of a graph, or to be removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Sized
from pathlib import Path

from hybridkg.errors import ElsewhereWarning, HybridkgError, LoadError
from hybridkg.interfaces.statement_source import StatementSource
from hybridkg.kb.write.absent_triples import graphs_with
from hybridkg.kb.write.new_rows import new_rows
from hybridkg.kb.write.row_identity import check_row_identity
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.rdf.input_file import extensions
from hybridkg.rdf.terms import DefaultGraph, GraphName, NamedNode, Quad, has_blank_node
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.store.changes import quads_as_stored
from hybridkg.store.loading import Source, name_of_source, read_quads
from hybridkg.store.quad_patterns import quads_of_pattern
from hybridkg.tables.table_source import TableSource

MAX_QUADS = 2_000_000
"""Quads of an input or a graph that are held in memory to be compared, about 0.5 KB each."""


SMALL_QUADS = 10_000

SMALL_BYTES = 1 << 20
"""Bytes of a file of about SMALL_QUADS triples."""

COMPRESSION = 8
"""How many times as long a compressed file may be when it is read."""


def is_small(source: Source) -> bool:
    """Whether an input has so few triples that each is looked up, and the indexes can follow it.

    >>> is_small([("a:s", "a:p", "a:o")])
    True
    """
    return not too_large(source)


def too_large(source: Source) -> str:
    """Why an input is not small, in words; empty where it is.

    >>> too_large([("a:s", "a:p", "a:o")] * 10_001)
    'has more than 10,000 triples'
    """
    if isinstance(source, StatementSource):
        expected = source.expected_statements()
        is_small = expected is not None and expected <= SMALL_QUADS
        return "" if is_small else f"has more than {SMALL_QUADS:,} triples"
    if isinstance(source, str | Path):
        compression = COMPRESSION if extensions(Path(source))[1] else 1
        try:
            size = Path(source).stat().st_size
        except OSError:
            return "cannot be measured"
        limit = SMALL_BYTES // compression
        return "" if size <= limit else f"has more than {limit // 1024:,} KB"
    is_small = isinstance(source, Sized) and len(source) <= SMALL_QUADS
    return "" if is_small else f"has more than {SMALL_QUADS:,} triples"


def load_into(state: TransactionState, sources: Sequence[Source], graph: NamedNode | None) -> list[tuple[Source, int]]:
    """Adds the triples of inputs to a graph, once all of them have been read; with None, to the graphs of the inputs.

    Returns:
        The number of statements of each input.

    Raises:
        LoadError: an input is malformed or too large, or has named graphs where one graph is given.
    """
    read, declared = _read(state, sources, graph)
    state.graph.apply([], (quad for _, quads in read for quad in quads))
    state.keep_prefixes(declared)
    if graph is None:
        state.keep_tables(sources)
    state.changed()
    return [(source, len(quads)) for source, quads in read]


def load_in_place_of(
    state: TransactionState, sources: Sequence[Source], graph: NamedNode | None
) -> list[tuple[Source, int]]:
    """Replaces the triples of a graph, None for the default graph, by those of inputs.

    Returns:
        The number of statements of each input.

    Raises:
        LoadError: as `load_into`; or files without any statement would empty the graph.
    """
    target: GraphName = DefaultGraph() if graph is None else graph
    read, declared = _read(state, sources, target)
    new = [quad for _, quads in read for quad in quads]
    old = state.graph.quads_of(target, MAX_QUADS + 1)
    if old and not new and all(isinstance(source, str | Path | StatementSource) for source in sources):
        names = ", ".join(repr(name_of_source(source)) for source in sources)
        raise LoadError(
            f"no statement in {names}, and the graph would be emptied",
            hint="if that is meant: hybridkg update KB 'CLEAR " + ("DEFAULT'" if graph is None else f"GRAPH {graph}'"),
        )
    if len(old) > MAX_QUADS:
        raise LoadError(
            f"the graph {target} has more than {MAX_QUADS:,} triples, too many to be compared with a file",
            hint="hybridkg update KB 'CLEAR GRAPH ...', then hybridkg load",
        )
    state.graph.apply(old, new)
    state.keep_prefixes(declared)
    if graph is None:
        state.building.tables.clear()
        state.keep_tables(sources)
    state.changed()
    return [(source, len(quads)) for source, quads in read]


def load_in_place_of_rows(
    state: TransactionState, sources: Sequence[Source]
) -> tuple[list[tuple[Source, int]], list[HybridkgError]]:
    """Adds inputs to the graph, and removes from each subject of a row of a table what the table does not say any more.

    Removed are the triples of the subject in the default graph whose predicate the map of the table has for a column,
    and which no input has.

    Returns:
        The number of statements of each input, and warnings about tables whose rows are in a named graph, too, or all
        new.

    Raises:
        LoadError: an input is malformed or too large, none is a table, or the rows of one have other subjects than in
            an earlier load; nothing has changed.
    """
    tables = [source for source in sources if isinstance(source, TableSource)]
    if not tables:
        raise LoadError(
            "--replace-rows is for the rows of tables that hybridkg maps itself, and no input is one",
            hint="leave it out, or put the input in place of a graph: --replace GRAPH",
        )
    for table in tables:
        check_row_identity(table, state.building.tables.kept)
    read, declared = _read(state, sources, None)
    old: list[Quad] = []
    warnings: list[HybridkgError] = [warning for table in tables for warning in _rows_elsewhere(state, table)]
    for table in tables:
        before = len(old)
        for quad in _described(state, table):
            old.append(quad)
            if len(old) > MAX_QUADS:
                raise LoadError(
                    f"more than {MAX_QUADS:,} triples of rows, too many to be compared with a file",
                    hint="split the file",
                    place=table.name,
                )
        if len(old) == before:
            warnings += new_rows(table, state.building.tables.kept)
    state.graph.apply(old, (quad for _, quads in read for quad in quads))
    state.keep_prefixes(declared)
    state.keep_tables(sources)
    state.changed()
    return [(source, len(quads)) for source, quads in read], warnings


def _described(state: TransactionState, table: TableSource) -> Iterator[Quad]:
    """The triples that the graph has of the rows of a table, as far as they may come from its columns."""
    store = state.graph.store
    for iri in dict.fromkeys(table.subjects()):
        for quad in quads_of_pattern(store, NamedNode(iri), None, None, DefaultGraph()):
            if table.is_own(quad.predicate.value, quad.object):
                yield quad


MAX_ROWS_LOOKED_UP = 10_000
"""Rows that are looked for in all named graphs, at about 10 us each."""


def _rows_elsewhere(state: TransactionState, table: TableSource) -> Iterator[ElsewhereWarning]:
    """A warning about values of the first rows of a table that are in a named graph, where none is replaced."""
    store = state.graph.store
    graphs = Counter(
        str(quad.graph_name)
        for iri in dict.fromkeys(table.subjects(MAX_ROWS_LOOKED_UP))
        for quad in quads_of_pattern(store, NamedNode(iri), None, None, None)
        if isinstance(quad.graph_name, NamedNode) and table.is_own(quad.predicate.value, quad.object)
    )
    for graph, found in graphs.most_common(1):
        yield ElsewhereWarning.of_rows(table.name, graph, found)


def remove_statements(
    state: TransactionState, sources: Sequence[Source], graph: NamedNode | None = None
) -> tuple[int, list[ElsewhereWarning]]:
    """Removes the triples of inputs from a graph, None for the graphs of the inputs, once all of them have been read.

    Returns:
        The number of triples of the inputs, and a warning if some are not in the default graph, and are in named
        graphs.

    Raises:
        LoadError: an input is malformed or too large, or has a blank node; nothing has changed.
    """
    quads = [quad for source in sources for quad in _ground(state, source, graph)]
    state.graph.apply(quads, [])
    state.changed()
    return len(quads), _elsewhere(state, quads)


def _elsewhere(state: TransactionState, quads: Sequence[Quad]) -> list[ElsewhereWarning]:
    """A warning about triples of the default graph that have just not been removed, because they are elsewhere."""
    store, removed = state.graph.store, set(state.graph.request_change().removed)
    wanted = quads_as_stored(quad for quad in quads if isinstance(quad.graph_name, DefaultGraph))
    missing = [quad for quad in wanted if quad not in removed]
    graphs = graphs_with(store, missing)
    return [ElsewhereWarning.of(graph, n, len(missing)) for graph, n in graphs.most_common(1)]


def _ground(state: TransactionState, source: Source, graph: NamedNode | None) -> Iterator[Quad]:
    for quad in _placed(state, source, graph):
        if any(map(has_blank_node, quad)):
            raise LoadError(
                "a blank node here names nothing in the knowledge base",
                hint="find it by DELETE ... WHERE",
                place=name_of_source(source),
            )
        yield quad


def _read(
    state: TransactionState, sources: Sequence[Source], graph: GraphName | None
) -> tuple[list[tuple[Source, list[Quad]]], list[tuple[str, dict[str, str]]]]:
    """The quads of each input, and the prefixes that each declares."""
    read, declared = [], []
    for source in sources:
        prefixes: dict[str, str] = {}
        read.append((source, list(_placed(state, source, graph, prefixes))))
        declared.append((name_of_source(source), prefixes))
    return read, declared


def _placed(
    state: TransactionState, source: Source, graph: GraphName | None, declared: dict[str, str] | None = None
) -> Iterator[Quad]:
    """The quads of an input, in one graph unless it is None."""
    document = state.building.next_document()
    for number, quad in enumerate(read_quads(source, document, state.progress, declared), 1):
        if number > MAX_QUADS:
            raise LoadError(
                f"more than {MAX_QUADS:,} triples, too many to be looked up one by one",
                hint="split the file",
                place=name_of_source(source),
            )
        if graph is None:
            yield quad
        elif isinstance(quad.graph_name, DefaultGraph) or quad.graph_name == graph:
            yield Quad(quad.subject, quad.predicate, quad.object, graph)
        else:
            raise LoadError(
                f"triples of the graph {quad.graph_name}, and only those of {_shown(graph)} are wanted here",
                hint="give a file whose triples are in no graph, or in that one",
                place=name_of_source(source),
            )


def _shown(graph: GraphName) -> str:
    return "the default graph" if isinstance(graph, DefaultGraph) else str(graph)


def graph_named(text: str, prefixes: Mapping[str, str] = WELL_KNOWN) -> NamedNode | None:
    """The graph that a user names: an IRI, in angle brackets or without, or a prefixed name; None for `default`.

    Raises:
        LoadError: the text is no absolute IRI.

    >>> graph_named("default"), str(graph_named("http://e/g"))
    (None, '<http://e/g>')
    >>> str(graph_named("ex:g", {"ex": "http://e/"})), str(graph_named("ex:g", {})), str(graph_named("<ex:g>"))
    ('<http://e/g>', '<ex:g>', '<ex:g>')
    """
    if text == "default":
        return None
    prefix, colon, local = text.partition(":")
    if colon and prefix in prefixes and not local.startswith("//"):
        text = prefixes[prefix] + local
    try:
        return NamedNode(text[1:-1] if text.startswith("<") and text.endswith(">") else text)
    except ValueError as e:
        raise LoadError(f"{text!r} is not a graph: {e}", hint="give an absolute IRI, or: default") from e
