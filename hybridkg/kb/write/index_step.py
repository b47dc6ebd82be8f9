"""The index step of a write transaction, checked before any work and run once the graph and documents are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import ConfigError, MissingExtraError, TextServerError
from hybridkg.interfaces.encoder import ConfirmUpload
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TextEngine, is_remote_engine
from hybridkg.interfaces.vector_index import VectorIndexKind
from hybridkg.kb.write.configured import check_analyzers, configured_synonyms, text_engine, vectorising
from hybridkg.kb.write.encode_entities import Vectorising
from hybridkg.kb.write.index_generation import index_generation
from hybridkg.kb.write.reports import IndexReport
from hybridkg.store.generations.folder import Folder
from hybridkg.store.generations.next_generation import Building
from hybridkg.text.match_query.synonyms import Synonyms
from hybridkg.vector.encoders.embedding_cache import remove_logs

if TYPE_CHECKING:
    from hybridkg.graph.build.builder import ProjectionBuilder

UNUSABLE_SERVER = (TextServerError, ConfigError, MissingExtraError)
"""Errors of a server that fails, of its settings, and of its missing client: the graph can change nevertheless."""

NOTHING_CHANGED = "nothing was loaded or indexed; the knowledge base is as it was before"


@dataclass(frozen=True)
class IndexStep:
    """The components that build every index of a knowledge base.

    Args:
        folder: of the knowledge base.
        profile: the fields, without those of the documents.
        engine: (name, text engine).
        synonyms: for the queries of the index.
        vectors: encoder and vector index; None for no vectors.
    """

    folder: Folder
    profile: Profile
    engine: tuple[str, TextEngine]
    synonyms: Synonyms
    vectors: Vectorising | None

    @classmethod
    def of(cls, folder: Folder, profile: Profile, confirm: ConfirmUpload | None = None) -> IndexStep:
        """The components that kb.toml names; raises what is wrong with them (kb/write/configured.py)."""
        check_analyzers(profile, folder)
        vectors = vectorising(folder, confirm)
        return cls(folder, profile, text_engine(folder), configured_synonyms(folder), vectors)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Removes the indexes on servers if the block does not make a new generation; else what it worked with."""
        with removed_on_failure(self.folder, *self._builders):
            yield
        if self.vectors is not None:
            remove_logs(self.vectors.work)

    def discard(self) -> None:
        """Removes what has been built on servers, if they can be reached."""
        for builder in self._builders:
            builder.discard()

    @property
    def _builders(self) -> list[TextEngine | VectorIndexKind]:
        return [self.engine[1], *([] if self.vectors is None else [self.vectors.index])]

    def begin(self) -> None:
        """Checks that the text engine answers, and records the remote engines."""
        self.engine[1].ready()
        self.remember_engines()

    def remember_engines(self) -> None:
        """Records the remote engines, so that a crash leaves no unknown index."""
        for one in (self.engine[0], self.vectors.index.engine if self.vectors else ""):
            if is_remote_engine(one):
                self.folder.remember_engine(one)

    def run(self, building: Building, progress: Progress, copy: ProjectionBuilder | None = None) -> IndexReport:
        """Builds every index of a generation; `copy` has received its statements while they were loaded."""
        return index_generation(
            building, self.folder, self.profile, self.engine, self.synonyms, self.vectors, progress, copy
        )


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
