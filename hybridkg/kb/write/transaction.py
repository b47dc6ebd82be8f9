"""Write transactions: each makes one new generation of a knowledge base, or none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from hybridkg.config.settings import EMBEDDED
from hybridkg.entities.documents.document_store import check_document_files
from hybridkg.entities.documents.load_documents import adding
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import ConfigError, LoadWarning, PrefixWarning, UserError
from hybridkg.interfaces.encoder import ConfirmUpload
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.statement_source import StatementSource
from hybridkg.kb.snapshot import VECTORS
from hybridkg.kb.write.build_projection import copying
from hybridkg.kb.write.configured import text_engine
from hybridkg.kb.write.hidden_graphs import in_hidden_graphs
from hybridkg.kb.write.index_step import IndexStep
from hybridkg.kb.write.reports import IndexReport, LoadReport
from hybridkg.rdf.known_prefixes import MAX_KEPT
from hybridkg.store.endpoint.export import WORK as GRAPH_WORK
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.kept_prefixes import PrefixClash
from hybridkg.store.generations.next_generation import Building
from hybridkg.store.loading import Source, check_sources, name_of_source
from hybridkg.store.loading import load as load_sources

if TYPE_CHECKING:
    from hybridkg.graph.build.builder import ProjectionBuilder

TEXT_INDEX = ("nodes", "text", VECTORS)
"""Parts that an index step builds, and a load without an index step links."""


def load(
    folder: Folder,
    inputs: Sequence[Source],
    texts: Sequence[Path],
    profile: Profile | None,
    progress: Progress,
    confirm: ConfirmUpload | None = None,
    wait: float = 0.0,
) -> LoadReport:
    """Adds RDF and text documents in one generation; with a profile, indexes it as well.

    Raises:
        LoadError: an input is malformed; nothing has changed.
    """
    check_sources(inputs)
    check_document_files(texts)
    refuse_at_endpoint(folder, inputs)
    step = None if profile is None else IndexStep.of(folder, profile, confirm)
    with ExitStack() as stack:
        if step is not None:
            stack.enter_context(step.guarded())
        building = stack.enter_context(folder.building(progress, wait))
        _settle_graph(building, folder)
        previous = building.previous.documents
        finish_documents = stack.enter_context(
            adding(texts, previous if previous.is_dir() else None, building.path / "documents", beside=bool(inputs))
        )
        copy: ProjectionBuilder | None = None
        if step is not None:
            step.begin()
            if inputs and not building.counts["quads"]:  # otherwise the new statements are only a part of the graph
                union = folder.config.default_graph == "union"
                copy = stack.enter_context(copying(building.path, union_default_graph=union, stored=False))
        loaded = load_sources(building, inputs, progress, also=copy.add if copy else None) if inputs else []
        documents, built = None, None
        if texts:
            building.changed("documents")
            documents = sum(count.documents for count in finish_documents(progress))
        if step is None:
            for name in TEXT_INDEX:
                building.keep(name)
        else:
            built = step.run(building, progress, copy)
    rmtree(folder.path / GRAPH_WORK, ignore_errors=True)
    return LoadReport(
        sum(one.statements for one in loaded),
        sum(one.new for one in loaded),
        documents,
        built,
        (
            *warnings_of((source, count.statements) for source, count in zip(inputs, loaded, strict=bool(loaded))),
            *prefix_warnings(building.prefixes.clashes),
        ),
        is_behind=built is None,
        in_named_graphs=in_hidden_graphs(folder.config, (), loaded),
        folder=str(folder.path),
    )


def warnings_of(counts: Iterable[tuple[Source, int]]) -> tuple[LoadWarning, ...]:
    """A warning for each file of 0 statements: a download that failed, perhaps, or an export of nothing."""
    return tuple(
        LoadWarning(
            f"no statement in {name_of_source(source)!r}",
            hint="nothing of it was added; check that it is the file you meant",
        )
        for source, statements in counts
        if isinstance(source, str | Path | StatementSource) and not statements
    )


MAX_CLASHES = 5
"""Prefixes with two namespaces that are reported one by one."""


def prefix_warnings(clashes: Sequence[PrefixClash]) -> Iterator[LoadWarning]:
    """A warning for each prefix of an input that is not kept, and one for the rest of many."""
    for one in clashes[:MAX_CLASHES]:
        if not one.kept:
            yield PrefixWarning(
                f"{one.source!r} declares {one.prefix + ':'!r}, but {MAX_KEPT:,} prefixes are kept already",
                hint=f"declare it in each query: PREFIX {one.prefix}: <{one.namespace}>",
            )
            continue
        yield PrefixWarning(
            f"{one.source!r} declares {one.prefix + ':'!r} as <{one.namespace}>, but in queries it is <{one.kept}>",
            hint=f"the first one loaded is kept; to change it: hybridkg prefixes KB --add {one.prefix}={one.namespace}",
        )
    if len(clashes) > MAX_CLASHES:
        yield PrefixWarning(f"{len(clashes) - MAX_CLASHES:,} more prefixes are not kept as the inputs declare them")


def index(
    folder: Folder, profile: Profile, progress: Progress, confirm: ConfirmUpload | None = None, wait: float = 0.0
) -> IndexReport:
    """Builds the node table and every index again, in a generation with the same graph and documents."""
    step = IndexStep.of(folder, profile, confirm)
    with step.guarded(), folder.building(progress, wait) as building:
        step.begin()
        _settle_graph(building, folder)
        built = step.run(building, progress)
    rmtree(folder.path / GRAPH_WORK, ignore_errors=True)
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


def refuse_at_endpoint(folder: Folder, inputs: Sequence[object]) -> None:
    """Raises UserError for RDF inputs if the graph is at an endpoint, which hybridkg never changes."""
    graph = folder.config.graph
    if inputs and graph != EMBEDDED:
        raise UserError(
            f"the graph of {str(folder.path)!r} lies at {graph}, and hybridkg only reads there",
            hint=f"change it there, then: hybridkg index {folder.path}; or use another knowledge base",
        )


def publish(folder: Folder) -> None:
    """Publishes the text index of the live generation for other programs; queries do not need this.

    Raises:
        TextServerError: its server does not answer.
    """
    text_engine(folder)[1].publish(folder.path / folder.live_name() / "text")
