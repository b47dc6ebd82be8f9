"""Writing to a knowledge base: each call makes one new generation, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any

from hybridkg.config import EMBEDDED
from hybridkg.entities.adding import adding
from hybridkg.entities.documents import Documents, check_document_files
from hybridkg.entities.fields import Profile
from hybridkg.errors import ConfigError, CorruptError, TextServerError, UnknownNameError, UserError
from hybridkg.indexing import PROJECTION, Vectorising, build_indexes, build_projection, copying
from hybridkg.interfaces.analyzer import ANALYZERS
from hybridkg.interfaces.encoder import ENCODERS, NO_ENCODER, Agree, EncoderKind, ModelChoice
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES, TextEngine, is_remote_engine
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, VectorIndexKind, kind_of
from hybridkg.kb.snapshot import VECTORS
from hybridkg.registry import Registry
from hybridkg.store.building import Building
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.export import WORK as GRAPH_WORK
from hybridkg.store.endpoint.export import Export, Exported
from hybridkg.store.generations import Folder
from hybridkg.store.loading import check_sources
from hybridkg.store.loading import load as load_sources
from hybridkg.store.oxigraph import OxigraphStore
from hybridkg.text.synonyms import NO_SYNONYMS, Synonyms, read_synonyms, stored_synonyms
from hybridkg.vector.kept import NAME as VECTOR_WORK
from hybridkg.vector.kept import remove_logs

if TYPE_CHECKING:
    import rdflib

    from hybridkg.graph.building import ProjectionBuilder

AS_INDEXED = "as in the file"
"""The state of synonyms that are those of the file."""

TEXT_INDEX = ("nodes", "text", VECTORS)
"""What an index step builds, and a load without index keeps as it is."""

NOTHING_CHANGED = "nothing was loaded or indexed; the knowledge base is as it was before"


def load(
    folder: Folder,
    inputs: Sequence[str | Path | rdflib.Graph],
    texts: Sequence[Path],
    profile: Profile | None,
    progress: Progress,
    agree: Agree | None = None,
) -> dict[str, Any]:
    """Adds RDF and text documents in one generation; with a profile, indexes it as well.

    Returns:
        Counts: statements, triples (new ones), documents, and `index` with those of the index.

    Raises:
        LoadError: an input is malformed; nothing has changed.
    """
    check_sources(inputs)
    check_document_files(texts)
    refuse_at_endpoint(folder, inputs)
    engine = _engine(folder)
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
        counts: dict[str, Any] = {
            "statements": sum(count.statements for count in loaded),
            "triples": sum(count.new for count in loaded),
        }
        if texts:
            building.changed("documents")
            counts["documents"] = sum(count.documents for count in finish_documents(progress))
        if profile is None:
            for name in TEXT_INDEX:
                building.keep(name)
        else:
            counts["index"] = _index(building, folder, profile, engine, synonyms, vectors, progress, copy)
    _remove_work(folder, vectors)
    return counts


def index(folder: Folder, profile: Profile, progress: Progress, agree: Agree | None = None) -> dict[str, Any]:
    """Builds the node table and the text index anew, in a generation with the same graph and documents."""
    check_analyzers(profile, folder)
    vectors = vectorising(folder, agree)
    engine, synonyms = _engine(folder), configured_synonyms(folder)
    with removed_on_failure(folder, *_builders(engine, vectors)), folder.building(progress) as building:
        engine[1].ready()
        _settle_graph(building, folder)
        _remember(folder, engine, vectors)
        counts = _index(building, folder, profile, engine, synonyms, vectors, progress)
    _remove_work(folder, vectors)
    return counts


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


def _engine(folder: Folder) -> tuple[str, TextEngine]:
    """The text engine that kb.toml names."""
    config = folder.config
    return config.text, TEXT_ENGINES.get(config.text)(folder.path, config)


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
    _engine(folder)[1].publish(folder.current().path / "text")


def check_analyzers(profile: Profile, folder: Folder) -> None:
    """Whether every analyzer that a profile names is there, before any work is done; a server knows its own.

    Raises:
        UnknownNameError: one is not; names the field, and the analyzers that there are.
    """
    config = folder.config
    if TEXT_ENGINES.get(config.text).analyzes_natively(config):
        return
    for field in profile.fields:
        try:
            ANALYZERS.get(field.analyzer)
        except UnknownNameError as e:
            raise UnknownNameError(
                f"profile {profile.name!r}, field {field.name!r}: {e.message}", hint=e.hint
            ) from None


def vectorising(folder: Folder, agree: Agree | None = None) -> Vectorising | None:
    """How kb.toml wants vectors made, once it is sure that they can be, before any work is done; None for none.

    Args:
        folder: the knowledge base.
        agree: whether many texts may be sent to a server; None for no.

    Raises:
        ConfigError: there is no such encoder, model or index; names those that there are.
        MissingExtraError: a package is not installed.
        EncoderError: the model cannot be fetched.
        HybridkgError: the index cannot be built now.
    """
    config, place = folder.config, str(folder.path / "kb.toml")
    name, _, model = config.encoder.partition(":")
    if config.encoder == NO_ENCODER:
        return None
    made = _known(ENCODERS, name, place, NO_ENCODER)
    if made.takes_model != bool(model):
        raise ConfigError(
            f"the encoder {name!r} takes {'a' if made.takes_model else 'no'} model",
            hint=f'encoder = "{name}:MODEL", the name of a model or the path of its folder'
            if made.takes_model
            else f'encoder = "{name}"',
            place=place,
        )
    own = config.encoding
    if own.what == "chunks" and own.unit == "tokens" and not made.has_tokens:
        raise ConfigError(
            f"the encoder {name!r} has no tokens to measure chunks in",
            hint='unit = "characters" in the table [vectors]',
            place=place,
        )
    choice = ModelChoice(
        model,
        folder.path,
        own.device,
        own.batch,
        own.max_length,
        own.query_prompt,
        own.passage_prompt,
        own.url,
        own.timeout,
        own.per_minute,
    )
    kind: EncoderKind = made(choice)
    index: VectorIndexKind = _known(VECTOR_INDEXES, config.vectors, place)(folder.path, config)
    try:
        kind.settled_name()
        index.ready()
    except ConfigError as e:
        e.place = e.place or place
        raise
    return Vectorising(name, kind, config.vectors, index, folder.path / VECTOR_WORK, own, agree)


def _known(registry: Registry, name: str, place: str, *others: str) -> Any:
    """What kb.toml names."""
    try:
        return registry.get(name)
    except UnknownNameError as e:
        known = ", ".join([*others, *registry.names()])
        raise ConfigError(f"no {registry.kind} {name!r}; known: {known}", hint=e.hint, place=place) from None


def configured_synonyms(folder: Folder) -> Synonyms:
    """The synonyms that kb.toml names, which the next index will keep.

    Raises:
        ConfigError: the file cannot be read, or is no file of synonyms; or the text engine cannot use any.
    """
    config = folder.config
    if not config.synonyms:
        return NO_SYNONYMS
    engine = TEXT_ENGINES.get(config.text)
    if engine.analyzes_natively(config):
        raise ConfigError(
            f"synonyms are for hybridkg's own analyzers, and this knowledge base uses {engine.title}'s",
            hint=f"{engine.native_analysis.remedy}, or no 'synonyms'",
            place=str(folder.path / "kb.toml"),
        )
    return read_synonyms(folder.path / config.synonyms)


def synonyms_state(folder: Folder, text_folder: Path) -> dict[str, Any]:
    """What `stats` says of the synonyms of an index, and whether the file that kb.toml names says the same by now.

    Args:
        folder: the knowledge base.
        text_folder: of the index.
    """
    if not text_folder.is_dir():
        return {}
    kept = stored_synonyms(text_folder)
    try:
        given = configured_synonyms(folder)
    except ConfigError as e:
        return {"synonyms": {"rules": len(kept.rules), "state": f"{e.message} ({e.place})"}}
    if not kept.rules and not given.rules:
        return {}
    state = AS_INDEXED if kept == given else "the file has changed since the index was built"
    return {"synonyms": {"rules": len(kept.rules), "state": state}}


def _index(
    building: Building,
    folder: Folder,
    profile: Profile,
    engine: tuple[str, TextEngine],
    synonyms: Synonyms,
    vectors: Vectorising | None,
    progress: Progress,
    loaded: ProjectionBuilder | None = None,
) -> dict[str, Any]:
    """Reads the graph of the generation in the making, so it sees what this very step has loaded."""
    if vectors is not None and building.previous.is_intact(VECTORS):
        previous = building.previous.path / VECTORS
        with suppress(CorruptError):  # of a kind that is not installed any more
            before: VectorIndexKind = VECTOR_INDEXES.get(kind_of(previous))(folder.path, folder.config)
            vectors = replace(vectors, previous=previous, before=before)
    elsewhere = folder.config.graph != EMBEDDED
    with ExitStack() as stack:
        if elsewhere:
            loaded = stack.enter_context(copying(building.path, union_default_graph=False, stored=False))
            found = _exported(building, folder, loaded, progress)
        else:
            building.compact_graph()
        counts = _build(building, folder, profile, engine, synonyms, vectors, progress, loaded)
        if elsewhere:
            building.exported({"graph": folder.config.graph, **found.to_json()})
            counts["exported"] = found.triples
    return counts


def _exported(building: Building, folder: Folder, copy: ProjectionBuilder, progress: Progress) -> Exported:
    """Brings the graph from the endpoint into the generation in the making, to be indexed there.

    Raises:
        EndpointError: it cannot be copied; what has been copied stays for the next try.
    """
    config = folder.config
    connection = Connection(config.graph, config.endpoint)
    found = Export(connection, folder.path / GRAPH_WORK, config.endpoint.page, progress).run()
    building.documents_loaded = 0  # the blank nodes of the same graph get the same names
    load_sources(building, found.files, progress, also=copy.add)
    return found


def _build(
    building: Building,
    folder: Folder,
    profile: Profile,
    engine: tuple[str, TextEngine],
    synonyms: Synonyms,
    vectors: Vectorising | None,
    progress: Progress,
    loaded: ProjectionBuilder | None,
) -> dict[str, Any]:
    """The indexes of the graph that lies in the generation in the making."""
    documents_folder = building.path / "documents"
    if not documents_folder.exists():
        documents_folder = building.previous.documents
    documents = Documents.open(documents_folder) if documents_folder.is_dir() else None
    union = folder.config.default_graph == "union"
    store = OxigraphStore.open(building.path / "graph", union_default_graph=union)
    counts = build_indexes(
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
    building.built("text", engine[1].name_of(building.path / "text"))
    if "vectors" in counts:
        building.built(VECTORS, folder.config.vectors)
    stays = folder.config.graph == EMBEDDED or folder.config.endpoint.projection != "none"
    projection = build_projection(building.path, store, progress, union_default_graph=union, loaded=loaded, stays=stays)
    if "note" in projection:
        return {**counts, "notes": [*counts["notes"], projection["note"]]} if stays else counts
    if stays:
        building.built(PROJECTION, EMBEDDED)
    return counts
