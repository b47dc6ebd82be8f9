"""Build of the node table, the text index and the vector index of a generation from its graph and documents."""

from __future__ import annotations

from pathlib import Path

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.entities.documents.document_store import Documents
from hybridkg.entities.extraction import Extraction, extract
from hybridkg.entities.node_table import NodeTable
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.profile.profile_diagnostics import doubts
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import ENGINE_FILE, Taker, TextEngine
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.kb.snapshot import PROFILE_FILE, VECTORS
from hybridkg.kb.write.encode_entities import Vectorising, build_vectors
from hybridkg.kb.write.reports import IndexReport, VectorReport
from hybridkg.text.match_query.synonyms import FILE as SYNONYMS_FILE
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms


class GenerationText:
    """The text of a generation, as a text engine reads it; `extract` writes `nodes.*`.

    The arguments are those of `build_indexes`; with `keeps`, `extraction` stays in memory for the vectors.
    """

    def __init__(
        self,
        folder: Path,
        profile: Profile,
        store: GraphStore,
        documents: Documents | None,
        progress: Progress,
        *,
        union_default_graph: bool,
        keeps: bool = False,
    ):
        self.profile = profile if documents is None else profile.with_documents(documents.fields())
        self.union_default_graph = union_default_graph
        self._folder, self._store, self._documents, self._progress = folder, store, documents, progress
        self._keeps = keeps
        self.extraction: Extraction | None = None

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """Fields of the index, in the order of the profile."""
        return self.profile.indexed_fields()

    @property
    def filters(self) -> tuple[str, ...]:
        """IRIs of the predicates whose values an engine may store together with the text."""
        return self.profile.filters

    def extract(self, early: Taker | None = None) -> Extraction:
        """Extracts the text of all entities."""
        self._progress.start("reading text from the graph", None)
        extraction = extract(
            self.profile, self._store, self._documents, lambda rows: self._progress.advance(0, rows), early
        )
        self._progress.done(len(extraction.nodes))
        NodeTable.write(self._folder, extraction.nodes)
        if self._keeps:
            self.extraction = extraction
        return extraction


def build_indexes(
    folder: Path,
    profile: Profile,
    store: GraphStore,
    documents: Documents | None,
    engine: tuple[str, TextEngine],
    progress: Progress,
    *,
    union_default_graph: bool,
    synonyms: Synonyms = NO_SYNONYMS,
    vectors: Vectorising | None = None,
) -> IndexReport:
    """Writes `nodes.*`, `text/` and, if vectors are configured, `vectors/` into a generation that is being built.

    Args:
        folder: folder of the generation, which has none of them yet.
        profile: the fields, without those of the documents.
        store: the graph.
        documents: text that is not in the graph.
        engine: (name, text engine).
        progress: counts rows read and entities indexed.
        union_default_graph: whether the store shows the union of all graphs.
        synonyms: for the queries of the index.
        vectors: encoder and vector index; None for no vectors.
    """
    text_folder = folder / "text"
    text_folder.mkdir()
    keeps = vectors is not None
    source = GenerationText(
        folder, profile, store, documents, progress, union_default_graph=union_default_graph, keeps=keeps
    )
    name, builder = engine
    with collector_paused():
        counts = builder.build(text_folder, source, progress)
    made: VectorReport | None = None
    if source.extraction is not None and vectors is not None:
        made = build_vectors(folder / VECTORS, vectors, source.extraction, progress)
    (text_folder / PROFILE_FILE).write_text(source.profile.to_json(), encoding="utf-8")
    (text_folder / ENGINE_FILE).write_text(f"{name}\n", encoding="ascii")
    if synonyms.rules:
        (text_folder / SYNONYMS_FILE).write_text(synonyms.text(), encoding="utf-8")
    index = builder.open(text_folder)
    empty = [name for name in index.fields if not index.field_totals(name)["entities"]]
    return IndexReport(
        fields=len(source.fields),
        entities=counts["entities"],
        terms=counts.get("terms"),
        postings=counts.get("postings"),
        tokens=counts.get("tokens"),
        text_bytes=counts.get("text_bytes"),
        vectors=made,
        notes=tuple(doubts(source.profile, store, empty)),
    )
