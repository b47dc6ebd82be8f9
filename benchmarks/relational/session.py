"""One run: its sizes, its folders, the processes of the engines, and the parts that they have measured so far."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.hybrid.writing import Data
from benchmarks.relational.contract import Places
from benchmarks.relational.engines import CONTENDERS
from benchmarks.relational.supervised import supervised
from benchmarks.text.session import SINGLE

ROOT = Path(__file__).resolve().parents[2]
GRACE_S = 60.0
"""Opening and comparing an answer take so long beside the question itself."""
LOADING_S = 3 * 3600.0


@dataclass(frozen=True)
class Session:
    """What is measured, and where.

    Args:
        scratch: folder of what is made here; used again.
        papers_from: folder of benchmarks.hybrid with data, knowledge base and Oxigraph by size; read only.
        name: of the run; its parts are kept apart by it.
        sizes: papers, ascending.
        engines: names.
        groups: of questions.
        peers: the Python of the peers.
        repeats: of each question in a process.
        passes: processes of each engine, in turns.
        patience_s: for one question.
    """

    scratch: Path
    papers_from: Path
    name: str
    sizes: tuple[int, ...]
    engines: tuple[str, ...]
    groups: tuple[str, ...]
    peers: Path
    repeats: int
    passes: int
    patience_s: float

    def places(self, papers: int) -> Places:
        """The files of a size."""
        own = self.scratch / str(papers) / "relational"
        own.mkdir(parents=True, exist_ok=True)
        return Places(Data(self.papers_from / str(papers)), own)

    def _part(self, name: str) -> Path:
        folder = self.scratch / f"parts-relational-{self.name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.json"

    def keep(self, name: str, figures: Any) -> None:
        """Stores what was measured."""
        self._part(name).write_text(json.dumps(figures, indent=1))

    def part(self, name: str) -> Any:
        """What was measured; None where it was not."""
        path = self._part(name)
        return json.loads(path.read_text()) if path.exists() else None

    def run(
        self, task: str, engine: str, papers: int, wait_s: float, **arguments: Any
    ) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """Runs a task in a process of its own, and ends it where a question takes longer than patience.

        Returns:
            the lines that it wrote, and the question it was ended in; None where it ended by itself.
        """
        places, lines = self.places(papers), self._part(f"lines-{os.getpid()}").with_suffix(".jsonl")
        lines.unlink(missing_ok=True)
        given = {"data": str(places.data.folder), "own": str(places.own), **arguments}
        command = [
            CONTENDERS[engine].python(self.peers), "-m", "benchmarks.relational.tasks", task, engine, str(lines),
            json.dumps(given),
        ]  # fmt: skip
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {**os.environ, "PYTHONPATH": path, **(SINGLE if task != "load" else {})}
        found, ended_by = supervised(command, lines, wait_s, environment)
        if any("done" in line or "stages" in line for line in found):
            return found, None
        last = next((line for line in reversed(found) if "name" in line), {})
        return found, {**last, "ended": ended_by}


def say(text: str) -> None:
    """Prints progress at once."""
    print(text, file=sys.stderr, flush=True)
