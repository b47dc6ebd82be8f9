"""The folder of an experiment's results: runs, what is not finished, and the manifest: how they came about."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg import __version__
from hybridkg.errors import StorageError
from hybridkg.evaluation.experiment.answers import Answers, Told
from hybridkg.evaluation.experiment.collection import content_of, file_hash
from hybridkg.evaluation.experiment.outcome import Outcome, SystemRun
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.run import Run, read_run, write_run

if TYPE_CHECKING:
    from hybridkg.kb import KnowledgeBase

MANIFEST, RUNS, WORK = "manifest.json", "runs", ".work"
PACKAGES = ("numpy", "numba", "pyoxigraph", "PyStemmer", "regex", "scipy", "faiss-cpu", "onnxruntime")
"""Whose versions may change a ranking, or a figure."""


class Stored:
    """The folder.

    Args:
        folder: made where it does not exist; None to store nothing.

    Raises:
        StorageError: it cannot be read or made.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._before: Mapping[str, Any] = {}
        if folder is None:
            return
        try:
            for part in (RUNS, WORK):
                (folder / part).mkdir(parents=True, exist_ok=True)
            if (folder / MANIFEST).exists():
                self._before = json.loads((folder / MANIFEST).read_text(encoding="utf-8")).get("systems", {})
        except OSError as e:
            raise StorageError(f"cannot write to {str(folder)!r}: {e.strerror}") from e
        except (ValueError, AttributeError):
            self._before = {}  # no manifest of ours: every system is asked again

    def answers(self, name: str, key: str) -> Answers:
        """Those of a system, with what an interrupted run has left."""
        return Answers(None if self._folder is None else self._folder / WORK / f"{name}.jsonl", key)

    def run(self, spec: SystemSpec, key: str) -> SystemRun | None:
        """The run of a system that was finished before; None where there is none, or it has changed since."""
        if self._folder is None:
            return None
        before = self._before.get(spec.name, {})
        path = self._path(spec.name)
        try:
            if before["key"] != key or not path.exists() or before["sha256"] != file_hash(path):
                return None
            told = {topic: Told(**own) for topic, own in before["topics"].items()}
        except (KeyError, TypeError, AttributeError):
            return None
        found = read_run(path)
        rankings = {topic: found.rankings.get(topic, ()) for topic in told}
        return SystemRun(spec, Run(spec.name, rankings), key, told, kept=True, learned=before.get("learned", {}))

    def keep(self, run: SystemRun) -> SystemRun:
        """Writes a finished run; the topics that were kept while it worked are no longer needed."""
        if self._folder is None:
            return run
        write_run(run.run, self._path(run.spec.name))
        self._before = {**self._before, run.spec.name: self._entry(run)}
        self._write({"systems": self._before})
        (self._folder / WORK / f"{run.spec.name}.jsonl").unlink(missing_ok=True)
        # As it will be read the next time, so that no figure depends on whether it was kept.
        return replace(run, run=self._again(run))

    def _again(self, run: SystemRun) -> Run:
        found = read_run(self._path(run.spec.name))
        return Run(run.spec.name, {topic: found.rankings.get(topic, ()) for topic in run.told})

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / RUNS / f"{name}.run"

    def _entry(self, run: SystemRun) -> dict[str, Any]:
        path = self._path(run.spec.name)
        return {
            "key": run.key,
            "run": f"{RUNS}/{path.name}",
            "sha256": file_hash(path),
            "kind": run.spec.kind,
            "value": _shown(run.spec.value),
            "params": {name: str(value) for name, value in run.spec.params.items()},
            "strategy": run.spec.strategy,
            "learned": dict(run.learned),
            "topics": {topic: asdict(told) for topic, told in run.told.items()},
        }

    def write_manifest(
        self, outcome: Outcome, runs: Mapping[str, SystemRun], opened: Mapping[Path, KnowledgeBase]
    ) -> None:
        """Everything that it takes to do it again, and to see whether it would come out the same."""
        if self._folder is None:
            return
        spec = outcome.spec
        texts = json.dumps(dict(outcome.topics.texts), ensure_ascii=False).encode()
        grades = json.dumps({t: dict(own) for t, own in outcome.qrels.grades.items()}, ensure_ascii=False).encode()
        self._write(
            {
                "experiment": spec.name,
                "hybridkg": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "packages": _versions(),
                "knowledge_bases": {str(path): _about(kb) for path, kb in opened.items()},
                "topics": {"topics": len(outcome.topics), "sha256": hashlib.sha256(texts).hexdigest()},
                "qrels": {"topics": len(outcome.qrels), "sha256": hashlib.sha256(grades).hexdigest()},
                "depth": spec.depth,
                "seed": spec.seed,
                "measures": list(spec.measures),
                "systems": {name: self._entry(run) for name, run in runs.items() if run.key},
            }
        )

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self._folder is not None
        write_text(self._folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Writes a file whole, or leaves the old one.

    Raises:
        StorageError: it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8")
        new.replace(path)
    except OSError as e:
        raise StorageError(f"cannot write {str(path)!r}: {e.strerror}") from e


def _about(kb: KnowledgeBase) -> dict[str, Any]:
    snapshot = kb.snapshot
    manifest = snapshot.generation.manifest
    vectors = snapshot.vectors
    return {
        "sha256": content_of(kb),
        "generation": manifest.generation,
        "hybridkg": manifest.hybridkg,
        "counts": dict(manifest.counts),
        "engines": dict(manifest.engines),
        "vectors": None if vectors is None else str(vectors.about().get("encoder", "")),
        "behind": list(manifest.behind()),
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | dict) else str(value)
