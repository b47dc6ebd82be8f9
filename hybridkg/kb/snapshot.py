"""A snapshot: one generation of a knowledge base, opened for reading."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from hybridkg.compute.kernels import load_for_queries
from hybridkg.config.model_parameters import folders_of
from hybridkg.config.run_settings import quarter_of_memory
from hybridkg.config.settings import Config
from hybridkg.entities.node_table import NodeTable
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import CorruptError, IndexCorruptError
from hybridkg.interfaces.encoder import ENCODERS
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.interfaces.graph_store import GraphStore, RemoteStore
from hybridkg.interfaces.ranked_index import RankedIndex
from hybridkg.interfaces.reranker import RerankPlace
from hybridkg.interfaces.statistics import GraphStatistics
from hybridkg.interfaces.text_engine import TEXT_ENGINES, engine_name
from hybridkg.interfaces.text_index import TextIndex
from hybridkg.interfaces.vector_index import VECTOR_INDEXES, VectorIndex, encoded_fields, kind_of
from hybridkg.kb.data_warnings import Advisor
from hybridkg.kb.lazy_linker import LazyLinker
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.expressions import holds
from hybridkg.planner.calibration.calibrated_costs import CalibratedCosts
from hybridkg.planner.cost_model import CostModel, remote_costs
from hybridkg.planner.plan_template import PlanTemplate
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query import ast
from hybridkg.rdf.known_prefixes import KnownPrefixes, known_prefixes, why_not_kept
from hybridkg.rdf.terms import NamedNode, Node, Quad, Triple
from hybridkg.storage.durable import entries_below
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.generation import Generation
from hybridkg.store.generations.manifest import TEXT_FILES
from hybridkg.store.graph_location import graph_just_written, lies_at, open_graph
from hybridkg.store.oxigraph import OxigraphStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hybridkg.asking.base import AskedBase
    from hybridkg.entities.documents.document_store import Documents
    from hybridkg.entities.passage_texts import EntityTexts
    from hybridkg.graph.columns import ProjectionColumns
    from hybridkg.graph.statistics.catalog import Statistics
    from hybridkg.kb.reading import ReadableKnowledgeBase

_log = logging.getLogger(__name__)

PROFILE_FILE = "profile.json"
"""The resolved profile of a text index, in its folder."""

VECTORS = "vectors"
"""The folder of the vectors in a generation, and the name of the index."""


@dataclass(frozen=True)
class Snapshot:
    """The immutable state that queries read; threads share it.

    Args:
        generation: the files.
        store: the graph.
        documents: text that is not in the graph; None where none was loaded.
        text: the text index, with `nodes` and `profile`; None before the first index step.
        union_default_graph: whether a query outside GRAPH sees the union of all graphs, or the default graph only.
        config: settings of the knowledge base when the snapshot was opened.
    """

    generation: Generation
    store: GraphStore
    documents: Documents | None
    text: TextIndex | None
    nodes: NodeTable | None
    profile: Profile | None
    union_default_graph: bool = False
    config: Config = field(default_factory=Config)

    @classmethod
    def open(cls, folder: Folder) -> Self:
        """Opens the live generation.

        Raises:
            CorruptError: a file is missing or damaged.
            IndexCorruptError: a file of the text index is.
        """
        return cls.of(folder.current(), folder)

    @classmethod
    def of(cls, generation: Generation, folder: Folder, store: GraphStore | None = None) -> Self:
        """Opens a generation of a folder, whose graph may be open, or opens later; raises as `open` does."""
        config = folder.config
        generation.check_opened("graph/")
        if store is not None:
            return cls._with_indexes(generation, folder, config, lambda: store)
        with ThreadPoolExecutor(1, "hybridkg-open") as beside:  # Oxigraph takes as long as all else
            opening = beside.submit(open_graph, generation, config)
            try:
                return cls._with_indexes(generation, folder, config, opening.result)
            except Exception:
                opening.result()  # its error comes first
                raise

    @classmethod
    def _with_indexes(
        cls, generation: Generation, folder: Folder, config: Config, opened: Callable[[], GraphStore]
    ) -> Self:
        """Opens the indexes, and then takes the graph."""
        union = config.default_graph == "union"
        documents = _documents(generation)
        text_folder = generation.path / "text"
        if not text_folder.is_dir() or lies_at(generation) != config.graph:
            return cls(generation, opened(), documents, None, None, None, union, config)
        try:
            generation.check_opened(*TEXT_FILES)
            nodes = NodeTable.open(generation.path)
            engine = TEXT_ENGINES.get(engine_name(text_folder))(folder.path, config)
            text = engine.open(text_folder, nodes.rank, fresh="text" not in generation.behind())
            profile = read_profile(text_folder)
        except CorruptError as e:
            raise IndexCorruptError(e.message, hint=e.hint, place=e.place) from e
        store = opened()
        text.linker = LazyLinker(store, nodes, text, profile, documents, folders_of(folder.path))
        return cls(generation, store, documents, text, nodes, profile, union, config)

    @cached_property
    def prefixes(self) -> KnownPrefixes:
        """The prefixes that queries need not declare; the backup of somebody else may have some that none can use."""
        kept = self.generation.manifest.prefixes.items()
        return known_prefixes({name: namespace for name, namespace in kept if not why_not_kept(name, namespace)})

    @cached_property
    def projection(self) -> ProjectionColumns | None:
        """The columns of the projection; None where queries cannot use them, for the reason in `projection_state`."""
        return self._projection[0]

    @cached_property
    def projection_state(self) -> dict[str, Any]:
        """Counts of the projection, or why there is none; for `stats`."""
        return self._projection[1]

    @cached_property
    def _projection(self) -> tuple[ProjectionColumns | None, dict[str, Any]]:
        from hybridkg.graph.stored_projection import FOLDER, about, open_columns

        folder = self.generation.path / FOLDER
        if self.nodes is None or not folder.is_dir() or FOLDER in self.generation.behind():
            if self.endpoint and self.config.endpoint.projection == "none":
                return None, {"state": "none, as kb.toml says: every pattern goes to the endpoint"}
            return None, {"state": "none; hybridkg index builds it"}
        union = self.union_default_graph
        try:
            self.generation.check_opened(f"{FOLDER}/")
            columns = open_columns(folder, self.nodes, union_default_graph=union)
            header = about(folder)
        except CorruptError as e:
            _log.warning(
                "the projection of the graph cannot be used, and queries are slower (%s); hybridkg index "
                "builds it again",
                e.message,
            )
            return None, {"state": f"not used: {e.message}; hybridkg index builds it again"}
        size = sum(file.stat().st_size for file in entries_below(folder))
        literals = columns.terms.n_terms - columns.terms.n_nodes - len(columns.terms.gone)
        counts = {"triples": header["triples"], "nodes": header["n_nodes"]}
        return columns, {**counts, "literals": literals, "bytes": size, "state": "ready"}

    @cached_property
    def graph(self) -> GraphIndex | None:
        """The projection as a graph index; None where queries cannot use it."""
        columns = self.projection
        if columns is None:
            return None
        from hybridkg.graph.projection import Projection

        return Projection(columns, lambda expression, values: holds(expression, values, scratch))

    def warm_up(self) -> None:
        """Opens the indexes, reads the projection into memory, and loads the kernels of queries.

        A projection of more than a quarter of the machine's memory stays on disk until queries need its pages.
        """
        _ = self.graph, self.ranked  # their modules declare the kernels
        if self.projection is not None:
            self.projection.populate(quarter_of_memory() * 10**6)
        load_for_queries()

    @cached_property
    def ranked(self) -> RankedIndex | None:
        """The text index together with the vectors, if any; None before the first index step."""
        if self.text is None:
            return None
        from hybridkg.vector.index.text_and_vectors import Ranked

        return Ranked(self.text, self.vectors, self.config.encoder)

    @property
    def vectors(self) -> VectorIndex | None:
        """The vector index; None where queries cannot use it, for the reason in `vectors_state`."""
        return self._vectors[0]

    @property
    def vectors_state(self) -> dict[str, Any]:
        """Counts of the vectors, or why there are none; for `stats`."""
        index, state = self._vectors
        if index is None:
            return {"state": state}
        note = {"note": f"{self._other_encoder}; hybridkg index encodes them again"} if self._other_encoder else {}
        chosen = {"fields": ", ".join(self.encoded_fields)} if self.encoded_fields else {}
        return {**index.about(), **chosen, "state": state, **note}

    @cached_property
    def encoded_fields(self) -> tuple[str, ...]:
        """The fields whose text has vectors, in the order of the profile; empty for all, and without usable vectors."""
        if self.ranked is None or self.vectors is None:
            return ()
        return encoded_fields(self.generation.path / VECTORS)

    @property
    def _other_encoder(self) -> str:
        """A sentence, if another kind of encoder made the vectors than kb.toml names now; otherwise empty."""
        index, wanted = self.vectors, self.config.encoder
        kind = "" if index is None else index.made_by.partition("/")[0]
        if not ENCODERS.is_builtin(kind) or wanted.partition(":")[0] == kind:
            return ""
        return f'they were made by "{kind}", and kb.toml now has encoder = "{wanted}"'

    @cached_property
    def _vectors(self) -> tuple[VectorIndex | None, str]:
        folder = self.generation.path / VECTORS
        if self.nodes is None or not folder.is_dir():
            return None, "none; where kb.toml names an encoder, hybridkg index builds them"
        try:
            self.generation.check_opened(f"{VECTORS}/")
            kind = VECTOR_INDEXES.get(kind_of(folder))(self.generation.path.parent, self.config)
            index: VectorIndex = kind.open(folder, self.nodes.find, self.nodes.rank)
        except CorruptError as e:
            _log.warning(
                "the vectors cannot be used, NEAR finds none (%s); hybridkg index builds them again", e.message
            )
            return None, f"not used: {e.message}; hybridkg index builds them again"
        return index, "ready"

    @cached_property
    def statistics(self) -> Statistics | None:
        """Statistics of the graph; None where they are missing or damaged, since no query needs them."""
        try:
            return self.read_statistics()
        except CorruptError:
            return None

    def read_statistics(self) -> Statistics | None:
        """Statistics of the graph that was indexed; None where it was not, or is not the one of kb.toml.

        Raises:
            CorruptError: their file is damaged.
        """
        from hybridkg.graph.statistics.catalog import FILE, read_statistics

        if self.projection is None and not (self.endpoint and self._is_of_this_graph):
            return None
        self.generation.check_opened(FILE)
        return read_statistics(self.generation.path)

    @cached_property
    def costs(self) -> CalibratedCosts:
        """Unit costs on this machine."""
        folder = self.generation.path
        engine = TEXT_ENGINES.default if self.text is None else engine_name(folder / "text")
        export = self.generation.manifest.endpoint
        remote: dict[str, float] = {}
        if self.endpoint and self._is_of_this_graph:
            remote = remote_costs(export["round_trip_us"], export["row_us"])
        return CalibratedCosts.open(folder.parent, engine, remote=remote)

    @property
    def cost(self) -> CostModel:
        """Unit costs of this moment: the round trip of an endpoint is at most the one that was last measured."""
        if (store := self.remote_store) is not None:
            self.costs.at_most(remote_costs(store.trip_us, self.costs.model.us_per_store_row))
        return self.costs.model

    @cached_property
    def advisor(self) -> Advisor:
        """Warnings about names and texts that do not occur."""
        if not self.endpoint:  # a request to a local store is faster than reading statistics
            return Advisor(
                self.store, self.text, self.quads, self.vectors, other_encoder=self._other_encoder, graph=self.graph
            )

        def counted(kind: str, iri: str) -> bool:
            found = self.statistics
            return found is not None and (iri in found.classes if kind == "class" else found.predicate(iri) is not None)

        return Advisor(self.store, self.text, self.quads, self.vectors, counted, self._other_encoder, self.graph)

    @cached_property
    def endpoint(self) -> str:
        """Address of the SPARQL endpoint that has the graph, without credentials; empty for a local graph."""
        return self.store.url

    @property
    def _is_of_this_graph(self) -> bool:
        """Whether the indexes were built from the graph that kb.toml names."""
        return lies_at(self.generation) == self.config.graph

    @property
    def endpoint_state(self) -> dict[str, Any]:
        """Address and export of the endpoint, for `stats`; empty for a local graph."""
        if not self.endpoint:
            return {}
        export = self.generation.manifest.endpoint
        if not self._is_of_this_graph:
            return {"endpoint": {"url": self.endpoint, "state": "not exported; hybridkg index does"}}
        about: dict[str, Any] = {"url": self.endpoint, "exported": export["at"]}
        about |= {"longest_answer": export["longest"]} | ({"answers": "cut there"} if export["is_capped"] else {})
        return {"endpoint": {**about, "round_trip_ms": export["round_trip_us"] / 1e3, "state": "asked"}}

    @property
    def quads(self) -> int:
        """Quads of the graph; of an endpoint, as counted when it was exported."""
        return self.generation.manifest.counts["quads"] if self._is_of_this_graph else 0

    @cached_property
    def _rerank_place(self) -> RerankPlace:
        return RerankPlace(folders_of(self.generation.path.parent), self.config.reranking)

    def context(self) -> ExecutionContext:
        """A new execution context for one run."""
        price = self.cost.price
        return ExecutionContext(
            self.store,
            self.ranked,
            self.nodes,
            self.texts,
            scratch,
            graph=self.graph,
            price=price,
            reranking=self._rerank_place,
            encoded_fields=self.encoded_fields,
            anchors=self.anchors,
            question=self.question,
        )

    def planning(self, values: tuple[ast.Value, ...] = (), template: PlanTemplate | None = None) -> PlannerContext:
        """A new planner context for one query; with a template, for some values of its parameters."""
        template = PlanTemplate() if template is None else template
        store, statistics = self.remote_store, self.far_statistics
        return PlannerContext(
            self.graph,
            self.ranked,
            self.cost,
            store,
            statistics,
            repeats_triples=self._repeats_triples,
            values=values,
            template=template,
        )

    @cached_property
    def _repeats_triples(self) -> bool:
        if not self.union_default_graph or self.projection is None:
            return False
        return bool(self.projection_state["triples"] < self.quads)

    @cached_property
    def remote_store(self) -> RemoteStore | None:
        """The store, if it is an endpoint: the planner samples prefixes of patterns there."""
        return cast(RemoteStore, self.store) if self.endpoint else None

    @cached_property
    def far_statistics(self) -> GraphStatistics | None:
        """Statistics for the planner where the graph is at an endpoint and has no projection, which is more precise."""
        return self.statistics if self.endpoint and self.projection is None else None

    def texts(self, nodes: Sequence[Node], fields: Sequence[str] = ()) -> list[list[tuple[str, str, str]]]:
        """(field, text, language) of the indexed texts of each entity."""
        return [[] for _ in nodes] if self._entity_texts is None else self._entity_texts.of(nodes, fields)

    @cached_property
    def _entity_texts(self) -> EntityTexts | None:
        if self.profile is None:
            return None
        from hybridkg.entities.passage_texts import EntityTexts

        return EntityTexts(self.profile, self.store, self.documents, self.graph)

    @cached_property
    def asked(self) -> AskedBase:
        """The schema as the interpretation of questions reads it; raises as `kb.asked_base` does."""
        from hybridkg.kb.asked_base import asked_base

        return asked_base(self)

    def anchors(self, question: str) -> tuple[NamedNode, ...]:
        """The nodes that a question names, most certain first; raises as `asked` does, and if it is too long."""
        from hybridkg.asking.anchors import named_nodes

        return named_nodes(question, self.asked)

    def question(self, question: str, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """float64[ids, QUESTION_FEATURES] of a question and nodes (asking/satisfied.py); raises as `anchors` does."""
        from hybridkg.asking.satisfied import question_columns

        return question_columns(question, ids, self.asked)

    def stats(self) -> dict[str, Any]:
        """Counts of the graph, the documents, the indexes and each field."""
        counts: dict[str, Any] = {
            "generation": self.generation.name,
            "triples": self.quads,
            "documents": 0 if self.documents is None else len(self.documents),
            "bytes": self.generation.bytes(),
            "stale_indexes": list(self.generation.behind()),
            **self.endpoint_state,
        }
        if self.text is None or self.profile is None:
            return {**counts, "entities": 0, "profile": None, "fields": []}
        fields = [
            {"field": f.name, "weight": f.weight, "b": f.b, **self.text.field_totals(f.name)}
            for f in self.profile.fields
        ]
        return {
            **counts,
            "entities": self.text.counts["entities"],
            "profile": self.profile.name,
            "text": self.text.about(),
            "vectors": self.vectors_state,
            "projection": self.projection_state,
            "fields": fields,
        }


def open_snapshot(folder: Folder, *, written: bool = False) -> tuple[Snapshot | None, IndexCorruptError | None]:
    """The snapshot, or the error of a damaged text index: a writer must be able to build it again.

    With `written`, this process has just made the generation, and its graph is opened at the first use.
    """
    try:
        generation = folder.current()
        store = graph_just_written(generation, folder.config) if written else None
        return Snapshot.of(generation, folder, store), None
    except IndexCorruptError as e:
        return None, e


def snapshot_of(kb: ReadableKnowledgeBase) -> Snapshot:
    """The snapshot of an open knowledge base, for packages that rank without a query; raises as a query does."""
    return kb._snapshot


def _documents(generation: Generation) -> Documents | None:
    if not generation.documents.is_dir():
        return None
    from hybridkg.entities.documents.document_store import Documents

    generation.check_opened("documents/")
    return Documents.open(generation.documents)


def scratch(triples: Iterable[Triple]) -> GraphStore:
    """A store in memory with these triples."""
    return OxigraphStore.memory(Quad(t.subject, t.predicate, t.object) for t in triples)


def read_profile(text_folder: Path) -> Profile:
    """The profile that a text index was built with.

    Raises:
        CorruptError: the file is missing or damaged.
    """
    try:
        text = (text_folder / PROFILE_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise CorruptError(
            f"cannot read {PROFILE_FILE!r} of the text index", hint="build the index again: hybridkg index KB"
        ) from e
    return Profile.from_json(text)
