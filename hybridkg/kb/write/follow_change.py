"""The index step of a small change: every index is written from the earlier one and what has changed.

The files have the bytes of a build from scratch, so no score drifts (tests/properties/test_updates_equal_rebuilt.py).
The work is the text of the changed entities, and passes over the arrays of the indexes; nothing else is read from the
graph or analysed. An index on a server is a clone of the earlier one, with the same answers as one from scratch.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from hybridkg import __version__
from hybridkg.config.settings import EMBEDDED
from hybridkg.entities.changed_text import SelectedTexts, changed_nodes, literal_changes, texts_before_and_after
from hybridkg.entities.changed_triples import TwoStates
from hybridkg.entities.dirty import SourceChange, dirty_entities
from hybridkg.entities.documents.document_store import Documents
from hybridkg.entities.node_table import FILES as NODE_FILES
from hybridkg.entities.node_table import NodeTable
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.triple_lookups import TripleLookups, in_term_order
from hybridkg.graph.build.adjacency_edits import PatchMismatchError
from hybridkg.graph.build.literal_pieces import DamagedPieceError
from hybridkg.graph.build.nquads_reader import UnsupportedGraphError
from hybridkg.graph.build.patched_projection import TripleChange, is_projected, patch_projection
from hybridkg.graph.projected_triples import projected_triples
from hybridkg.graph.statistics.catalog import PART, read_statistics, write_statistics
from hybridkg.graph.statistics.collect import collect
from hybridkg.graph.statistics.earlier_statistics import EarlierStatistics
from hybridkg.graph.stored_projection import open_columns
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.staying import Staying
from hybridkg.interfaces.text_engine import ENGINE_FILE, CannotFollowError, FieldChange, TextChange, engine_name
from hybridkg.interfaces.vector_index import encoded_fields, kind_of
from hybridkg.kb.snapshot import PROFILE_FILE, VECTORS, Snapshot
from hybridkg.kb.write.build_projection import PROJECTION
from hybridkg.kb.write.changed_texts import ChangedTexts, field_changes, literal_field_changes, staying_of
from hybridkg.kb.write.follow_vectors import follow_vectors
from hybridkg.kb.write.index_step import IndexStep
from hybridkg.kb.write.reports import IndexReport, VectorReport
from hybridkg.rdf.terms import DefaultGraph, NamedNode, Node, Quad, Term, Triple
from hybridkg.rdf.triple_columns import TripleColumns
from hybridkg.storage.durable import link_or_copy, link_tree
from hybridkg.store.changes import ChangingGraph, GraphChange
from hybridkg.store.generations.next_generation import UNLEARNED, Building
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.store.quad_patterns import quads_of_pattern
from hybridkg.text.match_query.synonyms import FILE as SYNONYMS_FILE
from hybridkg.text.match_query.synonyms import stored_synonyms
from hybridkg.vector.index.flat_files import describe_pieces

_log = logging.getLogger(__name__)

REBUILD_SHARE = 0.2
"""Share of the entities or triples above which a build from scratch takes no longer."""

MIN_SHARE_TOLD = 0.0005
"""Share of the texts, shown as 0.1%, from which the age of a learned encoder is told."""

REBUILD_LEAST = 1_000
"""Changed entities or triples that are always worth following."""


class RebuildNeededError(Exception):
    """The indexes cannot follow a change; the text is the reason, without a full stop."""


@dataclass(frozen=True)
class IndexFollower:
    """Writes the indexes of the next generation from those of the one before.

    Args:
        step: the components of the index step.
        building: the next generation; has its documents.
        live: the snapshot before the change.
        graph: the changed graph.
        documents: IRIs of the entities whose documents have changed.
        progress: receives the progress.
    """

    step: IndexStep
    building: Building
    live: Snapshot
    graph: ChangingGraph
    documents: Collection[str]
    progress: Progress

    def run(self) -> IndexReport:
        """Writes every index.

        Raises:
            RebuildNeededError: the change is too large, or of a kind that needs a build from scratch.
        """
        self._check()
        change = self._source_change()
        with ThreadPoolExecutor(2, "hybridkg-commit") as beside:
            flushed = beside.submit(self.graph.flush)
            texts = self._literal_texts(change) or self._all_texts(change)
            projected = beside.submit(self._write_projection, change, texts.nodes, texts.ids)
            counts = self._write_text(texts)
            flushed.result()
            projected.result()
        vectors = self._write_vectors(texts)
        self.building.built("text", self.step.engine[1].name_of(self.building.path / "text"))
        self.building.built(PROJECTION, EMBEDDED)
        return IndexReport(
            fields=len(self._profile().indexed_fields()),
            entities=counts["entities"],
            terms=counts.get("terms"),
            postings=counts.get("postings"),
            tokens=counts.get("tokens"),
            text_bytes=counts.get("text_bytes"),
            vectors=vectors,
            notes=self._notes(texts.nodes),
        )

    # --- whether --------------------------------------------------------------------------

    def _check(self) -> None:
        """Raises RebuildNeededError where the components of the earlier indexes are not those of this step."""
        live, step = self.live, self.step
        manifest = live.generation.manifest
        if live.text is None or live.nodes is None or live.profile is None or live.generation.behind():
            raise RebuildNeededError("the earlier indexes are missing or older than the graph")
        name, engine = step.engine
        if not engine.follows(step.folder.config):
            raise RebuildNeededError(f"{engine.title} is not set up to follow a commit")
        if engine_name(self._previous / "text") != name:
            raise RebuildNeededError("the text engine has changed")
        if PROJECTION not in manifest.indexes or live.projection is None:
            raise RebuildNeededError("the graph has no projection")
        self._check_vectors()
        if live.union_default_graph != (step.folder.config.default_graph == "union"):
            raise RebuildNeededError("default_graph has changed")
        if self._profile().to_json() != live.profile.to_json():
            raise RebuildNeededError("the profile or the fields of the documents have changed")
        if stored_synonyms(self._previous / "text") != step.synonyms:
            raise RebuildNeededError("the synonyms have changed")
        if not live.generation.is_intact("text", "projection", "nodes", VECTORS):
            # Otherwise the next generation would have checksums that fit the damage.
            raise RebuildNeededError("a file of the earlier indexes is damaged")
        added, removed = self.graph.size()
        if added + removed > max(REBUILD_LEAST, REBUILD_SHARE * live.quads):
            raise RebuildNeededError(f"{added + removed:,} triples have changed")

    def _check_vectors(self) -> None:
        """Raises RebuildNeededError where other vectors are configured than the earlier ones."""
        wanted, previous = self.step.vectors, self._previous / VECTORS
        if (wanted is None) != (VECTORS not in self.live.generation.manifest.indexes):
            raise RebuildNeededError("the encoder has changed")
        if wanted is None:
            return
        fingerprint, index = wanted.kind.fingerprint(), self.live.vectors
        if index is None or kind_of(previous) != wanted.name:
            raise RebuildNeededError("the index of vectors has changed")
        if not wanted.index.follows(self.step.folder.config):
            raise RebuildNeededError(f"{wanted.index.title} is not set up to follow a commit")
        stored = wanted.index.stored(previous)
        if stored.kind != wanted.encoder or (fingerprint and stored.name != fingerprint):
            raise RebuildNeededError("the encoder has changed")
        pieces = describe_pieces(wanted.encoding) if wanted.encoding.what != "entity" else None
        if index.about().get("what") != pieces:
            raise RebuildNeededError("the pieces of text that have vectors have changed")
        fields = self._profile().indexed_fields()
        chosen = tuple(fields[place].name for place in wanted.positions(fields))
        if encoded_fields(previous) != (chosen if len(chosen) < len(fields) else ()):
            raise RebuildNeededError("the fields whose text has vectors have changed")

    @property
    def _previous(self) -> Path:
        return self.building.previous.path

    def _profile(self) -> Profile:
        documents = self._documents_after()
        return self.step.profile if documents is None else self.step.profile.with_documents(documents.fields())

    def _documents_after(self) -> Documents | None:
        for folder in (self.building.path / "documents", self.building.previous.documents):
            if folder.is_dir():
                return Documents.open(folder)
        return None

    # --- what -----------------------------------------------------------------------------

    def _source_change(self) -> TripleChange:
        """The change of the triples that the default graph of queries has."""
        change = self.graph.change()
        if self.live.union_default_graph:
            triples = _change_of_union(change, self.graph)
        else:
            triples = TripleChange(_of_default_graph(change.added), _of_default_graph(change.removed))
        if not triples.is_projected():
            raise RebuildNeededError("a triple has a triple term or a literal with a base direction")
        return triples

    def _limit(self) -> int:
        """Entities above which a build from scratch takes no longer."""
        assert self.live.nodes is not None
        return max(REBUILD_LEAST, int(REBUILD_SHARE * len(self.live.nodes)))

    def _dirty(
        self, source: SourceChange, states: TwoStates, known: Container[Node]
    ) -> tuple[Collection[Node], Collection[Node]]:
        """The entities whose texts may differ, and those whose stored filters may; `known` are entities before."""
        dirty = dirty_entities(self._profile(), source, states.after_streamed, limit=self._limit(), known=known)
        if dirty.too_many:
            raise RebuildNeededError(dirty.reason)
        return dirty.nodes, dirty.filtered if self.step.engine[1].stores_filters else ()

    def _texts(self, states: TwoStates, nodes: Mapping[Node, int]) -> tuple[SelectedTexts, SelectedTexts]:
        """The texts of the dirty entities, given with their earlier ids, before and after; of entities that stay, only
        the fields that differ, where nothing reads the others.
        """
        union, narrow = self.live.union_default_graph, self.step.vectors is None and self.step.engine[1].follows_fields
        entities = {node for node, id in nodes.items() if id >= 0} if narrow else ()
        self.progress.start("reading text of changed entities", None)
        documents = self.live.documents, self._documents_after()
        before, after = texts_before_and_after(
            nodes, self._profile(), states, documents, union_default_graph=union, entities=entities
        )
        self.progress.done(len(nodes))
        return before, after

    def _states(self, change: SourceChange, known: Mapping[Node, int]) -> TwoStates:
        """The graph before and after the change: read from the earlier projection where that has all of it. Entities
        that are `known` have the ids of the earlier node table there.
        """
        assert self.live.projection is not None
        before = projected_triples(self.live.projection, known)
        if before is not None:
            return TwoStates.from_before(before, change.added, change.removed)
        store = OxigraphStore(self.graph.store, union_default_graph=self.live.union_default_graph)
        return TwoStates.from_after(TripleLookups(store), change.added, change.removed)

    def _literal_texts(self, change: TripleChange) -> ChangedTexts | None:
        """The change where it is one of literals of entities that stay; None where it may be another one, or where
        more than the fields that differ is needed.
        """
        engine = self.step.engine[1]
        reads_more = self.step.vectors is not None or not engine.follows_fields or engine.stores_filters
        assert self.live.nodes is not None
        assert self.live.projection is not None
        before = projected_triples(self.live.projection)
        if reads_more or self.documents or before is None:
            return None
        profile = self._profile()
        both = change.added, change.removed
        ids_of, documents = self.live.nodes.find_many, self.live.documents
        fields = literal_changes(profile, both, before, ids_of, documents, limit=self._limit())
        if fields is None:
            return None
        none = SelectedTexts(profile, {}, self.live.union_default_graph, before)
        nodes, ids = self._write_nodes((), {}, none)
        changes = literal_field_changes(fields, ids)
        is_changed = any(len(one.before) or len(one.values) for one in changes)
        return ChangedTexts(nodes, ids, none, self._text_change(none, none, ids, [], changes) if is_changed else None)

    def _all_texts(self, change: TripleChange) -> ChangedTexts:
        """The change of the texts of the dirty entities, and of what an engine stores for filters."""
        documents = [NamedNode(iri) for iri in self.documents]
        source = SourceChange([*change.added], [*change.removed], documents)
        subjects = dict.fromkeys((*change.added.subjects(), *change.removed.subjects()))
        ids_before = _ids_by_node(self.live.nodes, subjects)
        known = {node: id for node, id in ids_before.items() if id >= 0}
        states = self._states(source, known)
        dirty, filtered = self._dirty(source, states, known)
        others = [node for node in (*dirty, *filtered) if node not in ids_before]
        ids_before = {**ids_before, **_ids_by_node(self.live.nodes, others)}
        before, after = self._texts(states, {node: ids_before[node] for node in (*dirty, *filtered)})
        filtered = [node for node in filtered if node in after.texts]
        changed = changed_nodes(before, after)
        old_ids = {node: ids_before[node] for node in (*changed, *filtered)}
        nodes, ids = self._write_nodes(changed, old_ids, after)
        if not old_ids:
            return ChangedTexts(nodes, ids, after)
        ordered = in_term_order(old_ids)
        own, earlier = after.only(ordered), before.only(ordered)
        staying = [node for node in own.texts if old_ids[node] >= 0]
        earlier_ids = np.array([old_ids[node] for node in staying], np.int64)
        new_ids = dict(zip(staying, ids.to_new(earlier_ids).tolist(), strict=True))
        new_ids |= _ids_by_node(nodes, [node for node in own.texts if old_ids[node] < 0])
        fields = field_changes(ordered, earlier, own, ids, old_ids, new_ids)
        stay = staying_of(ordered, old_ids, ids)
        own_ids = [new_ids[node] for node in own.texts]
        followed = self._text_change(earlier, own, stay, own_ids, fields, len(nodes))
        return ChangedTexts(nodes, ids, after, followed, changed, old_ids)

    def _text_change(
        self,
        before: SelectedTexts,
        after: SelectedTexts,
        staying: Staying,
        ids: Sequence[int],
        fields: Sequence[FieldChange],
        n_nodes: int | None = None,
    ) -> TextChange:
        assert self.live.text is not None
        n = staying.n if n_nodes is None else n_nodes
        bytes_before = self.live.text.counts["text_bytes"]
        text_bytes = bytes_before + sum(one.values.text_bytes() - one.before.text_bytes() for one in fields)
        return TextChange(before, after, staying, np.array(ids, np.uint32), fields, n, text_bytes)

    # --- how ------------------------------------------------------------------------------

    def _write_nodes(
        self, changed: Collection[Node], old_ids: Mapping[Node, int], after: SelectedTexts
    ) -> tuple[NodeTable, Staying]:
        """Writes the node table; returns it, and the earlier entities that have text still."""
        nodes = self.live.nodes
        assert nodes is not None
        gone = sorted(old_ids[node] for node in changed if old_ids[node] >= 0 and node not in after.texts)
        new = [node for node in changed if old_ids[node] < 0 and node in after.texts]
        if gone or new:
            ids = Staying.of(nodes.write_changed(self.building.path, np.array(gone, np.int64), new))
            return NodeTable.open(self.building.path), ids
        for name in NODE_FILES:
            link_or_copy(self._previous / name, self.building.path / name)
        return nodes, Staying.all(len(nodes))

    def _write_text(self, texts: ChangedTexts) -> dict[str, int]:
        """Writes the text index, and returns its counts."""
        assert self.live.text is not None
        folder, previous = self.building.path / "text", self._previous / "text"
        if texts.change is None:
            link_tree(previous, folder)
            return dict(self.live.text.counts)
        folder.mkdir()
        name, engine = self.step.engine
        try:
            counts = engine.follow(previous, folder, texts.change, self.progress)
        except CannotFollowError as e:
            raise RebuildNeededError(str(e)) from e
        (folder / PROFILE_FILE).write_text(texts.after.profile.to_json(), encoding="utf-8")
        (folder / ENGINE_FILE).write_text(f"{name}\n", encoding="ascii")
        if self.step.synonyms.rules:
            (folder / SYNONYMS_FILE).write_text(self.step.synonyms.text(), encoding="utf-8")
        return counts

    def _write_vectors(self, texts: ChangedTexts) -> VectorReport | None:
        """Writes the vectors; None where there are none."""
        if self.step.vectors is None:
            return None
        previous, folder = self._previous / VECTORS, self.building.path / VECTORS
        own = texts.after.only(texts.changed)
        report = follow_vectors(
            previous,
            folder,
            self.step.vectors,
            staying_of(texts.changed, texts.old_ids, texts.ids).array,
            own,
            texts.nodes.find_many([*own.texts]).tolist(),
            self.progress,
        )
        self.building.built(VECTORS, self.step.vectors.name)
        if not self.step.vectors.kind.fingerprint():
            self.building.counts[UNLEARNED] = self.building.counts.get(UNLEARNED, 0) + len(texts.changed)
        return report

    def _notes(self, nodes: NodeTable) -> tuple[str, ...]:
        """A sentence about an encoder that has been learned from other texts."""
        unlearned = self.building.counts.get(UNLEARNED, 0)
        if not unlearned or self.step.vectors is None:
            return ()
        share = min(1.0, unlearned / max(1, len(nodes)))
        if share < MIN_SHARE_TOLD:
            return ()
        name, path = self.step.vectors.encoder, self.step.folder.path
        return (
            f"{share:.1%} of the texts have changed since {name} was learned; hybridkg index {path} learns it again",
        )

    def _write_projection(self, change: TripleChange, nodes: NodeTable, ids: Staying) -> None:
        """Writes the projection and the statistics."""
        assert self.live.nodes is not None
        union, folder = self.live.union_default_graph, self.building.path / PROJECTION
        anywhere = None if union else DefaultGraph()

        def occurs(term: Term) -> bool:
            store = self.graph.store
            as_object = quads_of_pattern(store, None, None, term, anywhere)
            as_subject = quads_of_pattern(store, term, None, None, anywhere) if isinstance(term, Node) else iter(())
            return any(is_projected(quad.object) for quad in chain(as_object, as_subject))

        try:
            has_order = patch_projection(
                self._previous / PROJECTION, folder, self.live.nodes, nodes, ids, change, occurs
            )
        except DamagedPieceError as e:
            raise RebuildNeededError("a file of the earlier indexes is damaged") from e
        except (PatchMismatchError, UnsupportedGraphError) as e:
            if isinstance(e, PatchMismatchError):
                _log.warning("the projection is not that of the graph, and is built again")
            raise RebuildNeededError("the projection cannot be patched") from e
        columns = open_columns(folder, nodes, union_default_graph=union)
        earlier = self._earlier_statistics(change) if has_order else None
        write_statistics(self.building.path, collect(columns, earlier=earlier))

    def _earlier_statistics(self, change: TripleChange) -> EarlierStatistics | None:
        """The statistics of the earlier projection; None where they are missing, damaged or of another version."""
        live = self.live.generation
        if live.manifest.hybridkg != __version__ or not live.is_intact(PART):
            return None
        statistics = read_statistics(self._previous)
        if statistics is None:
            return None
        return EarlierStatistics(statistics, change.added, change.removed)


def _ids_by_node(table: NodeTable | None, nodes: Collection[Node]) -> dict[Node, int]:
    """The id of each node in a table; -1 for one that it does not have."""
    assert table is not None
    return dict(zip(nodes, table.find_many([*nodes]).tolist(), strict=True))


def _of_default_graph(quads: Iterable[Quad]) -> TripleColumns:
    return TripleColumns.of(quad for quad in quads if isinstance(quad.graph_name, DefaultGraph))


def _change_of_union(change: GraphChange, graph: ChangingGraph) -> TripleChange:
    """The change of the union of all graphs, which has a triple as long as one graph has it."""
    entered, left = _graphs_by_triple(change.added), _graphs_by_triple(change.removed)
    added: list[Triple] = []
    removed: list[Triple] = []
    for triple in {**entered, **left}:
        found = quads_of_pattern(graph.store, triple.subject, triple.predicate, triple.object, None)
        after = {quad.graph_name for quad in found}
        before = (after - entered.get(triple, set())) | left.get(triple, set())
        if bool(after) != bool(before):
            (added if after else removed).append(triple)
    return TripleChange(TripleColumns.of(added), TripleColumns.of(removed))


def _graphs_by_triple(quads: Collection[Quad]) -> dict[Triple, set[object]]:
    found: dict[Triple, set[object]] = {}
    for quad in quads:
        found.setdefault(quad.triple, set()).add(quad.graph_name)
    return found
