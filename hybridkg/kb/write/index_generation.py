"""The index step of a write transaction: every index of the generation that is being built."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from hybridkg.config.settings import EMBEDDED
from hybridkg.entities.documents.document_store import Documents
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import CorruptError
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TextEngine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, VectorIndexKind, kind_of
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.build_indexes import build_indexes
from hybridkg.kb.write.build_projection import PROJECTION, build_projection, copying
from hybridkg.kb.write.encode_entities import Vectorising
from hybridkg.kb.write.reports import IndexReport
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.export import WORK as GRAPH_WORK
from hybridkg.store.endpoint.export import Export, Exported
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import UNLEARNED, Building
from hybridkg.store.loading import load as load_sources
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.match_query.synonyms import Synonyms

if TYPE_CHECKING:
    from hybridkg.graph.build.builder import ProjectionBuilder


def index_generation(
    building: Building,
    folder: Folder,
    profile: Profile,
    engine: tuple[str, TextEngine],
    synonyms: Synonyms,
    vectors: Vectorising | None,
    progress: Progress,
    loaded: ProjectionBuilder | None = None,
) -> IndexReport:
    """Builds all indexes from the graph of the new generation, so they include the data of the same load."""
    if vectors is not None and building.previous.is_intact(VECTORS):
        previous = building.previous.path / VECTORS
        with suppress(CorruptError):  # of a kind that is not installed any more
            before: VectorIndexKind = VECTOR_INDEXES.get(kind_of(previous))(folder.path, folder.config)
            vectors = replace(vectors, previous=previous, before=before)
    is_remote = folder.config.graph != EMBEDDED
    with ExitStack() as stack:
        if is_remote:
            loaded = stack.enter_context(copying(building.path, union_default_graph=False, stored=False))
            export = _export(building, folder, loaded, progress)
        else:
            building.compact_graph()
        built = _build(building, folder, profile, engine, synonyms, vectors, progress, loaded)
        if is_remote:
            building.exported({"graph": folder.config.graph, **export.to_json()})
            built = replace(built, exported=export.triples)
    return built


def _export(building: Building, folder: Folder, copy: ProjectionBuilder, progress: Progress) -> Exported:
    """Copies the graph from the endpoint into the new generation, to be indexed there.

    Raises:
        EndpointError: it cannot be copied; the copied part stays for the next run.
    """
    config = folder.config
    connection = Connection(config.graph, config.endpoint)
    export = Export(connection, folder.path / GRAPH_WORK, config.endpoint.page, progress).run()
    building.documents_loaded = 0  # so that blank nodes of the same graph get the same labels
    load_sources(building, export.files, progress, also=copy.add)
    return export


def _build(
    building: Building,
    folder: Folder,
    profile: Profile,
    engine: tuple[str, TextEngine],
    synonyms: Synonyms,
    vectors: Vectorising | None,
    progress: Progress,
    loaded: ProjectionBuilder | None,
) -> IndexReport:
    documents_folder = building.path / "documents"
    if not documents_folder.exists():
        documents_folder = building.previous.documents
    documents = Documents.open(documents_folder) if documents_folder.is_dir() else None
    union = folder.config.default_graph == "union"
    store = OxigraphStore.open(building.path / "graph", union_default_graph=union)
    built = build_indexes(
        building.path,
        profile,
        store,
        documents,
        engine,
        progress,
        union_default_graph=union,
        synonyms=synonyms,
        vectors=vectors,
    )
    building.counts.pop(UNLEARNED, None)
    building.built("text", engine[1].name_of(building.path / "text"))
    if built.vectors is not None:
        building.built(VECTORS, folder.config.vectors)
    stays = folder.config.graph == EMBEDDED or folder.config.endpoint.projection != "none"
    projection = build_projection(building.path, store, progress, union_default_graph=union, loaded=loaded, stays=stays)
    if "note" in projection:
        return replace(built, notes=(*built.notes, projection["note"])) if stays else built
    if stays:
        building.built(PROJECTION, EMBEDDED)
    return built
