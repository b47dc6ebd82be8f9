"""Write transactions: each makes one new generation of a knowledge base, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from hybridkg.config.settings import EMBEDDED
from hybridkg.entities.documents.document_store import check_document_files
from hybridkg.entities.documents.load_documents import adding
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import ConfigError, TextServerError, UserError
from hybridkg.interfaces.encoder import ConfirmUpload
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TextEngine, is_remote_engine
from hybridkg.interfaces.vector_index import VectorIndexKind
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.build_projection import copying
from hybridkg.kb.write.configured import check_analyzers, configured_synonyms, text_engine, vectorising
from hybridkg.kb.write.encode_entities import Vectorising
from hybridkg.kb.write.index_generation import index_generation
from hybridkg.kb.write.reports import IndexReport, LoadReport
from hybridkg.store.endpoint.export import WORK as GRAPH_WORK
from hybridkg.store.generations.bulk_build import Building
from hybridkg.store.generations.folder import Folder
from hybridkg.store.loading import check_sources
from hybridkg.store.loading import load as load_sources
from hybridkg.text.match_query.synonyms import NO_SYNONYMS
from hybridkg.vector.encoders.embedding_cache import remove_logs

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.build.builder import ProjectionBuilder


TEXT_INDEX = ("nodes", "text", VECTORS)
"""What an index step builds, and a load without index keeps as it is."""


NOTHING_CHANGED = "nothing was loaded or indexed; the knowledge base is as it was before"


def load(
    folder: Folder,
    inputs: Sequence[str | Path | rdflib.Graph],
    texts: Sequence[Path],
    profile: Profile | None,
    progress: Progress,
    agree: ConfirmUpload | None = None,
) -> LoadReport:
    """Adds RDF and text documents in one generation; with a profile, indexes it as well.

    Raises:
        LoadError: an input is malformed; nothing has changed.
    """
    check_sources(inputs)
    check_document_files(texts)
    refuse_at_endpoint(folder, inputs)
    engine = text_engine(folder)
    synonyms, vectors = NO_SYNONYMS, None
    if profile is not None:
        check_analyzers(profile, folder)
        vectors = vectorising(folder, agree)
        synonyms = configured_synonyms(folder)
    with (
        removed_on_failure(folder, *_builders(engine, vectors)),
        folder.building(progress) as building,
        ExitStack() as stack,
    ):
        _settle_graph(building, folder)
        previous = building.previous.documents
        finish_documents = stack.enter_context(
            adding(texts, previous if previous.is_dir() else None, building.path / "documents", beside=bool(inputs))
        )
        copy: ProjectionBuilder | None = None
        if profile is not None:
            engine[1].ready()
            _remember(folder, engine, vectors)
            if inputs and not building.counts["quads"]:  # otherwise the new statements would be a part of the graph
                union = folder.config.default_graph == "union"
                copy = stack.enter_context(copying(building.path, union_default_graph=union, stored=False))
        loaded = load_sources(building, inputs, progress, also=copy.add if copy else None) if inputs else []
        documents, built = None, None
        if texts:
            building.changed("documents")
            documents = sum(count.documents for count in finish_documents(progress))
        if profile is None:
            for name in TEXT_INDEX:
                building.keep(name)
        else:
            built = index_generation(building, folder, profile, engine, synonyms, vectors, progress, copy)
    _remove_work(folder, vectors)
    return LoadReport(sum(one.statements for one in loaded), sum(one.new for one in loaded), documents, built)


def index(folder: Folder, profile: Profile, progress: Progress, agree: ConfirmUpload | None = None) -> IndexReport:
    """Builds the node table and every index again, in a generation with the same graph and documents."""
    check_analyzers(profile, folder)
    vectors = vectorising(folder, agree)
    engine, synonyms = text_engine(folder), configured_synonyms(folder)
    with removed_on_failure(folder, *_builders(engine, vectors)), folder.building(progress) as building:
        engine[1].ready()
        _settle_graph(building, folder)
        _remember(folder, engine, vectors)
        built = index_generation(building, folder, profile, engine, synonyms, vectors, progress)
    _remove_work(folder, vectors)
    return built


def _settle_graph(building: Building, folder: Folder) -> None:
    """The graph is where kb.toml says now, wherever the live generation had it.

    Raises:
        ConfigError: kb.toml names an endpoint, and the knowledge base has a graph of its own.
    """
    graph = folder.config.graph
    if graph == EMBEDDED:
        building.lies_here()
    elif building.counts["quads"] and not building.previous.manifest.endpoint:
        raise ConfigError(
            f"kb.toml says that the graph lies at {graph}, and {building.counts['quads']:,} triples have been loaded "
            "here",
            hint=f'a knowledge base has one graph: location = "{EMBEDDED}" in the table [graph] for this one, or begin '
            "in a new folder",
            place=str(folder.path / "kb.toml"),
        )


def _remove_work(folder: Folder, vectors: Vectorising | None) -> None:
    """What an interrupted run would have gone on from is not needed any more."""
    if vectors is not None:
        remove_logs(vectors.work)
    rmtree(folder.path / GRAPH_WORK, ignore_errors=True)


def refuse_at_endpoint(folder: Folder, inputs: Sequence[object]) -> None:
    """Whether RDF can be loaded here.

    Raises:
        UserError: the graph lies at an endpoint, which hybridkg never changes.
    """
    graph = folder.config.graph
    if inputs and graph != EMBEDDED:
        raise UserError(
            f"the graph of {str(folder.path)!r} lies at {graph}, and hybridkg only reads there",
            hint=f"load it there, then: hybridkg index {folder.path}; or load into another knowledge base",
        )


def _builders(engine: tuple[str, TextEngine], vectors: Vectorising | None) -> list[TextEngine | VectorIndexKind]:
    """Whatever may build outside the folder."""
    return [engine[1]] if vectors is None else [engine[1], vectors.index]


def _remember(folder: Folder, engine: tuple[str, TextEngine], vectors: Vectorising | None) -> None:
    """Writes down who is about to build outside the folder."""
    for name in (engine[0], vectors.index.engine if vectors else ""):
        if is_remote_engine(name):
            folder.remember_engine(name)


@contextmanager
def removed_on_failure(folder: Folder, *builders: TextEngine | VectorIndexKind) -> Iterator[None]:
    """What has been built outside the folder goes when the generation does not come to life."""
    before = folder.live_name()
    try:
        yield
    except BaseException as e:
        if folder.live_name() == before:
            for builder in builders:
                builder.discard()
        if isinstance(e, TextServerError):
            e.hint = "\n".join(filter(None, [e.hint, NOTHING_CHANGED]))
        raise


def publish(folder: Folder) -> None:
    """Lets strangers find the text index of the live generation, which has just been built.

    Raises:
        TextServerError: its server does not answer; queries of the knowledge base do not need this.
    """
    text_engine(folder)[1].publish(folder.current().path / "text")
