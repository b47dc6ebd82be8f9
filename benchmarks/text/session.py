"""One run: its sizes, its scratch folder, and the parts that its phases have measured so far."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.text import queries
from benchmarks.text.corpus import Corpus
from benchmarks.text.memory import Watched, watch

SINGLE = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
"""Environment of processes whose answers are timed."""


@dataclass(frozen=True)
class Session:
    """What is measured, and where.

    Args:
        scratch: folder for corpus, indexes and parts; what is there from an earlier run is used again.
        name: of the run; its parts are kept apart by it.
        sizes: collections in entities whose latencies are measured, ascending.
        growth: six sizes, ascending.
        small: size of the collection that is built twice.
        questions: in each cell.
        passes: over all engines.
        budget_s: of one cell and engine; at least FEWEST questions are asked.
    """

    scratch: Path
    name: str
    sizes: tuple[int, ...]
    growth: tuple[int, ...]
    small: int
    questions: int
    passes: int
    budget_s: float

    @property
    def corpus(self) -> Corpus:
        """The corpus, which all sizes share."""
        return Corpus(self.scratch)

    def folder(self, engine: str, entities: int) -> Path:
        """Of an index."""
        return self.scratch / f"{engine}-{entities}"

    def cells(self, entities: int, ks: tuple[int, ...] = queries.KS) -> Path:
        """The file of questions for a size; the same every time."""
        path = self._parts / f"queries-{entities}-{'-'.join(map(str, ks))}-{self.questions}.json"
        if not path.exists():
            queries.write_cells(path, queries.cells(self.corpus, entities, self.questions, ks))
        return path

    @property
    def _parts(self) -> Path:
        folder = self.scratch / f"parts-{self.name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep(self, part: str, figures: Any) -> None:
        """Stores what a phase measured."""
        (self._parts / f"{part}.json").write_text(json.dumps(figures, indent=1))

    def drop(self, parts: Iterable[str]) -> None:
        """Forgets what an earlier run of a phase stored, so that a failure does not show old figures."""
        for name in parts:
            for entities in self.sizes:
                (self._parts / f"{name.format(entities)}.json").unlink(missing_ok=True)

    def part(self, name: str) -> Any:
        """What a phase measured; None where it has not run."""
        path = self._parts / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def run(
        self, task: str, limit: int | None = None, *, single: bool = False, **arguments: Any
    ) -> tuple[Any, Watched]:
        """Runs a task in a process of its own.

        Returns:
            what it answered, None where it failed, and how it went.
        """
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "answer.json"
            command = [sys.executable, "-m", "benchmarks.text.tasks", task, str(answer), json.dumps(arguments)]
            went = watch(command, limit, **(SINGLE if single else {}))
            if went.code:
                say(f"{task} failed with {went.code}: {arguments}")
            return json.loads(answer.read_text()) if not went.code and answer.exists() else None, went


def say(text: str) -> None:
    """Prints progress at once."""
    print(text, flush=True)
