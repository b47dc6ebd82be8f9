"""RDF formats of a dump, by file name extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import IO, cast

from pyoxigraph import RdfFormat, serialize

from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.rdf.terms import Quad, Triple
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.store.rdf_io.formats import FORMATS

STATEMENTS_PER_REPORT = 8_192


@dataclass(frozen=True, slots=True)
class DumpFormat:
    """A format of a dump: its usual name, its syntax, whether it has named graphs, and a line for each statement."""

    name: str
    syntax: RdfFormat
    has_graphs: bool
    by_line: bool


DUMP_FORMATS = {
    extension: DumpFormat(FORMATS[extension].name, FORMATS[extension].syntax, has_graphs, by_line)
    for extension, has_graphs, by_line in (
        (".nq", True, True),
        (".trig", True, False),
        (".nt", False, True),
        (".ttl", False, False),
    )
}
"""The formats that can be written statement by statement, in the order of error messages."""


def has_graphs(store: GraphStore) -> bool:
    """Whether a store has a quad outside its default graph."""
    return store.ask("ASK { GRAPH ?g { ?s ?p ?o } }")


def write_quads(
    store: GraphStore,
    output: IO[bytes],
    extension: str,
    written: Callable[[int], None],
    prefixes: Mapping[str, str] | None = None,
) -> int:
    """Writes all quads in a format of DUMP_FORMATS, with their blank node labels, in the order of OxigraphStore.dump.

    Turtle and TriG begin with the prefixes, so `load` keeps them.
    `written` is called with numbers of statements that add up to the result, their count.
    """
    assert isinstance(store, OxigraphStore)
    dump_format = DUMP_FORMATS[extension]
    if dump_format.by_line:
        lines = _CountedLines(output, written)
        try:
            store.dump(cast(IO[bytes], lines), dump_format.syntax)
        except Exception:
            if lines.failure is not None:  # the store takes an error of the output for one of its own
                raise lines.failure from None
            raise
        return lines.count
    counted = _Counted(written)
    used = dict(prefixes or {})
    quads: Iterator[Quad] = counted.all(store.quads())
    if dump_format.has_graphs:
        serialize(quads, output, dump_format.syntax, prefixes=used)
    else:
        serialize((Triple(q.subject, q.predicate, q.object) for q in quads), output, dump_format.syntax, prefixes=used)
    return counted.count


class _CountedLines:
    """A binary file that counts lines, which are statements: N-Quads has no line end inside of one."""

    def __init__(self, output: IO[bytes], written: Callable[[int], None]):
        self._output, self._written, self.count = output, written, 0
        self.failure: OSError | None = None

    def write(self, data: bytes) -> int:
        """Passes some bytes on."""
        lines = data.count(b"\n")
        self.count += lines
        try:
            self._output.write(data)
        except OSError as e:
            self.failure = e
            raise
        self._written(lines)
        return len(data)

    def flush(self) -> None:
        """Does nothing: the owner of the output flushes it."""


class _Counted:
    def __init__(self, written: Callable[[int], None]):
        self._written, self.count = written, 0

    def all(self, quads: Iterator[Quad]) -> Iterator[Quad]:
        for quad in quads:
            self.count += 1
            if self.count % STATEMENTS_PER_REPORT == 0:
                self._written(STATEMENTS_PER_REPORT)
            yield quad
        self._written(self.count % STATEMENTS_PER_REPORT)
