"""The state of a knowledge base inside a transaction: changed graph and documents, and snapshots that see them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from shutil import rmtree
from typing import cast

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.entities.documents.change_documents import DocumentChanges, change_documents
from hybridkg.entities.documents.document_store import Documents
from hybridkg.errors import IndexMissingError, LoadError, Span, UnsupportedQueryError
from hybridkg.graph.candidate_quads import candidate_quads
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.statement_source import StatementSource
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.build_projection import PROJECTION
from hybridkg.kb.write.configured import has_remote_index
from hybridkg.kb.write.follow_change import IndexFollower, RebuildNeededError
from hybridkg.kb.write.index_step import UNUSABLE_SERVER, IndexStep
from hybridkg.kb.write.reports import IndexReport
from hybridkg.kb.write.transaction import TEXT_INDEX
from hybridkg.rdf.known_prefixes import KnownPrefixes, known_prefixes
from hybridkg.rdf.terms import NamedNode, Quad
from hybridkg.store.changes import ChangingGraph
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import Manifest
from hybridkg.store.generations.next_generation import Building
from hybridkg.store.loading import Source, SourceCount
from hybridkg.store.loading import load as load_sources
from hybridkg.store.oxigraph import OxigraphStore

INDEX_PARTS = ("text", "vectors", "projection", "statistics.json", "nodes.*")
"""What an index step writes into a generation."""

MIN_QUADS = 100
"""Quads from which looking them up together is worth the arrays that it takes."""

LITERALS_OF_OPENING = 250
"""Literals that are looked up in the projection in less time than the store takes to open, 15 ms."""


class TransactionState:
    """The next generation while it is changed.

    Args:
        folder: of the knowledge base.
        building: the next generation.
        live: the snapshot of the generation before it.
        step: builds the indexes; None where they stay behind.
        progress: receives the progress of long steps.
        rebuilds: whether indexes that cannot follow are built from scratch; otherwise they stay behind.
    """

    def __init__(
        self,
        folder: Folder,
        building: Building,
        live: Snapshot,
        step: IndexStep | None,
        progress: Progress,
        *,
        rebuilds: bool = True,
    ):
        self._rebuilds = rebuilds
        self.folder, self.building, self.live, self.step = folder, building, live, step
        is_open = isinstance(live.store, OxigraphStore) and live.generation.name == building.previous.name
        earlier = cast(OxigraphStore, live.store) if is_open else None
        may_have = None if earlier is None else partial(_may_have, live)  # a method would keep the snapshot alive
        self.graph = ChangingGraph(building.writable_graph, earlier, progress, may_have)
        self.texts: dict[str, dict[str, Sequence[str]] | None] = {}
        self.loaded: list[SourceCount] = []
        self._quads = building.counts["quads"]
        self.progress = progress
        # Indexes that were behind and follow now are as old for a MATCH as those of changed text.
        self._changes = int(step is not None and self._is_behind)
        self._indexed: tuple[int, Snapshot, IndexReport] | None = None
        self._unindexed: tuple[int, Snapshot] | None = None
        self._documents: DocumentChanges | None = None
        self._stores: list[OxigraphStore] = []
        self._broken: BaseException | None = None
        self.not_followed = ""

    @property
    def is_changed(self) -> bool:
        """Whether the commit differs from the generation before it."""
        if any(self.graph.size()) or any(count.new for count in self.loaded) or self.write_documents().entities:
            return True
        # Without an index step, a new generation would make the indexes older than the graph, which has not changed.
        return self.step is not None and (self.building.prefixes.has_changed or self.building.tables.has_changed)

    @property
    def _is_behind(self) -> bool:
        return self.live.text is None or bool(self.live.generation.behind())

    def refuse_old_text(self, place: Span) -> None:
        """Refuses a MATCH or a NEAR, at `place`, that would choose what is changed by text older than the graph.

        Raises:
            IndexMissingError: the text index was behind before this transaction, and stays behind.
        """
        if self.step is None and self.live.text is not None and self._is_behind:
            raise IndexMissingError(
                "the text index is behind the graph, and this update would choose by old text",
                hint=f"hybridkg index {self.folder.path}",
                span=place,
            )

    def changed(self) -> None:
        """Tells that graph or documents have changed, so the snapshots of before are old."""
        self._changes += 1

    def begin_request(self) -> None:
        """Marks the state to which `undo_request` goes back."""
        self.graph.begin_request()
        self.building.prefixes.begin_request()
        self.building.tables.begin_request()

    def undo_request(self) -> None:
        """Takes back what has been done since `begin_request`."""
        self.graph.undo_request()
        self.building.prefixes.undo_request()
        self.building.tables.undo_request()
        self.changed()

    @property
    def prefixes(self) -> KnownPrefixes:
        """The prefixes that a text need not declare at this moment."""
        return known_prefixes(self.building.prefixes.kept)

    def keep_prefixes(self, declared: Iterable[tuple[str, Mapping[str, str]]]) -> None:
        """Keeps the prefixes that inputs declare, given as (input, prefixes)."""
        for source, prefixes in declared:
            self.building.prefixes.add(source, prefixes)

    def keep_tables(self, sources: Iterable[Source]) -> None:
        """Keeps the subjects of the tables among inputs whose rows are in the default graph."""
        for source in sources:
            if isinstance(source, StatementSource) and source.row_subject is not None:
                self.building.keep_table(source.row_subject)

    def check_whole(self) -> None:
        """Checks that no failure has left a part of a change, so that there is no state to go on from, or to commit.

        Raises:
            LoadError: a load failed in the middle of its input.
            OSError: the disk failed while the graph was written.
        """
        if self.graph.failure is not None:
            raise self.graph.failure
        if self._broken is not None:
            raise LoadError(
                "a load in this transaction has failed in the middle of its input, so nothing of it can be committed",
                hint=f"begin another transaction; the error was: {self._broken}",
            ) from self._broken

    def load(self, sources: Sequence[Source]) -> list[SourceCount]:
        """Adds RDF to the graph; after an error nothing else can be done with this state."""
        self._close_stores()
        self._count()
        try:
            counts = load_sources(self.building, sources, self.progress)
        except BaseException as e:
            self._broken = e
            raise
        self.loaded += counts
        self.changed()
        return counts

    def change_text(self, entity: str, fields: Mapping[str, Sequence[str]] | None) -> None:
        """Replaces fields of the document of an entity, or removes the document."""
        if fields is None:
            self.texts[entity] = None
        else:
            self.texts[entity] = {**self._text_changes(entity), **fields}
        self._documents = None
        self.changed()

    def document_fields(self) -> tuple[str, ...]:
        """Names of the fields that the earlier documents have."""
        previous = self.building.previous.documents
        return Documents.open(previous).fields() if previous.is_dir() else ()

    def _text_changes(self, entity: str) -> dict[str, Sequence[str]]:
        """The changed fields of a document; where it has been removed, every field that it had."""
        changes = self.texts.get(entity, {})
        if changes is not None:
            return changes
        previous = self.building.previous.documents
        return dict.fromkeys(Documents.open(previous).document(NamedNode(entity)), ()) if previous.is_dir() else {}

    # --- snapshots ----------------------------------------------------------------------

    def snapshot(self, *, ranked: bool) -> Snapshot:
        """The state of this moment, for a query; with `ranked`, its text and vectors are those of this moment, too.

        Raises:
            UnsupportedQueryError: the text index is on a server, where it follows with the commit only.
        """
        if not self._changes:
            return self.live
        return self._with_indexes()[0] if ranked else self._without_indexes()

    def _without_indexes(self) -> Snapshot:
        """The graph alone: Oxigraph answers every pattern."""
        if self._unindexed is None or self._unindexed[0] != self._changes:
            alone = replace(self.live, store=self._open_store(), text=None, nodes=None, profile=None, documents=None)
            self._unindexed = self._changes, alone
        return self._unindexed[1]

    def _with_indexes(self) -> tuple[Snapshot, IndexReport]:
        if self._indexed is not None and self._indexed[0] == self._changes:
            return self._indexed[1:]
        if self.step is None or has_remote_index(self.folder):
            where = "stay behind in this transaction" if self.step is None else "are on a server"
            raise UnsupportedQueryError(
                f"a MATCH or a NEAR cannot see what this transaction has changed, because its indexes {where}",
                hint="commit first, and rank in a transaction of its own",
            )
        report = self._index()
        generation = Generation(
            self.building.path,
            Manifest(self.building.number, "", counts=self.building.counts, prefixes=self.building.prefixes.kept),
        )
        snapshot = Snapshot.of(generation, self.folder, self._open_store())
        self._indexed = self._changes, snapshot, report
        return snapshot, report

    def _open_store(self) -> OxigraphStore:
        """The changed graph for a snapshot, which `_close_stores` takes away from it."""
        self._stores.append(OxigraphStore(self.graph.store, union_default_graph=self.live.union_default_graph))
        return self._stores[-1]

    def _close_stores(self) -> None:
        self._close_snapshots()
        self.graph.close()

    def _close_snapshots(self) -> None:
        self._unindexed = self._indexed = None
        for store in self._stores:
            store.close()
        self._stores.clear()

    def _count(self) -> None:
        """Counts the quads of this moment."""
        added, removed = self.graph.size()
        self.building.counts["quads"] = self._quads + sum(count.new for count in self.loaded) + added - removed

    # --- the commit ---------------------------------------------------------------------

    def finish(self) -> IndexReport | None:
        """Writes everything into the next generation; None where the indexes stay behind."""
        self.write_documents()
        if self.step is None:
            self._count()
            self.close()
            for name in TEXT_INDEX:
                self.building.keep(name)
            return None
        is_indexed = self._indexed is not None and self._indexed[0] == self._changes
        try:
            report = self._indexed[2] if self._indexed is not None and is_indexed else self._index()
        except RebuildNeededError:
            self.step = None
            return self.finish()
        self.close()
        return report

    def close(self) -> None:
        """Closes the store, without whose end its folder cannot be removed or renamed."""
        self._close_stores()

    def _index(self) -> IndexReport:
        """Writes every index of this moment, from the earlier ones where they can follow.

        Raises:
            RebuildNeededError: they cannot, and are not to be built from scratch.
        """
        assert self.step is not None
        self.step.remember_engines()
        self._close_snapshots()
        self._remove_indexes()
        documents = self.write_documents()
        self._count()
        self.not_followed = "a load of this transaction has added triples" if self.loaded else ""
        if not self.loaded:
            try:
                return self._follow(documents.entities)
            except RebuildNeededError as e:
                self.not_followed = str(e)
                self._remove_indexes()
                self.step.discard()
                if not self._rebuilds:
                    raise
        self.graph.close()
        self.step.begin()
        return self.step.run(self.building, self.progress)

    def _follow(self, documents: Collection[str]) -> IndexReport:
        """Writes every index from the earlier ones.

        Raises:
            RebuildNeededError: they cannot follow, or a server fails and the indexes may stay behind.
        """
        assert self.step is not None
        follower = IndexFollower(self.step, self.building, self.live, self.graph, documents, self.progress)
        try:
            with collector_paused():
                return follower.run()
        except UNUSABLE_SERVER as e:
            if self._rebuilds:
                raise
            raise RebuildNeededError(e.message) from e

    def _remove_indexes(self) -> None:
        for part in INDEX_PARTS:
            for entry in self.building.path.glob(part):
                if entry.is_dir():
                    rmtree(entry)
                else:
                    entry.unlink()

    def write_documents(self) -> DocumentChanges:
        """Writes the documents of this moment, if they have changed; returns what has."""
        if self._documents is None:
            folder, previous = self.building.path / "documents", self.building.previous.documents
            if folder.exists():
                rmtree(folder)
            self._documents = change_documents(self.texts, previous if previous.is_dir() else None, folder)
            if self._documents.entities:
                self.building.changed("documents")
        return self._documents


def _may_have(live: Snapshot, quads: Sequence[Quad]) -> Sequence[Quad]:
    """Those of some quads that the graph of a snapshot may have, by its projection where that is its own and intact."""
    if not quads:
        return quads
    asks_at_once = isinstance(live.store, OxigraphStore) and live.store.is_open
    if (asks_at_once and len(quads) < MIN_QUADS) or live.projection is None or PROJECTION in live.generation.behind():
        return quads
    if not live.generation.is_intact(PROJECTION, "nodes"):
        return quads
    literals = 0 if asks_at_once else LITERALS_OF_OPENING
    return candidate_quads(live.projection, quads, union_default_graph=live.union_default_graph, literals=literals)
