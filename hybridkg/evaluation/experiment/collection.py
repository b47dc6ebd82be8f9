"""The shared state of an experiment's systems: topics, judgements, values of topics, open knowledge bases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from hybridkg.config.run_settings import LimitSettings
from hybridkg.errors import ConfigError, ParameterError
from hybridkg.evaluation.experiment.packed import DocumentNames, PackedRankings
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run
from hybridkg.evaluation.topics import Topics
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.snapshot import snapshot_of


@dataclass
class Collection:
    """The shared state; the context manager closes the opened knowledge bases.

    Args:
        kb: knowledge base of systems that name none.
        values: by parameter and topic.
        folds: file of folds.
        categories: by topic; empty for none.
        depth: maximum rows of a topic.
        seed: of all random draws.
        systems: names, in the order of the experiment.
        runs: of the finished systems.
        documents: names of the documents in these runs.
    """

    topics: Topics
    qrels: Qrels
    kb: Path | None = None
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    folds: Path | None = None
    categories: Mapping[str, str] = field(default_factory=dict)
    depth: int = 1000
    seed: int = 0
    systems: tuple[str, ...] = ()
    runs: dict[str, Run] = field(default_factory=dict, repr=False)
    documents: DocumentNames = field(default_factory=DocumentNames, repr=False)
    _opened: dict[Path, KnowledgeBase] = field(default_factory=dict, repr=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for kb in self._opened.values():
            kb.close()
        self._opened.clear()

    @property
    def opened(self) -> Mapping[Path, KnowledgeBase]:
        return self._opened

    @property
    def judged(self) -> tuple[str, ...]:
        """The topics with judgements, in their order."""
        return tuple(topic for topic in self.topics.texts if topic in self.qrels.grades)

    def path_of(self, own: Path | None, system: str) -> Path:
        """The path of a system's knowledge base; ConfigError if neither the system nor the experiment names one."""
        path = own or self.kb
        if path is None:
            raise ConfigError(f"the system {system!r} needs a knowledge base", hint='kb = "FOLDER"')
        return path

    def packed(self, run: Run) -> Run:
        """The run as PackedRankings."""
        return Run(run.name, PackedRankings(run.rankings, self.documents))

    def knowledge_base(self, path: Path) -> KnowledgeBase:
        """The knowledge base at a path, opened once; NotAKnowledgeBaseError if there is none."""
        if path not in self._opened:
            self._opened[path] = KnowledgeBase.open(path)
        return self._opened[path]


def content_of(kb: KnowledgeBase) -> str:
    """A hash of a knowledge base's content: checksums of its files, engines and settings."""
    generation = snapshot_of(kb).generation
    files = {path: file.checksum for path, file in generation.manifest.files.items()}
    # Limits decide whether a query finishes, not its rows.
    config = asdict(replace(snapshot_of(kb).config, limits=LimitSettings()))
    if not config["sections"]:  # hashes made before plug-ins had settings stay valid
        del config["sections"]
    whole = [files, dict(generation.manifest.engines), config]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def file_hash(path: Path) -> str:
    """SHA-256 of a file; ConfigError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as e:
        raise ConfigError(f"cannot read {str(path)!r}: {e.strerror}") from e


def check_jobs(jobs: int) -> None:
    """Raises ParameterError unless `jobs` is from 1 to 256."""
    if not 1 <= jobs <= 256:
        raise ParameterError(f"jobs must be from 1 to 256, not {jobs}")


def key_of(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def run_hash(run: Run) -> str:
    """A hash of the rankings in their order."""
    digest = hashlib.sha256()
    for topic, ranking in run.rankings.items():
        digest.update(json.dumps([topic, ranking]).encode())
    return digest.hexdigest()
