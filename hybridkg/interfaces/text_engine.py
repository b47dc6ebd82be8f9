"""Text engines: what builds, opens and removes text indexes, and the engines by name.

A new engine is one folder and one line here, or a package with an entry point in the group `hybridkg.text_engines`
(docs/extensions.md). All else that the rest of hybridkg needs of an engine is an attribute of its class.
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
    from hybridkg.interfaces.progress import Progress
    from hybridkg.interfaces.text_index import Ids, IndexedField, TextIndex
    from hybridkg.rdf.terms import Node

Values = list[tuple[str, str]]
"""(text, language tag or "") each; distinct and sorted."""

Taker = Callable[[int, Iterator[tuple[int, Values]]], None]
"""Takes a field early: its position, and (provisional number of an entity, values) in any order."""


class ExtractedText(Protocol):
    """The text of a knowledge base."""

    @property
    def nodes(self) -> list[Node]:
        """The entities; a position in this list is the id."""

    @property
    def provisional(self) -> list[int]:
        """The id of each provisional number that was given out early."""

    def stream(self, position: int) -> Iterator[tuple[int, Values]]:
        """(id, values) of the entities that have the field at a position, ascending."""

    def filter_values(self, predicate: str) -> Iterator[tuple[int, list[str]]]:
        """(id, objects as N-Triples writes them: distinct and sorted) of the entities that have the predicate of a
        filter, ascending; blank nodes and triples are left out.
        """


class TextSource(Protocol):
    """What an engine is given to index."""

    @property
    def fields(self) -> tuple[IndexedField, ...]:
        """What the index stores, in the profile's order."""

    @property
    def filters(self) -> tuple[str, ...]:
        """IRIs of the predicates whose values an engine may store beside the text."""

    @property
    def union_default_graph(self) -> bool:
        """Whether what is read is the union of all graphs."""

    def extract(self, early: Taker | None = None) -> ExtractedText:
        """Reads everything; to be called once.

        Args:
            early: called with each field of literals as soon as it is known, while others are still read.
        """


@dataclass(frozen=True)
class NativeAnalysis:
    """Analysis by analyzers of the engine's own. The analyzers of a profile are then names that the engine has, and
    there are no synonyms; an index says so by `analysis: native` in `about()`.

    Args:
        setting: of kb.toml, as it is written, that chooses it.
        remedy: the setting that chooses hybridkg's analyzers, and its table.
    """

    setting: str
    remedy: str


class TextEngine(Protocol):
    """One kind of text index. Made with the folder of the knowledge base and its settings: `Engine(folder, config)`."""

    title: ClassVar[str]
    """Its name in a sentence, such as `Elasticsearch`."""

    is_remote: ClassVar[bool]
    """Whether its indexes are on a server, outside the folder of the knowledge base, so that they have to be pruned."""

    section: ClassVar[str]
    """The table of kb.toml that it reads; empty for none. That of a plug-in is in `Config.sections`."""

    unit_costs: ClassVar[Mapping[str, float]]
    """Microseconds by name of a unit cost (planner/cost_model.py), before anything is measured; of one that is not
    named, the cost of a local index of packed postings holds.
    """

    vector_index: ClassVar[str]
    """The vector index, a name of VECTOR_INDEXES, that keeps vectors where this engine keeps text: `migrate` moves them
    there. Empty for none: they stay.
    """

    native_analysis: ClassVar[NativeAnalysis | None]
    """None where every index has the terms of hybridkg's analyzers."""

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool:
        """Whether the settings choose `native_analysis`."""

    def ready(self) -> None:
        """Whether a build could begin; asked before the long work of loading.

        Raises:
            HybridkgError: it could not; says why.
        """

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        """Builds an index; nobody finds it before the generation of the folder is live.

        Args:
            folder: an existing empty folder in the generation that is being built; what is written there stays
                with the index.
            source: the text.
            progress: told about entities.

        Returns:
            Counts: entities; and terms, postings, tokens, text_bytes, as far as the engine knows them.
        """

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> TextIndex:
        """Opens the index of a folder; a server is not asked before the first query.

        Args:
            folder: filled by `build`.
            rank: order of the nodes, for ties: ids -> ranks; without it the ids themselves.
            fresh: whether the graph is as it was when the index was built.

        Raises:
            CorruptError: a file is missing or damaged.
        """

    def name_of(self, folder: Path) -> str:
        """What the manifest says of the index of a folder."""

    def publish(self, folder: Path) -> None:
        """The generation of the folder is live: strangers may find its index."""

    def discard(self) -> None:
        """What this object has built will never be live; it goes, as far as it can be reached."""

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        """Indexes outside the knowledge base folder that no generation needs: name, and what is known of them.

        Args:
            live: the text folders of all generations on disk.
        """

    def remove(self, names: Sequence[str]) -> None:
        """Removes indexes that `unused` named."""


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
"""In the folder of a text index: the name of the engine that built it; before there was a second, none was written."""

ENGINE_NAME = re.compile(r"[\w.+-]+", re.ASCII)


def engine_name(text_folder: Path) -> str:
    """The text engine that built the index in a folder.

    Raises:
        CorruptError: the file that says so cannot be read, or holds no name.
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
