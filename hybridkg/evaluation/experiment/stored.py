"""The result folder of an experiment: finished runs, unfinished answers, and the manifest with their provenance."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from hybridkg.errors import LockedError
from hybridkg.evaluation.experiment.answers import Answers, Told, Took
from hybridkg.evaluation.experiment.collection import file_hash, key_of
from hybridkg.evaluation.experiment.exact_scores import scores_file, with_scores, write_scores
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome, SystemRun
from hybridkg.evaluation.experiment.spec import NAME, SystemSpec
from hybridkg.evaluation.run import Run, read_run, write_run
from hybridkg.storage.durable import storage_error

MANIFEST, RUNS, WORK = "manifest.json", "runs", ".work"

ASIDE = "aside"
"""The manifest's part about systems removed from the experiment; their runs are in WORK."""


class Stored:
    """The result folder; created if missing. None stores nothing."""

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._before: Mapping[str, Any] = {}
        self._aside: Mapping[str, Any] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Creates and locks the folder, and reads its manifest; StorageError if it fails, LockedError if in use."""
        if self._folder is None:
            yield
            return
        from filelock import FileLock, Timeout

        lock = FileLock(self._folder / WORK / "LOCK", timeout=0)
        try:
            for part in (RUNS, WORK):
                (self._folder / part).mkdir(parents=True, exist_ok=True)
            lock.acquire()
            self._before = _entries_of(self._folder / MANIFEST, "systems")
            self._aside = _entries_of(self._folder / MANIFEST, ASIDE)
        except Timeout as e:
            raise LockedError(
                f"another run is writing to {str(self._folder)!r}", hint="wait until it has finished, or choose --out"
            ) from e
        except OSError as e:
            raise storage_error(e, f"writing to {str(self._folder)!r}") from e
        try:
            yield
        finally:
            lock.release()

    def answers(self, name: str, key: str) -> Answers:
        """The answers of a system, with those of an interrupted run."""
        return Answers(None if self._folder is None else self._folder / WORK / f"{name}.jsonl", key)

    def run(self, spec: SystemSpec, key: str) -> SystemRun | None:
        """The stored run with this key, under any name; None if there is none."""
        if self._folder is None:
            return None
        for path, entry in self._with_key(spec.name, key):
            try:
                if not _is_whole(path, entry) or entry["told"] != _told_hash(entry):
                    continue
                told = {topic: Told(**own) for topic, own in entry["topics"].items()}
                took = Took(**entry["took"]) if entry["took"] else None
                run = _read(path, spec.name, told)
            except (KeyError, TypeError, AttributeError, ValueError):
                continue  # edited by hand
            stored = SystemRun(spec, run, key, told, kept=True, learned=entry["learned"], took=took, file=path)
            return stored if path == self._path(spec.name) else self.keep(stored)
        return None

    def _with_key(self, own: str, key: str) -> list[tuple[Path, Mapping[str, Any]]]:
        """(file, entry) of the runs with a key; that of the same name comes first."""
        assert self._folder is not None
        runs = [
            (self._folder / folder / f"{name}.run", entry)
            for folder, entries in ((RUNS, self._before), (WORK, self._aside))
            for name, entry in entries.items()
            if NAME.fullmatch(name) and isinstance(entry, dict) and entry.get("key") == key
        ]
        return sorted(runs, key=lambda one: one[0] != self._path(own))

    def keep(self, run: SystemRun) -> SystemRun:
        """Writes a finished run with its exact scores, and deletes its unfinished answers."""
        if self._folder is None:
            return run
        path = self._path(run.spec.name)
        write_run(run.run, path)
        write_scores(run.run, scores_file(path))
        self._before = {**self._before, run.spec.name: self._entry(run)}
        self._write({"systems": self._before, ASIDE: self._aside})
        with suppress(OSError):  # an old file does no harm
            (self._folder / WORK / f"{run.spec.name}.jsonl").unlink(missing_ok=True)
        return replace(run, file=path)

    def _tidied(self, runs: Mapping[str, SystemRun]) -> dict[str, Any]:
        """Moves runs of removed systems to WORK, where `run` finds them if a system returns."""
        assert self._folder is not None
        used = {run.key for run in runs.values()}
        aside: dict[str, Any] = {}
        for folder, entries in ((WORK, self._aside), (RUNS, self._before)):
            for name, entry in entries.items():
                if not NAME.fullmatch(name) or not isinstance(entry, dict) or (folder == RUNS and name in runs):
                    continue
                path, target = self._folder / folder / f"{name}.run", self._folder / WORK / f"{name}.run"
                try:
                    if entry.get("key") in used or not scores_file(path).exists():
                        path.unlink(missing_ok=True)
                        scores_file(path).unlink(missing_ok=True)
                        aside.pop(name, None)
                    elif path.exists():
                        path.replace(target)
                        scores_file(path).replace(scores_file(target))
                        aside[name] = entry
                except OSError as e:
                    raise storage_error(e, f"putting {str(path)!r} aside") from e
        return aside

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / RUNS / f"{name}.run"

    def _entry(self, run: SystemRun) -> dict[str, Any]:
        path = self._path(run.spec.name)
        entry = {
            "key": run.key,
            "run": f"{RUNS}/{path.name}",
            "sha256": file_hash(path),
            "scores": {"file": f"{RUNS}/{scores_file(path).name}", "sha256": file_hash(scores_file(path))},
            "kind": run.spec.kind,
            "value": _shown(run.spec.value),
            "params": {name: str(value) for name, value in run.spec.params.items()},
            "strategy": run.spec.strategy,
            "learned": dict(run.learned),
            "took": None if run.took is None else asdict(run.took),
            "topics": {topic: asdict(told) for topic, told in run.told.items()},
        }
        return {**entry, "told": _told_hash(entry)}

    def write_manifest(self, outcome: ExperimentOutcome, runs: Mapping[str, SystemRun]) -> None:
        """The manifest: everything that reproducing and checking the experiment needs."""
        if self._folder is None:
            return
        spec = outcome.spec
        self._write(
            {
                "experiment": spec.name,
                **outcome.surroundings,
                "depth": spec.depth,
                "seed": spec.seed,
                "measures": list(spec.measures),
                "systems": {name: self._entry(run) for name, run in runs.items() if run.key},
                ASIDE: self._tidied(runs),
            }
        )

    def _write(self, content: Mapping[str, Any]) -> None:
        assert self._folder is not None
        write_text(self._folder / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _entries_of(manifest: Path, part: str) -> Mapping[str, Any]:
    """The entries of a manifest; empty for an invalid one, so that every system runs again."""
    if not manifest.exists():
        return {}
    try:
        entries = json.loads(manifest.read_bytes())[part]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _told_hash(entry: Mapping[str, Any]) -> str:
    """Hash of an entry apart from its run, which detects figures edited by hand."""
    return key_of([entry[part] for part in ("learned", "took", "topics")])


def _is_whole(path: Path, entry: Mapping[str, Any]) -> bool:
    """Whether the run at `path` and its scores are those of the entry."""
    files = {path: entry["sha256"], scores_file(path): entry["scores"]["sha256"]}
    return all(file.exists() and file_hash(file) == digest for file, digest in files.items())


def _read(path: Path, name: str, told: Mapping[str, Told]) -> Run:
    """The stored run, by its exact scores; ValueError if they do not fit."""
    written = read_run(path) if path.stat().st_size else Run(name, {})  # a run may have no answer at all
    rankings = with_scores(written, scores_file(path)).rankings
    return Run(name, {topic: rankings.get(topic, ()) for topic in told})


def write_text(path: Path, text: str) -> None:
    """Replaces a file atomically; StorageError if it cannot be written."""
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        new.replace(path)
    except OSError as e:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise storage_error(e, f"writing {str(path)!r}") from e


def _shown(value: Any) -> Any:
    return value if isinstance(value, str | dict) else str(value)
