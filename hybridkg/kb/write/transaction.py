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
from hybridkg.errors import ConfigError, LoadWarning, TextServerError, UserError
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
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import Building
from hybridkg.store.loading import SourceCount, check_sources
from hybridkg.store.loading import load as load_sources
from hybridkg.text.match_query.synonyms import NO_SYNONYMS
from hybridkg.vector.encoders.embedding_cache import remove_logs

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.build.builder import ProjectionBuilder

TEXT_INDEX = ("nodes", "text", VECTORS)
"""Parts that an index step builds, and a load without an index step links."""

NOTHING_CHANGED = "nothing was loaded or indexed; the knowledge base is as it was before"


def load(
    folder: Folder,
    inputs: Sequence[str | Path | rdflib.Graph],
    texts: Sequence[Path],
    profile: Profile | None,
    progress: Progress,
    confirm: ConfirmUpload | None = None,
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
        vectors = vectorising(folder, confirm)
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
            if inputs and not building.counts["quads"]:  # otherwise the new statements are only a part of the graph
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
    return LoadReport(
        sum(one.statements for one in loaded),
        sum(one.new for one in loaded),
        documents,
        built,
        _warnings(inputs, loaded),
    )


def _warnings(inputs: Sequence[str | Path | rdflib.Graph], loaded: Sequence[SourceCount]) -> tuple[LoadWarning, ...]:
    """A warning for each file without a statement: a download that failed, perhaps, or an export of nothing."""
    return tuple(
        LoadWarning(
            f"no statement in {count.name!r}", hint="nothing of it was added; check that it is the file you meant"
        )
        for source, count in zip(inputs, loaded, strict=bool(loaded))
        if isinstance(source, str | Path) and not count.statements
    )


def index(folder: Folder, profile: Profile, progress: Progress, confirm: ConfirmUpload | None = None) -> IndexReport:
    """Builds the node table and every index again, in a generation with the same graph and documents."""
    check_analyzers(profile, folder)
    vectors = vectorising(folder, confirm)
    engine, synonyms = text_engine(folder), configured_synonyms(folder)
    with removed_on_failure(folder, *_builders(engine, vectors)), folder.building(progress) as building:
        engine[1].ready()
        _settle_graph(building, folder)
        _remember(folder, engine, vectors)
        built = index_generation(building, folder, profile, engine, synonyms, vectors, progress)
    _remove_work(folder, vectors)
    return built


def _settle_graph(building: Building, folder: Folder) -> None:
    """Records the location of the graph that kb.toml names.

    Raises:
        ConfigError: kb.toml names an endpoint, and the knowledge base has a local graph.
    """
    graph = folder.config.graph
    if graph == EMBEDDED:
        building.lies_here()
    elif building.counts["quads"] and not building.previous.manifest.endpoint:
        raise ConfigError(
            f"the graph is at {graph} by kb.toml, and {building.counts['quads']:,} triples have been loaded here",
            hint=f'a knowledge base has one graph: set location = "{EMBEDDED}" in the table [graph], or create another '
            "knowledge base",
            place=str(folder.path / "kb.toml"),
        )


def _remove_work(folder: Folder, vectors: Vectorising | None) -> None:
    """Removes the files from which an interrupted run would have continued."""
    if vectors is not None:
        remove_logs(vectors.work)
    rmtree(folder.path / GRAPH_WORK, ignore_errors=True)


def refuse_at_endpoint(folder: Folder, inputs: Sequence[object]) -> None:
    """Raises UserError for RDF inputs if the graph is at an endpoint, which hybridkg never changes."""
    graph = folder.config.graph
    if inputs and graph != EMBEDDED:
        raise UserError(
            f"the graph of {str(folder.path)!r} is at {graph}, and hybridkg only reads there",
            hint=f"load it there, then: hybridkg index {folder.path}; or load into another knowledge base",
        )


def _builders(engine: tuple[str, TextEngine], vectors: Vectorising | None) -> list[TextEngine | VectorIndexKind]:
    """The components that may build an index on a server."""
    return [engine[1]] if vectors is None else [engine[1], vectors.index]


def _remember(folder: Folder, engine: tuple[str, TextEngine], vectors: Vectorising | None) -> None:
    """Records the remote engines of this build, so that their indexes can be found after a crash."""
    for name in (engine[0], vectors.index.engine if vectors else ""):
        if is_remote_engine(name):
            folder.remember_engine(name)


@contextmanager
def removed_on_failure(folder: Folder, *builders: TextEngine | VectorIndexKind) -> Iterator[None]:
    """Removes the indexes on servers if the generation does not become the live one."""
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
    """Publishes the text index of the live generation for other programs; queries do not need this.

    Raises:
        TextServerError: its server does not answer.
    """
    text_engine(folder)[1].publish(folder.current().path / "text")
