"""Build of the projection of a generation, and of the statistics of the graph from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, cast

from hybridkg.entities.node_table import NodeTable
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.rdf.terms import Literal

if TYPE_CHECKING:
    from hybridkg.graph.build.builder import ProjectionBuilder

PROJECTION = "projection"
"""The folder of the projection in a generation, and the name of the index."""

PROJECTION_WORK = "projection.tmp"


@contextmanager
def copying(folder: Path, *, union_default_graph: bool, stored: bool) -> Iterator[ProjectionBuilder]:
    """A builder of the projection of a generation, whose temporary files are removed at the end.

    With `stored`, the statements come from the store, so their literals have its form.
    """
    from hybridkg.graph.build.builder import ProjectionBuilder

    builder = ProjectionBuilder(folder / PROJECTION_WORK, union_default_graph=union_default_graph, stored=stored)
    try:
        yield builder
    finally:
        builder.discard()


def build_projection(
    folder: Path,
    store: GraphStore,
    progress: Progress,
    *,
    union_default_graph: bool,
    loaded: ProjectionBuilder | None = None,
    stays: bool = True,
) -> dict[str, Any]:
    """Writes `projection/` and the statistics into a generation that has its `nodes.*`.

    The statements come from `loaded`, a builder that received them while they were loaded, or are read from the store.
    Without `stays`, only the statistics stay on disk.

    Returns:
        Counts; or only `note`, the reason why the graph can have no projection.
    """
    nodes = NodeTable.open(folder)
    progress.start("copying the graph into columns", None)
    if loaded is not None:
        counts = loaded.finish(folder / PROJECTION, nodes)
    else:
        with copying(folder, union_default_graph=union_default_graph, stored=True) as builder:
            _read_store(store, builder, progress)
            counts = builder.finish(folder / PROJECTION, nodes)
    progress.done(counts.get("triples", 0))
    if "note" not in counts:
        _count_statistics(folder, nodes, progress, union_default_graph=union_default_graph)
    if not stays and (folder / PROJECTION).exists():
        rmtree(folder / PROJECTION)
    return counts


def _count_statistics(folder: Path, nodes: NodeTable, progress: Progress, *, union_default_graph: bool) -> None:
    from hybridkg.graph.statistics.catalog import write_statistics
    from hybridkg.graph.statistics.collect import collect
    from hybridkg.graph.stored_projection import open_columns

    columns = open_columns(folder / PROJECTION, nodes, union_default_graph=union_default_graph)
    write_statistics(folder, collect(columns, progress))


def _read_store(store: GraphStore, builder: ProjectionBuilder, progress: Progress) -> None:
    """Reads the store predicate by predicate: threads read the rows, and a row has one term less.

    The largest predicates come first, so that the threads end together.
    """
    store.read_ahead()
    counted = store.select("SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p").rows
    sizes = {str(predicate): int(cast(Literal, n).value) for predicate, n in counted}
    predicates = sorted(sizes, key=lambda predicate: (-sizes[predicate], predicate))
    queries = [(f"SELECT ?s ?o WHERE {{ ?s {predicate} ?o }}", sizes[predicate]) for predicate in predicates]
    reported = 0
    with closing(store.select_text(queries)) as answers:
        for i, rows in answers:
            if rows:
                builder.add_rows(predicates[i][1:-1], rows)
            progress.advance(0, builder.statements - reported)
            reported = builder.statements
