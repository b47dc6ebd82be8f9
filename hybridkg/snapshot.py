"""One state of a knowledge base, opened for reading: a generation and everything in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hybridkg.advice import Advisor
from hybridkg.entities.fields import Profile
from hybridkg.entities.table import NodeTable
from hybridkg.errors import CorruptError, IndexCorruptError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.text_index import TextIndex
from hybridkg.model_parameters import folders_of
from hybridkg.operators.context import ExecutionContext
from hybridkg.rdf.terms import Node, Quad, Triple
from hybridkg.store.generation import Generation
from hybridkg.store.generations import Folder
from hybridkg.store.oxigraph import OxigraphStore

if TYPE_CHECKING:
    from hybridkg.entities.documents import Documents
    from hybridkg.interfaces.links import LinkedNode
    from hybridkg.linking.source import LinkSource

PROFILE_FILE = "profile.json"
"""In the folder of the text index: the profile it was built with, resolved."""

ENGINE_FILE = "engine"
"""Beside it: the name of the text engine that built the index; before there was a second, none was written."""


@dataclass(frozen=True)
class Snapshot:
    """What queries read; nothing in it ever changes, so threads share it.

    Args:
        generation: the state on disk.
        store: its graph.
        documents: text that is not in the graph; None where none was loaded.
        text: the text index, None before the first index; `nodes` and `profile` come with it.
    """

    generation: Generation
    store: GraphStore
    documents: Documents | None
    text: TextIndex | None
    nodes: NodeTable | None
    profile: Profile | None

    @classmethod
    def open(cls, folder: Folder) -> Self:
        """The newest complete state.

        Raises:
            CorruptError: a file is missing or damaged.
            IndexCorruptError: one of the text index.
        """
        generation = folder.current()
        store = OxigraphStore.open(generation.graph, union_default_graph=folder.config.default_graph == "union")
        documents = _documents(generation.documents)
        text_folder = generation.path / "text"
        if not text_folder.is_dir():
            return cls(generation, store, documents, None, None, None)
        try:
            nodes = NodeTable.open(generation.path)
            engine = TEXT_ENGINES.get(engine_name(text_folder))(folder.path, folder.config)
            text = engine.open(text_folder, nodes.rank, fresh="text" not in generation.behind())
            profile = read_profile(text_folder)
        except CorruptError as e:
            raise IndexCorruptError(e.message, hint=e.hint, place=e.place) from e
        text.linker = _LazyLinker(store, nodes, text, profile, documents, folders_of(folder.path))
        return cls(generation, store, documents, text, nodes, profile)

    @cached_property
    def advisor(self) -> Advisor:
        """Warns about names that do not occur in this state."""
        return Advisor(self.store, self.text, self.generation.manifest.counts["quads"])

    def context(self) -> ExecutionContext:
        """The state of one run over this snapshot."""
        return ExecutionContext(self.store, self.text, self.nodes, self.texts, scratch)

    def texts(self, node: Node, fields: Sequence[str] = ()) -> list[tuple[str, str, str]]:
        """(field, text, language) of an entity, as they were indexed."""
        if self.profile is None:
            return []
        from hybridkg.entities.extract import entity_texts

        return entity_texts(self.profile, self.store, self.documents, node, fields)

    def stats(self) -> dict[str, Any]:
        """Counts of the graph, the documents and the text index, and what each field holds."""
        found: dict[str, Any] = {
            "generation": self.generation.name,
            "triples": self.generation.manifest.counts["quads"],
            "documents": 0 if self.documents is None else len(self.documents),
            "bytes": self.generation.bytes(),
            "behind": list(self.generation.behind()),
        }
        if self.text is None or self.profile is None:
            return {**found, "entities": 0, "profile": None, "fields": []}
        fields = [
            {"field": f.name, "weight": f.weight, "b": f.b, **self.text.field_totals(f.name)}
            for f in self.profile.fields
        ]
        return {
            **found,
            "entities": self.text.counts["entities"],
            "profile": self.profile.name,
            "text": self.text.about(),
            "fields": fields,
        }


class _LazyLinker:
    """The linker of a state, imported when a query first asks for links.

    It holds no Snapshot: the text index holds it, and a circle around the generation would keep that in use.
    """

    def __init__(
        self,
        store: GraphStore,
        nodes: NodeTable,
        text: TextIndex,
        profile: Profile,
        documents: Documents | None,
        folders: tuple[Path, ...],
    ):
        self._parts, self._folders = (store, nodes, text, profile, documents), folders

    @cached_property
    def _source(self) -> LinkSource:
        from hybridkg.linking.source import LinkSource

        return LinkSource(*self._parts, folders=self._folders)

    def linked(
        self, text: str, given: str | None, *, language: str = "", syntax: bool = True
    ) -> tuple[LinkedNode, ...]:
        """As Linker has it."""
        return self._source.linked(text, given, language=language, syntax=syntax)


def engine_name(text_folder: Path) -> str:
    """The text engine that built the index in a folder."""
    file = text_folder / ENGINE_FILE
    return file.read_text(encoding="ascii").strip() if file.is_file() else "embedded"


def _documents(folder: Path) -> Documents | None:
    if not folder.is_dir():
        return None
    from hybridkg.entities.documents import Documents

    return Documents.open(folder)


def scratch(triples: Iterable[Triple]) -> GraphStore:
    """A store in memory that holds just these triples."""
    return OxigraphStore.memory(Quad(t.subject, t.predicate, t.object) for t in triples)


def read_profile(text_folder: Path) -> Profile:
    """The profile that a text index was built with.

    Raises:
        CorruptError: the file is not what was written.
    """
    try:
        text = (text_folder / PROFILE_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise CorruptError(
            f"cannot read {PROFILE_FILE!r} of the text index", hint="build the index again: hybridkg index KB"
        ) from e
    return Profile.from_json(text)
