"""The text engine protocol, which builds, opens and removes text indexes, and the registry of engines.

A new engine is one folder and one line here, or a package with an entry point in the group `hybridkg.text_engines`
(docs/extensions.md). Everything else that hybridkg needs of an engine is an attribute of its class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from hybridkg.errors import CorruptError
from hybridkg.registry import Registry

if TYPE_CHECKING:  # the command line lists the engines, and does without numpy
    from hybridkg.config.settings import Config
    from hybridkg.interfaces.entity_values import EntityValues
    from hybridkg.interfaces.progress import Progress
    from hybridkg.interfaces.staying import Staying
    from hybridkg.interfaces.text_index import Ids, IndexedField, TextIndex
    from hybridkg.rdf.terms import Node

Values = list[tuple[str, str]]
"""Distinct and sorted pairs of (text, language tag or "")."""

Taker = Callable[[int, Iterator[tuple[int, Values]]], None]
"""Receives a field early: its position, and (provisional number of an entity, values) in any order."""


class ExtractedText(Protocol):
    """The text of a knowledge base."""

    @property
    def nodes(self) -> list[Node]:
        """The entities by id."""

    @property
    def provisional(self) -> list[int]:
        """The id of each provisional number."""

    def stream(self, position: int) -> Iterator[tuple[int, Values]]:
        """(id, values) of the entities that have the field at a position, ascending."""

    def filter_values(self, predicate: str) -> Iterator[tuple[int, list[str]]]:
        """(id, distinct and sorted objects in N-Triples) of the entities that have the predicate of a filter,
        ascending; blank nodes and triples are left out.
        """


class TextSource(Protocol):
    """The input of an engine."""

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """The stored fields, in the profile's order."""

    @property
    def filters(self) -> tuple[str, ...]:
        """IRIs of the predicates whose values an engine may store with the text."""

    @property
    def union_default_graph(self) -> bool:
        """Whether the source is the union of all graphs."""

    def extract(self, early: Taker | None = None) -> ExtractedText:
        """Reads everything, once; `early` receives each complete field of literals while others are still read."""


class CannotFollowError(Exception):
    """An index cannot follow a change; the text is the reason, without a full stop."""


@dataclass(frozen=True, eq=False)
class FieldChange:
    """A change of the values of one field.

    Args:
        staying: the entities that have the same values in the field.
        before: the values, with earlier ids, of the entities that had other values in it, and at least one.
        values: the values, with next ids, of the entities with other values in it, and at least one.
    """

    staying: Staying
    before: EntityValues
    values: EntityValues


@dataclass(frozen=True, eq=False)
class TextChange:
    """A change of the texts of some entities, which an index follows.

    Args:
        before: the earlier texts of the changed entities that had any.
        after: the later texts of those that have any, in term order; a place in its `nodes` is their id in it.
        staying: the entities that have not changed.
        ids: uint32[m], the next id of each entity of `after`, ascending.
        fields: the change of each field, which is less than that of the entities.
        n_nodes: number of the entities afterwards.
        text_bytes: UTF-8 bytes of the texts of all entities afterwards.
    """

    before: TextSource
    after: TextSource
    staying: Staying
    ids: Ids
    fields: Sequence[FieldChange]
    n_nodes: int
    text_bytes: int


@dataclass(frozen=True)
class NativeAnalysis:
    """Analysis by the engine's own analyzers, which the profile then names; there are no synonyms, and `about()` of an
    index has `analysis: native`.

    Args:
        setting: the setting in kb.toml that chooses it.
        remedy: the setting that chooses hybridkg's analyzers, and its table.
    """

    setting: str
    remedy: str


class TextEngine(Protocol):
    """A kind of text index, constructed as `Engine(folder, config)` for the folder of a knowledge base."""

    title: ClassVar[str]
    """Its display name, such as `Elasticsearch`."""

    is_remote: ClassVar[bool]
    """Whether its indexes are on a server, outside the folder of the knowledge base, so that they need pruning."""

    section: ClassVar[str]
    """Its table of kb.toml; empty for none. That of a plug-in is in `Config.sections`."""

    unit_costs: ClassVar[Mapping[str, float]]
    """Default unit costs in microseconds by name (planner/cost_model.py), before calibration; a missing one is that of
    a local index of packed postings."""

    vector_index: ClassVar[str]
    """The vector index, a name of VECTOR_INDEXES, on the same server: `migrate` moves the vectors there. Empty for
    none: they stay."""

    native_analysis: ClassVar[NativeAnalysis | None]
    """None where every index has the terms of hybridkg's analyzers."""

    stores_filters: ClassVar[bool]
    """Whether the values of a profile's `hk:filters` are stored with the text, so that an index follows them, too."""

    follows_fields: ClassVar[bool]
    """Whether `follow` reads no text but that of `TextChange.fields`: of entities that stay, `before`, `after` and
    `ids` then need nothing, which spares reading the fields that do not differ."""

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool: ...

    @classmethod
    def follows(cls, config: Config) -> bool:
        """Whether an index follows a commit by `follow`; otherwise it is built anew, or stays behind on a server."""

    def ready(self) -> None:
        """Checks that a build can begin, before the long work of loading.

        Raises:
            HybridkgError: it cannot; says why.
        """

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        """Builds an index, which is invisible until the generation of the folder is live.

        Args:
            folder: an existing empty folder in the generation under construction, which stays with the index.
            source: the text.
            progress: counts entities.

        Returns:
            Counts: entities; and terms, postings, tokens, text_bytes, where the engine has them.
        """

    def follow(self, previous: Path, folder: Path, change: TextChange, progress: Progress) -> dict[str, int]:
        """Builds the next index from the earlier one and the texts of the changed entities, as if by `build`.

        Args:
            previous: folder of the earlier index, of this engine, which stays as it is.
            folder: as for `build`.
            change: the changed texts.
            progress: counts entities or postings.

        Returns:
            Counts, as of `build`.

        Raises:
            CannotFollowError: the index cannot follow; nothing is left of it outside the folder.
            HybridkgError: a server does not answer or refuses.
        """

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> TextIndex:
        """Opens the index of a folder; a server gets no request before the first query.

        Args:
            folder: filled by `build`.
            rank: order of the nodes, for ties: ids -> ranks; without it the ids themselves.
            fresh: whether the graph is unchanged since the index was built.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def name_of(self, folder: Path) -> str:
        """The index of a folder, for the manifest."""

    def publish(self, folder: Path) -> None:
        """Makes the index of a live generation visible to other programs."""

    def discard(self) -> None:
        """Removes what this object has built for an abandoned generation, if it can be reached."""

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        """Indexes outside the knowledge base folder that no generation needs: name, and further details. `live` are the
        text folders of all generations on disk.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Removes indexes of `unused`."""


TEXT_ENGINES = Registry(
    "text engine",
    "hybridkg.text_engines",
    {
        "embedded": "hybridkg.text.index.engine:EmbeddedTextEngine",
        "elasticsearch": "hybridkg.text.elasticsearch.engine:ElasticTextEngine",
    },
    default="embedded",
)
"""Classes of TextEngine."""


ENGINE_FILE = "engine"
"""The file in a text index with the name of its engine; missing for the first engine."""

ENGINE_NAME = re.compile(r"[\w.+-]+", re.ASCII)


def engine_name(text_folder: Path) -> str:
    """The text engine that built the index in a folder.

    Raises:
        CorruptError: the engine file cannot be read, or has no name.
    """
    file = text_folder / ENGINE_FILE
    try:
        name = file.read_text(encoding="ascii").strip() if file.exists() else TEXT_ENGINES.default
    except (OSError, UnicodeDecodeError) as e:
        raise _no_engine(file) from e
    if not ENGINE_NAME.fullmatch(name):
        raise _no_engine(file)
    return name


def is_remote_engine(name: str) -> bool:
    """Whether the indexes of an engine are on a server; an engine that is not installed counts as local."""
    return name in TEXT_ENGINES and bool(TEXT_ENGINES.get(name).is_remote)


def _no_engine(file: Path) -> CorruptError:
    return CorruptError(
        f"{ENGINE_FILE!r} of the text index is damaged: it names no text engine",
        hint="build the index again: hybridkg index KB",
        place=str(file),
    )
