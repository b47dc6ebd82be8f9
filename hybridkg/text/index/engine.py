"""The engine of memory-mapped postings in the knowledge base folder: no server, nothing outside the generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hybridkg.config.settings import Config
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import NativeAnalysis, TextSource, Values
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.index.build import batch_cache
from hybridkg.text.index.reader import EmbeddedTextIndex

if TYPE_CHECKING:
    from hybridkg.text.index.build.builder import EmbeddedTextBuilder

ENTITIES_PER_REPORT = 1_000
"""Entities between two reports of progress; at 50,000 texts/s that is 50 a second."""

MAX_IDS = 2**32 - 1

KEPT = "the text analysed so far is kept; the same command goes on from there"
"""Said of a build that was interrupted, as a note of the exception."""


class EmbeddedTextEngine:
    """Has no settings.

    Args:
        folder: of the knowledge base; what has been analysed of a long build is kept there until one succeeds.
        config: its settings.
    """

    title = "the embedded index"
    is_remote = False
    section = ""
    unit_costs: ClassVar[Mapping[str, float]] = {}
    vector_index = "flat"
    native_analysis: ClassVar[NativeAnalysis | None] = None

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool:
        """Never."""
        del config
        return False

    def __init__(self, folder: Path, config: Config):
        del config
        self._kept = folder / batch_cache.NAME

    def ready(self) -> None:
        """Always."""

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        """Builds an index; fields of literals are taken while the graph is still read."""
        from hybridkg.text.index.build.builder import EmbeddedTextBuilder

        with closing(
            EmbeddedTextBuilder(folder, source.fields, MAX_IDS, kept=self._kept, progress=progress)
        ) as builder:
            try:
                return _built(builder, source, progress)
            except BaseException as e:
                builder.close()
                if builder.batches:
                    e.add_note(KEPT)
                raise

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> EmbeddedTextIndex:
        """Opens the index of a folder."""
        del fresh
        return EmbeddedTextIndex.open(folder, rank)

    def name_of(self, folder: Path) -> str:
        """The files are in the manifest by themselves."""
        del folder
        return "embedded"

    def publish(self, folder: Path) -> None:
        """The generation is all there is: nothing needs to be analysed again."""
        batch_cache.remove(self._kept)

    def discard(self) -> None:
        """The generation is all there is."""

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        """Nothing lies outside the folder."""
        del live
        return []

    def remove(self, names: Sequence[str]) -> None:
        """Nothing lies outside the folder."""


def _built(builder: EmbeddedTextBuilder, source: TextSource, progress: Progress) -> dict[str, int]:
    """Gives a builder all the text, and finishes it."""
    done: list[int] = []

    def add_early(position: int, values: Iterator[tuple[int, Values]]) -> None:
        builder.add_all(position, values)
        done.append(position)

    extracted = source.extract(add_early)
    entities = len(extracted.nodes)
    builder.renumber(extracted.provisional, entities)
    for position in done:
        builder.complete(position)
    left = [position for position in range(len(source.fields)) if position not in done]
    progress.start("indexing text", entities * len(left))
    for position in left:
        builder.add_all(position, _reported(extracted.stream(position), entities, progress))
        builder.complete(position)
    progress.done(entities)
    return builder.finish()


def _reported(records: Iterator[tuple[int, Values]], entities: int, progress: Progress) -> Iterator[tuple[int, Values]]:
    """The records of a field, in ascending order of their entities, told to the progress as they pass."""
    waiting = 0
    last = 0
    for record in records:
        yield record
        waiting += 1
        if waiting == ENTITIES_PER_REPORT:
            progress.advance(record[0] - last, waiting)
            waiting, last = 0, record[0]
    progress.advance(entities - last, waiting)
