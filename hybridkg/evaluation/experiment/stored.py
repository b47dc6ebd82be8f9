"""The folder of an experiment's results: runs, what is not finished, and the manifest: how they came about."""

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
from hybridkg.evaluation.experiment.outcome import ExperimentOutcome, SystemRun
from hybridkg.evaluation.experiment.spec import NAME, SystemSpec
from hybridkg.evaluation.run import Run, read_run, write_run
from hybridkg.storage.durable import storage_error

MANIFEST, RUNS, WORK = "manifest.json", "runs", ".work"

ASIDE = "aside"
"""The part of the manifest about systems that the experiment no longer has; their runs are in WORK."""


class Stored:
    """The folder.

    Args:
        folder: made where it does not exist; None to store nothing.
    """

    def __init__(self, folder: Path | None):
        self._folder = folder
        self._before: Mapping[str, Any] = {}
        self._aside: Mapping[str, Any] = {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """The folder is there, what it holds is known, and no other run writes to it meanwhile.

        Raises:
            StorageError: it cannot be read or made.
            LockedError: another run is at work.
        """
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
        """Those of a system, with what an interrupted run has left."""
        return Answers(None if self._folder is None else self._folder / WORK / f"{name}.jsonl", key)

    def run(self, spec: SystemSpec, key: str) -> SystemRun | None:
        """The run of a system that was finished before, by whatever name; None where there is none."""
        if self._folder is None:
            return None
        for path, entry in self._with_key(spec.name, key):
            try:
                if not path.exists() or entry["sha256"] != file_hash(path) or entry["told"] != _told_hash(entry):
                    continue
                told = {topic: Told(**own) for topic, own in entry["topics"].items()}
                took = Took(**entry["took"]) if entry["took"] else None
            except (KeyError, TypeError, AttributeError):
                continue  # not as we have written it
            run = _read(path, spec.name, told)
            found = SystemRun(spec, run, key, told, kept=True, learned=entry["learned"], took=took)
            return found if path == self._path(spec.name) else self.keep(found)
        return None

    def _with_key(self, own: str, key: str) -> list[tuple[Path, Mapping[str, Any]]]:
        """(file, entry) of the runs with a key, that of the same name first."""
        assert self._folder is not None
        known = [
            (self._folder / folder / f"{name}.run", entry)
            for folder, entries in ((RUNS, self._before), (WORK, self._aside))
            for name, entry in entries.items()
            if NAME.fullmatch(name) and isinstance(entry, dict) and entry.get("key") == key
        ]
        return sorted(known, key=lambda one: one[0] != self._path(own))

    def keep(self, run: SystemRun) -> SystemRun:
        """Writes a finished run; the topics that were kept while it worked are no longer needed."""
        if self._folder is None:
            return run
        path = self._path(run.spec.name)
        write_run(run.run, path)
        self._before = {**self._before, run.spec.name: self._entry(run)}
        self._write({"systems": self._before, ASIDE: self._aside})
        with suppress(OSError):  # what remains is merely of no use
            (self._folder / WORK / f"{run.spec.name}.jsonl").unlink(missing_ok=True)
        # As it will be read the next time, so that no figure depends on whether it was kept.
        return replace(run, run=_read(path, run.spec.name, run.told))

    def _tidied(self, runs: Mapping[str, SystemRun]) -> dict[str, Any]:
        """Puts aside the runs of systems that the experiment no longer has; they are found when one comes back."""
        assert self._folder is not None
        used = {run.key for run in runs.values()}
        aside: dict[str, Any] = {}
        for folder, entries in ((WORK, self._aside), (RUNS, self._before)):
            for name, entry in entries.items():
                if not NAME.fullmatch(name) or not isinstance(entry, dict) or (folder == RUNS and name in runs):
                    continue
                path, kept = self._folder / folder / f"{name}.run", self._folder / WORK / f"{name}.run"
                try:
                    if entry.get("key") in used:
                        path.unlink(missing_ok=True)
                        aside.pop(name, None)
                    elif path.exists():
                        path.replace(kept)
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
        """Everything that it takes to do it again, and to see whether it would come out the same."""
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
    """What a manifest says of systems; nothing where it is none of ours, so that each is asked again."""
    if not manifest.exists():
        return {}
    try:
        found = json.loads(manifest.read_bytes())[part]
    except (ValueError, KeyError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _told_hash(entry: Mapping[str, Any]) -> str:
    """Of what an entry tells beside its run, so that figures that were changed by hand are not shown as ours."""
    return key_of([entry[part] for part in ("learned", "took", "topics")])


def _read(path: Path, name: str, told: Mapping[str, Told]) -> Run:
    rankings = read_run(path).rankings if path.stat().st_size else {}  # no topic may have an answer
    return Run(name, {topic: rankings.get(topic, ()) for topic in told})


def write_text(path: Path, text: str) -> None:
    """Writes a file whole, or leaves the old one.

    Raises:
        StorageError: it cannot be written.
    """
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
