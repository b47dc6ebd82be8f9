"""The parts of a check that are about the graph: its quads, its documents, and its copy in the projection."""

from __future__ import annotations

import filecmp
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, cast

import numpy as np

from hybridkg.entities.documents.segments import check_segments
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import CorruptError
from hybridkg.graph.build.literal_pieces import DamagedPieceError
from hybridkg.graph.build.patched_projection import merge_projection
from hybridkg.graph.statistics.catalog import FILE as STATISTICS_FILE
from hybridkg.graph.stored_projection import TAIL_SEGMENTS, about
from hybridkg.graph.triple_sum import RowHashes, TripleSum, sums_of_projection
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.write.build_projection import PROJECTION, build_projection
from hybridkg.kb.write.care_reports import number_of
from hybridkg.rdf.terms import Literal
from hybridkg.storage.distinct import sorted_distinct

if TYPE_CHECKING:
    from hybridkg.graph.columns import ProjectionColumns
    from hybridkg.graph.triple_sum import Hashes


def sum_of_graph(store: GraphStore, progress: Progress, *, union_default_graph: bool) -> tuple[TripleSum, set[str]]:
    """The sum of the triples that a query sees outside GRAPH, and the predicates of those that no projection has.

    Memory: a few megabytes; where several graphs may have a triple, 8 bytes for each of the largest predicate, too.

    Raises:
        StorageError, CorruptError: the graph cannot be read.
    """
    store.read_ahead()
    counted = store.select("SELECT ?p (COUNT(*) AS ?n) WHERE { ?s ?p ?o } GROUP BY ?p").rows
    sizes = {str(predicate): int(cast(Literal, n).value) for predicate, n in counted}
    predicates = sorted(sizes, key=lambda predicate: (-sizes[predicate], predicate))
    queries = [(f"SELECT ?s ?o WHERE {{ ?s {predicate} ?o }}", sizes[predicate]) for predicate in predicates]
    rows, total, omitted = RowHashes(), TripleSum(), set[str]()
    several: dict[int, list[Hashes]] = {}
    progress.start("reading the graph", sum(sizes.values()))
    with closing(store.select_text(queries)) as answers:
        for i, text in answers:
            hashes, left_out = rows.of(predicates[i][1:-1], text)
            if left_out:
                omitted.add(predicates[i][1:-1])
            progress.advance(len(hashes) + left_out, len(hashes) + left_out)
            if not union_default_graph:
                total += TripleSum.of(hashes)
            elif text:
                several.setdefault(i, []).append(hashes)
            else:
                total += _distinct(several.pop(i, []))
    progress.done(total.triples)
    return total, omitted


def _distinct(parts: Sequence[Hashes]) -> TripleSum:
    return TripleSum.of(sorted_distinct(np.concatenate(parts))) if parts else TripleSum()


def compare_projection(
    columns: ProjectionColumns, graph: TripleSum, omitted: set[str], progress: Progress
) -> tuple[str, bool]:
    """The finding in words, and whether a projection has the triples of the graph in both directions."""
    progress.start("reading the projection", graph.triples)
    forward, backward = sums_of_projection(columns, lambda n: progress.advance(n, n))
    progress.done(forward.triples)
    if forward.triples != graph.triples:
        return f"it has {forward.triples:,} triples, and the graph {graph.triples:,}", False
    if forward != graph or omitted != columns.omitted:
        return f"its {forward.triples:,} triples are not those of the graph", False
    if backward != forward:
        return "its two directions have different triples", False
    return f"{number_of(forward.triples, 'triple')}, those of the graph", True


def first_other_file(generation: Path, store: GraphStore, progress: Progress, *, union_default_graph: bool) -> str:
    """The first file of the projection or the statistics that differs when both are built again; empty for none.

    They are built in a temporary folder, with the stored node table; the same graph gives the same bytes. A projection
    with a tail is merged there, which gives the same bytes, too.

    Raises:
        CorruptError: the stored projection is damaged.
    """
    with TemporaryDirectory(prefix="hybridkg-check-") as name:
        folder, stored = Path(name) / "built", generation
        folder.mkdir()
        if TAIL_SEGMENTS in about(generation / PROJECTION):
            stored = Path(name) / "merged"
            try:
                merge_projection(generation / PROJECTION, stored / PROJECTION, NodeTable.open(generation))
            except DamagedPieceError as e:
                raise CorruptError(f"the literals of the projection are damaged: {e}") from e
        for file in generation.glob("nodes.*"):
            (folder / file.name).symlink_to(file.resolve())
        build_projection(folder, store, progress, union_default_graph=union_default_graph)
        names = {f"{PROJECTION}/{file.name}" for root in (folder, stored) for file in (root / PROJECTION).iterdir()}
        for own in (*sorted(names), STATISTICS_FILE):
            there = (generation if own == STATISTICS_FILE else stored) / own
            if not ((folder / own).exists() and there.exists() and filecmp.cmp(folder / own, there, shallow=False)):
                return own
    return ""


def check_documents(folder: Path, progress: Progress, *, full: bool) -> str:
    """Reads the documents: order, and that the texts can be unpacked, with `full` all of them; returns what was found.

    Raises:
        CorruptError: a segment is damaged.
    """
    progress.start("reading the documents", None)
    entities, texts = check_segments(folder, every=1 if full else 100, advanced=lambda n: progress.advance(0, n))
    progress.done(texts)
    return f"{number_of(entities, 'document')} with {number_of(texts, 'field')}"
