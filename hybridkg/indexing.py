"""Builds the node table and the text index of a generation from its graph and its documents."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, cast

from hybridkg.config import EncodingSettings
from hybridkg.entities.documents import Documents
from hybridkg.entities.doubts import doubts
from hybridkg.entities.extract import Extraction, extract
from hybridkg.entities.fields import Profile
from hybridkg.entities.pieces import cutting
from hybridkg.entities.table import NodeTable
from hybridkg.entities.verbalised import Batch, Cut, verbalised
from hybridkg.errors import ParameterError
from hybridkg.interfaces.encoder import Agree, Encoder, EncoderKind, Sending, Tokenising
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import ENGINE_FILE, Taker, TextEngine
from hybridkg.interfaces.text_index import IndexedField
from hybridkg.interfaces.vector_index import ENCODER, INDEX_FILE, Encoded, KnownVectors, VectorIndexKind
from hybridkg.kb.snapshot import PROFILE_FILE, VECTORS
from hybridkg.rdf.terms import Literal
from hybridkg.store.durable import link_tree
from hybridkg.text.synonyms import FILE as SYNONYMS_FILE
from hybridkg.text.synonyms import NO_SYNONYMS, Synonyms

if TYPE_CHECKING:
    from hybridkg.graph.building import ProjectionBuilder
    from hybridkg.vector.kept import Log

PROJECTION = "projection"
"""In a generation: the folder, and the name of the index."""

PROJECTION_WORK = "projection.tmp"

ENCODED_AT_ONCE = 64
"""Texts between two reports of progress; an interrupted run loses at most so many."""


@dataclass(frozen=True)
class Vectorising:
    """How the vectors of a knowledge base are made.

    Args:
        encoder: a name of ENCODERS.
        kind: of that name.
        name: of the kind of index, in VECTOR_INDEXES.
        index: builds it.
        work: the folder in which an interrupted run has left some vectors, and this one may.
        encoding: what gets a vector.
        agree: whether many texts may be sent to a server; None for no.
        previous: the folder of the live vectors, where they are undamaged.
        before: the kind of these.
    """

    encoder: str
    kind: EncoderKind
    name: str
    index: VectorIndexKind
    work: Path
    encoding: EncodingSettings
    agree: Agree | None = None
    previous: Path | None = None
    before: VectorIndexKind | None = None

    def cut(self, encoder: Callable[[], Encoder]) -> Cut:
        """How texts are cut; the encoder is asked for where it has to measure them."""
        in_tokens = self.encoding.what == "chunks" and self.encoding.unit == "tokens"
        return cutting(self.encoding, cast(Tokenising, encoder()).token_starts if in_tokens else None)


class Source:
    """The text of a generation, for a text engine to index; writes `nodes.*` on the way.

    Args:
        folder: the generation's folder.
        profile: the fields, before those that only the documents have.
        store: the graph.
        documents: text that is not in the graph.
        progress: told about rows read.
        union_default_graph: how the store shows the graph.
        keeps: whether what has been read stays, as `found`, for the vectors.
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
        self.found: Extraction | None = None

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """What the index stores, in the profile's order."""
        return self.profile.indexed_fields()

    @property
    def filters(self) -> tuple[str, ...]:
        """IRIs of the predicates whose values an engine may store beside the text."""
        return self.profile.filters

    def extract(self, early: Taker | None = None) -> Extraction:
        """Reads everything."""
        self._progress.start("reading text from the graph", None)
        found = extract(self.profile, self._store, self._documents, lambda rows: self._progress.advance(0, rows), early)
        self._progress.done(len(found.nodes))
        NodeTable.write(self._folder, found.nodes)
        if self._keeps:
            self.found = found
        return found


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
) -> dict[str, Any]:
    """Writes `nodes.*`, `text/` and, where they are wanted, `vectors/` into a generation that is being built.

    Args:
        folder: the generation's folder; holds neither yet.
        profile: the fields, before those that only the documents have.
        store: the graph.
        documents: text that is not in the graph.
        engine: name and engine that builds the text index.
        progress: told about rows read and entities indexed.
        union_default_graph: how the store shows the graph.
        synonyms: what the queries of the index use.
        vectors: how vectors are made; None for no vectors.

    Returns:
        Counts: entities, fields, terms, postings, tokens, text_bytes; `vectors` with those of the vectors; and
        `notes`, sentences about what of the profile has found nothing.
    """
    text_folder = folder / "text"
    text_folder.mkdir()
    keeps = vectors is not None
    source = Source(folder, profile, store, documents, progress, union_default_graph=union_default_graph, keeps=keeps)
    name, builder = engine
    with _collector_paused():
        counts: dict[str, Any] = builder.build(text_folder, source, progress)
    if source.found is not None and vectors is not None:
        counts["vectors"] = build_vectors(folder / VECTORS, vectors, source.found, progress)
    (text_folder / PROFILE_FILE).write_text(source.profile.to_json(), encoding="utf-8")
    (text_folder / ENGINE_FILE).write_text(f"{name}\n", encoding="ascii")
    if synonyms.rules:
        (text_folder / SYNONYMS_FILE).write_text(synonyms.text(), encoding="utf-8")
    index = builder.open(text_folder)
    empty = [name for name in index.fields if not index.field_totals(name)["entities"]]
    return {"fields": len(source.fields), **counts, "notes": doubts(source.profile, store, empty)}


def build_vectors(folder: Path, wanted: Vectorising, found: Extraction, progress: Progress) -> dict[str, Any]:
    """Writes a vector of every entity that has text, or of each piece of it, into a new folder; texts that have one
    already are not encoded.

    Args:
        folder: does not exist yet.
        wanted: how they are made.
        found: the text.
        progress: told about texts that are encoded.

    Returns:
        Counts: kind, encoder, dimensions, entities; and `encoded`, where vectors can be used again.
    """
    from hybridkg.vector.kept import Log, hashes

    fields = len(found.fields)

    own = folder / ENCODER
    settled = wanted.kind.settled_name()
    known = wanted.before.known(wanted.previous, settled) if settled and wanted.previous and wanted.before else None
    count = len(found.nodes)
    if known is not None and wanted.previous is not None:
        folder.mkdir()
        link_tree(wanted.previous / ENCODER, own)
        cut = wanted.cut(lambda: wanted.kind.open(own))
        count = sum(int((known.places(hashes(some.texts)) < 0).sum()) for some in verbalised(found, fields, cut))
    else:
        own.mkdir(parents=True)
    encoder = wanted.kind.prepare(own, lambda: (some.texts for some in verbalised(found, fields)), count, progress)
    cut = wanted.cut(lambda: encoder)
    if known is None and wanted.encoding.what != "entity":
        count = sum(len(some.ids) for some in verbalised(found, fields, cut))
    encoded = 0
    with ExitStack() as stack:
        sources: list[KnownVectors] = [] if known is None else [known]
        log = stack.enter_context(Log(wanted.work, settled, encoder.dimensions)) if settled else None
        if wanted.kind.is_billed and log is not None:
            _agreed(wanted, [*sources, log.known], verbalised(found, fields, cut))

        def batches() -> Iterator[Encoded]:
            nonlocal encoded
            progress.start("encoding entities", count)
            for batch in verbalised(found, fields, cut):
                n, made = _encoded(encoder, batch, sources, log, progress)
                encoded += n
                yield made
            progress.done(encoded)

        counts = wanted.index.build(folder, encoder, wanted.encoder, batches(), progress, hashed=bool(settled))
    (folder / INDEX_FILE).write_text(f"{wanted.name}\n", encoding="ascii")
    return {**counts, "encoded": encoded} if settled else counts


def _agreed(wanted: Vectorising, known: Sequence[KnownVectors], batches: Iterator[Batch]) -> None:
    """Raises ParameterError: many texts would go to a server, and nobody has said that they may."""
    from hybridkg.vector.kept import hashes

    count = characters = 0
    for batch in batches:
        keys = hashes(batch.texts)
        has = [places for source in known for places in (source.places(keys) >= 0,)]
        for i, text in enumerate(batch.texts):
            if not any(places[i] for places in has):
                count, characters = count + 1, characters + len(text)
    sending = Sending(count, characters, wanted.encoding.batch, wanted.encoding.url)
    if sending.is_large and not (wanted.agree is not None and wanted.agree(sending)):
        raise ParameterError(
            f"to make the vectors sends {sending}, and nothing has agreed to that",
            hint="hybridkg index KB --yes; in Python, index(agree=lambda sending: True)",
        )


def _encoded(
    encoder: Encoder, batch: Batch, sources: Sequence[KnownVectors], log: Log | None, progress: Progress
) -> tuple[int, Encoded]:
    """How many texts of a batch have been encoded, and the vectors of all."""
    import numpy as np

    from hybridkg.vector.flat_files import check_vectors
    from hybridkg.vector.kept import hashes

    texts = batch.texts
    vectors = np.zeros((len(texts), encoder.dimensions), np.float32)
    missing, keys = np.ones(len(texts), bool), None
    if log is not None:
        keys = hashes(texts)
        for source in (*sources, log.known):
            missing[missing] = ~source.fill(keys, vectors, missing)
    # Texts of about one length are encoded together: where they are padded, little is.
    order = sorted(np.flatnonzero(missing).tolist(), key=lambda i: len(texts[i]))
    for first in range(0, len(order), ENCODED_AT_ONCE):
        some = order[first : first + ENCODED_AT_ONCE]
        vectors[some] = encoder.passages([texts[i] for i in some])
        check_vectors(vectors[some], encoder)
        if log is not None and keys is not None:
            log.append(keys[some], vectors[some])
        progress.advance(len(some), len(some))
    return len(order), Encoded(np.array(batch.ids, np.uint32), vectors, keys, np.array(batch.spans, np.uint32))


@contextmanager
def copying(folder: Path, *, union_default_graph: bool, stored: bool) -> Iterator[ProjectionBuilder]:
    """A builder of the projection of a generation, whose temporary files go at the end.

    Args:
        folder: of the generation.
        union_default_graph: how the store shows the graph.
        stored: the statements come from the store, so their literals have its form.
    """
    from hybridkg.graph.building import ProjectionBuilder

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
    """Writes `projection/` and its statistics into a generation whose `nodes.*` are there.

    Args:
        folder: of the generation.
        store: the graph.
        progress: told about triples read.
        union_default_graph: how the store shows the graph.
        loaded: a builder that has got all statements while they were loaded; otherwise the store is read.
        stays: whether the projection does, or its statistics alone.

    Returns:
        Counts; or only `note`, why the graph can have no projection.
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
    """Writes the statistics of the projection of a generation."""
    from hybridkg.graph.stored import open_columns
    from hybridkg.statistics.catalog import write_statistics
    from hybridkg.statistics.collect import collect

    columns = open_columns(folder / PROJECTION, nodes, union_default_graph=union_default_graph)
    write_statistics(folder, collect(columns, progress))


def _read_store(store: GraphStore, builder: ProjectionBuilder, progress: Progress) -> None:
    """Predicate by predicate: the rows of a query are read in threads, and have one term less to write and to read.

    The largest come first, so that the threads end together.
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


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Indexing makes millions of objects that live to its end and no cycles; to look for cycles costs a fifth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
