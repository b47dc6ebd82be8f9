"""The engine of memory-mapped postings in the knowledge base folder: no server, nothing outside the generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hybridkg.config.settings import Config
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import CannotFollowError, NativeAnalysis, TextChange, TextSource, Values
from hybridkg.interfaces.text_index import Ids
from hybridkg.text.index.build import batch_cache
from hybridkg.text.index.reader import EmbeddedTextIndex

if TYPE_CHECKING:
    from hybridkg.text.index.build.builder import EmbeddedTextBuilder

ENTITIES_PER_REPORT = 1_000
"""Entities between two reports of progress; at 50,000 texts/s that is 50 a second."""

MAX_IDS = 2**32 - 1

RESUMABLE = "the text analysed so far is kept; the same command goes on from there"
"""Note of the exception that interrupted a build."""


class EmbeddedTextEngine:
    """The embedded text engine, which has no settings; analysed batches of an interrupted build stay in the knowledge
    base folder until a build succeeds.
    """

    title = "the embedded index"
    is_remote = False
    section = ""
    unit_costs: ClassVar[Mapping[str, float]] = {}
    vector_index = "flat"
    native_analysis: ClassVar[NativeAnalysis | None] = None
    stores_filters = False
    follows_fields = True

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool:
        """Never."""
        del config
        return False

    @classmethod
    def follows(cls, config: Config) -> bool:
        """Always."""
        del config
        return True

    def __init__(self, folder: Path, config: Config):
        del config
        self._cache = folder / batch_cache.NAME

    def ready(self) -> None:
        """Always."""

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        """Builds an index; fields of literals are added while the graph is still being read."""
        from hybridkg.text.index.build.builder import EmbeddedTextBuilder

        with closing(
            EmbeddedTextBuilder(folder, source.fields, MAX_IDS, cache=self._cache, progress=progress)
        ) as builder:
            try:
                return _built(builder, source, progress)
            except BaseException as e:
                builder.close()
                if builder.batches:
                    e.add_note(RESUMABLE)
                raise

    def follow(self, previous: Path, folder: Path, change: TextChange, progress: Progress) -> dict[str, int]:
        """Writes the content of a build from scratch; lists in a tail and levels of block maxima have other bytes."""
        from hybridkg.text.index.build.incremental import merge_text

        try:
            return merge_text(
                previous,
                folder,
                change.after.fields,
                [field.staying for field in change.fields],
                change.n_nodes,
                [field.before for field in change.fields],
                [field.values for field in change.fields],
                change.text_bytes,
                progress=progress,
            )
        except ValueError as e:
            raise CannotFollowError("the fields or analyzers have changed") from e

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> EmbeddedTextIndex:
        """Opens the index of a folder."""
        del fresh
        return EmbeddedTextIndex.open(folder, rank)

    def name_of(self, folder: Path) -> str:
        """A constant: the files are in the manifest."""
        del folder
        return "embedded"

    def publish(self, folder: Path) -> None:
        """Removes the cached batches; the index is in the generation."""
        batch_cache.remove(self._cache)

    def discard(self) -> None:
        """Does nothing: the index is in the generation."""

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        """An empty list: the index is in the generation."""
        del live
        return []

    def remove(self, names: Sequence[str]) -> None:
        """Does nothing: the index is in the generation."""


def _built(builder: EmbeddedTextBuilder, source: TextSource, progress: Progress) -> dict[str, int]:
    done: list[int] = []

    def add_early(position: int, values: Iterator[tuple[int, Values]]) -> None:
        builder.add_all(position, values)
        done.append(position)

    extracted = source.extract(add_early)
    entities = len(extracted.nodes)
    builder.renumber(extracted.provisional, entities)
    for position in done:
        builder.complete(position)
    remaining = [position for position in range(len(source.fields)) if position not in done]
    progress.start("indexing text", entities * len(remaining))
    for position in remaining:
        builder.add_all(position, _reported(extracted.stream(position), entities, progress))
        builder.complete(position)
    progress.done(entities)
    return builder.finish()


def _reported(records: Iterator[tuple[int, Values]], entities: int, progress: Progress) -> Iterator[tuple[int, Values]]:
    """Passes on the records of a field, in ascending order of their entities, and reports progress."""
    unreported = last = 0
    for record in records:
        yield record
        unreported += 1
        if unreported == ENTITIES_PER_REPORT:
            progress.advance(record[0] - last, unreported)
            unreported, last = 0, record[0]
    progress.advance(entities - last, unreported)
