"""Check of a knowledge base, part by part, and the repair of what is derived.

First all files are compared with the checksums of the manifest. Parts whose files are sound are then compared with
their sources: the projection with the graph, text and vectors with what graph and documents say of the entities.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hybridkg.config.settings import EMBEDDED, Config
from hybridkg.entities.node_table import NodeTable
from hybridkg.errors import ConfigError, CorruptError, HybridkgError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES, engine_name
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, kind_of
from hybridkg.kb.snapshot import VECTORS, Snapshot
from hybridkg.kb.write.build_projection import PROJECTION
from hybridkg.kb.write.care_reports import CheckedPart, CheckReport, number_of
from hybridkg.kb.write.check_graph import check_documents, compare_projection, first_other_file, sum_of_graph
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.generation import Generation, open_generation
from hybridkg.store.generations.manifest import INDEXES, check_file
from hybridkg.store.generations.verification import write_record
from hybridkg.store.oxigraph import OxigraphStore

if TYPE_CHECKING:
    from hybridkg.graph.columns import ProjectionColumns
    from hybridkg.graph.triple_sum import TripleSum
    from hybridkg.kb.write.check_text import EntitySource

PARTS = {
    "graph/": "graph",
    "documents/": "documents",
    "nodes.": "entities",
    "projection/": "projection",
    "statistics.json": "statistics",
    "text/": "text",
    "vectors/": "vectors",
}
"""Beginnings of the names of files, and the part of each, in the order of the check."""

SOURCES = ("manifest", "settings", "graph", "documents")
"""Parts that nothing else has: damage needs a backup, or a person."""

UNREADABLE = (HybridkgError, IndexError, KeyError, ValueError)
"""Errors of reading a part whose files contradict each other, although they have their checksums."""

EVERYTHING = ("",)
"""Names of files that may be missing or of another size when a damaged generation is opened: all."""


def check(folder: Folder, *, full: bool = False, repair: bool = False, progress: Progress = SILENT) -> CheckReport:
    """Checks the live generation; with `repair`, builds the indexes again where one is bad or behind, and checks them.

    Raises:
        LockedError: another writer has the lock, and something is to be repaired.
        HybridkgError: the index step cannot be done; the knowledge base is as it was.
    """
    report = _Check(folder, full, progress).report()
    derived = tuple(p for p in report.parts if p.state in ("behind", "bad") and p.part not in (*SOURCES, "files"))
    if not repair or not derived or any(part.part in SOURCES for part in report.bad):
        return report
    _build_again(folder, progress)
    again = _Check(folder, full, progress).report()
    return CheckReport(again.generation, full, again.parts, repaired=derived)


class _Damaged(Folder):
    """A folder whose live generation may have damaged indexes, which a writer replaces."""

    def current(self) -> Generation:
        """The live generation."""
        return open_generation(self.path / self.live_name(), but=INDEXES)


def _build_again(folder: Folder, progress: Progress) -> None:
    from hybridkg.kb.write.after_index import after_index
    from hybridkg.kb.write.configured import configured_profile
    from hybridkg.kb.write.transaction import index

    index(_Damaged(folder.path), configured_profile(folder), progress)
    after_index(folder, Snapshot.open(folder), progress)


class _Check:
    """One check of the live generation of a folder."""

    def __init__(self, folder: Folder, full: bool, progress: Progress):
        self._folder, self._full, self._progress = folder, full, progress
        self._restore = f"restore it from a backup: hybridkg restore FOLDER {folder.path}"
        self._again = f"hybridkg check {folder.path} --repair builds it again"
        self._damaged: dict[str, str] = {}
        self._sum: tuple[TripleSum, set[str]] | None = None
        self._nodes: NodeTable | None = None

    def report(self) -> CheckReport:
        try:
            self._generation = self._held()
        except CorruptError as e:
            return CheckReport("", self._full, (CheckedPart("manifest", e.message, "bad", self._restore),))
        return CheckReport(self._generation.name, self._full, tuple(self._parts()))

    def _held(self) -> Generation:
        """The live generation, whatever its files."""
        while True:
            name = self._folder.live_name()
            try:
                return open_generation(self._folder.path / name, but=EVERYTHING)
            except CorruptError:
                if self._folder.live_name() == name:  # otherwise writers have removed it meanwhile
                    raise

    def _parts(self) -> Iterator[CheckedPart]:
        yield self._files()
        try:
            self._config = self._folder.config
        except ConfigError as e:
            line = "" if e.span is None or e.source is None else f":{e.source.line_and_column(e.span.start)[0]}"
            yield CheckedPart("settings", f"kb.toml{line}: {e.message}", "bad", e.hint or "correct kb.toml")
            self._config = Config()
            yield from self._sources()  # the indexes cannot be compared without settings
            return
        yield CheckedPart("settings", "kb.toml")
        yield from self._sources()
        yield from self._indexes()

    def _files(self) -> CheckedPart:
        """Compares all checksums, and remembers the first damaged file of each part."""
        generation, damaged = self._generation, []
        entries = generation.manifest.files
        self._progress.start("comparing checksums", generation.bytes())
        for name, entry in entries.items():
            try:
                check_file(generation.path, name, entry)
            except CorruptError as e:
                damaged.append(name)
                self._damaged.setdefault(_part_of(name), e.message)
            self._progress.advance(entry.size, 1)
        self._progress.done(len(entries))
        write_record(generation.path, len(entries) - len(damaged), damaged[0] if damaged else "")
        if not damaged:
            return CheckedPart("files", f"{len(entries):,}, {generation.bytes():,} bytes")
        few = ", ".join(repr(name) for name in damaged[:3]) + (", ..." if len(damaged) > 3 else "")
        sources = any(_part_of(name) in SOURCES for name in damaged)
        return CheckedPart(
            "files", f"{len(damaged):,} of {len(entries):,}: {few}", "bad", self._restore if sources else self._again
        )

    def _bad_file(self, part: str) -> CheckedPart | None:
        message = self._damaged.get(part)
        if message is None:
            return None
        return CheckedPart(part, message, "bad", self._restore if part in SOURCES else self._again)

    @property
    def _endpoint(self) -> str:
        return "" if self._config.graph == EMBEDDED else self._config.graph

    @cached_property
    def _union(self) -> bool:
        return self._config.default_graph == "union"

    @cached_property
    def _store(self) -> OxigraphStore:
        return OxigraphStore.open(self._generation.graph, union_default_graph=self._union)

    def _sources(self) -> Iterator[CheckedPart]:
        """The graph and the documents."""
        if self._endpoint:
            yield CheckedPart("graph", f"not read: it lies at {self._endpoint}", "skipped")
        else:
            yield self._bad_file("graph") or self._graph()
        if self._generation.documents.is_dir():
            yield self._bad_file("documents") or self._documents()

    def _graph(self) -> CheckedPart:
        counted = self._generation.manifest.counts["quads"]
        try:
            quads = len(self._store)
            if quads == counted:
                self._sum = sum_of_graph(self._store, self._progress, union_default_graph=self._union)
                return CheckedPart("graph", number_of(quads, "triple"))
            return CheckedPart("graph", f"{quads:,} triples, and the manifest counts {counted:,}", "bad", self._restore)
        except UNREADABLE as e:
            return CheckedPart("graph", _message(e), "bad", self._restore)

    def _documents(self) -> CheckedPart:
        try:
            found = check_documents(self._generation.documents, self._progress, full=self._full)
        except UNREADABLE as e:
            self._damaged["documents"] = _message(e)
            return CheckedPart("documents", _message(e), "bad", self._restore)
        return CheckedPart("documents", found)

    def _indexes(self) -> Iterator[CheckedPart]:
        """What is derived from the graph and the documents."""
        path = self._generation.path
        behind = set(self._generation.behind())
        if not (path / "text").is_dir() and "text" not in self._damaged:
            yield self._behind("text", "there is no index yet")
            return
        yield self._bad_file("entities") or self._entities()
        stale = dict.fromkeys(behind, "older than the graph or the documents")
        if not behind and self._is_of_another_default_graph():
            stale = dict.fromkeys((PROJECTION, "text", VECTORS), "built for another default_graph than kb.toml names")
            stale = {part: why for part, why in stale.items() if (path / part).is_dir()}
        if PROJECTION not in stale and not self._endpoint:
            if (path / PROJECTION).is_dir() or PROJECTION in self._damaged:
                yield from self._projection()
            elif "text" in behind:
                stale[PROJECTION] = "none of the newest graph"
        for part in (PROJECTION, "text", VECTORS):
            if part in stale:
                yield self._bad_file(part) or self._behind(part, stale[part])
        sound = [p for p in ("text", VECTORS) if p not in stale and ((path / p).is_dir() or p in self._damaged)]
        yield from self._against_source(sound)

    def _behind(self, part: str, why: str) -> CheckedPart:
        return CheckedPart(part, why, "behind", f"hybridkg index {self._folder.path} renews it")

    def _outcome(self, part: str, found: str, good: bool) -> CheckedPart:
        return CheckedPart(part, found) if good else CheckedPart(part, found, "bad", self._again)

    def _entities(self) -> CheckedPart:
        try:
            nodes = NodeTable.open(self._generation.path)
            ids = sorted_distinct(np.linspace(0, max(len(nodes) - 1, 0), 1_000).astype(np.uint32))[: len(nodes)]
            ids = np.arange(len(nodes), dtype=np.uint32) if self._full else ids
            found = nodes.find_many(nodes.nodes(ids)) if len(nodes) else ids
        except UNREADABLE as e:
            return self._outcome("entities", _message(e), False)
        if not np.array_equal(found, ids):
            return CheckedPart("entities", "the table does not find its own nodes", "bad", self._again)
        self._nodes = nodes
        return CheckedPart("entities", f"{len(nodes):,}")

    def _projection(self) -> Iterator[CheckedPart]:
        """The projection and the statistics, which are counted in it."""
        damage = self._bad_file("projection")
        try:
            columns = None if damage else self._columns()
            if columns is not None and self._sum is not None:
                yield self._outcome("projection", *self._compared_projection(columns, *self._sum))
            else:
                yield damage or self._not_compared("projection")
        except UNREADABLE as e:
            yield self._outcome("projection", _message(e), False)
            columns = None
        yield self._bad_file("statistics") or self._statistics(columns)

    def _compared_projection(self, columns: ProjectionColumns, graph: TripleSum, omitted: set[str]) -> tuple[str, bool]:
        found, good = compare_projection(columns, graph, omitted, self._progress)
        if good and self._full:
            path, union = self._generation.path, self._union
            name = first_other_file(path, self._store, self._progress, union_default_graph=union)
            if name.startswith(PROJECTION):
                return f"{name!r} is another one when it is built again", False
        return found, good

    def _columns(self) -> ProjectionColumns | None:
        """The projection; None without sound entities. Raises CorruptError: it cannot be opened."""
        from hybridkg.graph.stored_projection import open_columns

        if self._nodes is None:
            return None
        return open_columns(self._generation.path / PROJECTION, self._nodes, union_default_graph=self._union)

    def _is_of_another_default_graph(self) -> bool:
        """Whether kb.toml has changed since the indexes were built; the projection remembers its setting."""
        from hybridkg.graph.stored_projection import about

        folder = self._generation.path / PROJECTION
        if PROJECTION in self._damaged or not folder.is_dir():
            return False
        try:
            return bool(about(folder).get("union_default_graph")) != self._union
        except CorruptError:
            return False

    def _statistics(self, columns: ProjectionColumns | None) -> CheckedPart:
        from hybridkg.graph.statistics.catalog import read_statistics
        from hybridkg.graph.statistics.collect import collect

        if columns is None:
            return self._not_compared("statistics")
        try:
            stored = read_statistics(self._generation.path)
            same = stored is not None and stored.to_json() == collect(columns).to_json()
        except UNREADABLE as e:
            return self._outcome("statistics", _message(e), False)
        return self._outcome("statistics", "counted again" if same else "not those of the projection", same)

    def _not_compared(self, part: str) -> CheckedPart:
        return CheckedPart(part, "not compared, because of the damage above", "skipped")

    def _against_source(self, parts: list[str]) -> Iterator[CheckedPart]:
        """Text and vectors, against the texts of the entities, which are read once."""
        with ExitStack() as stack:
            opened: tuple[Snapshot, EntitySource] | None = None
            for part in parts:
                if (damage := self._bad_file(part)) is not None:
                    yield damage
                elif place := self._elsewhere(part):
                    yield CheckedPart(part, f"not compared: {place}", "skipped")
                elif self._nodes is None or self._sum is None or "documents" in self._damaged:
                    yield self._not_compared(part)
                else:
                    try:
                        opened = opened or self._opened(stack, with_index=part == "text")
                        outcome = self._compared(part, *opened)
                    except UNREADABLE as e:
                        outcome = _message(e), False
                    yield self._outcome(part, *outcome)

    def _opened(self, stack: ExitStack, *, with_index: bool) -> tuple[Snapshot, EntitySource]:
        from hybridkg.kb.write.check_text import rebuilt, sampled

        state = Snapshot.of(self._generation, self._folder)
        if not self._full:
            return state, sampled(state)
        return state, stack.enter_context(rebuilt(state, self._progress, with_index=with_index))

    def _compared(self, part: str, state: Snapshot, source: EntitySource) -> tuple[str, bool]:
        from hybridkg.kb.write.check_text import compare_text, compare_vectors

        if part == "text":
            return compare_text(state, source)
        return compare_vectors(state, source, self._progress)

    def _elsewhere(self, part: str) -> str:
        """Where an index lies that cannot be compared here; empty for one that can."""
        if self._endpoint:
            return f"the graph lies at {self._endpoint}"
        folder = self._generation.path / part
        try:
            if part == "text":
                engine = TEXT_ENGINES.get(engine_name(folder))
                return "" if engine_name(folder) == EMBEDDED else f"it lies in {engine.title}"
            kind = VECTOR_INDEXES.get(kind_of(folder))
            return f"they lie in {kind.title}" if kind.is_remote else ""
        except HybridkgError:
            return ""


def _part_of(name: str) -> str:
    return next((part for prefix, part in PARTS.items() if name.startswith(prefix)), "files")


def _message(error: Exception) -> str:
    return error.message if isinstance(error, HybridkgError) else f"its files contradict each other: {error}"
