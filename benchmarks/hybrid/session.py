"""One run: its sizes, its scratch folder, and the parts that its phases have measured so far."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.hybrid.writing import Data
from benchmarks.text.memory import Watched, watch
from benchmarks.text.session import SINGLE

MAX_SECONDS = 3 * 3600
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Session:
    """What is measured, and where.

    Args:
        scratch: folder for data, engines and parts; what is there from an earlier run is used again.
        name: of the run; its parts are kept apart by it.
        sizes: papers of the graphs that all engines are asked on, ascending.
        growth: of those that only hybridkg is asked on, ascending.
        engines: names of those that take part.
        peers: the Python of the peers.
        half: of the workload.
        every: asks one of so many questions.
        passes: processes of each engine.
        warming: passes of the warming questions.
        checked: an engine's own scores are checked in one of so many questions.
        fresh: whether no text repeats, and no engine prepares one.
    """

    scratch: Path
    name: str
    sizes: tuple[int, ...]
    growth: tuple[int, ...]
    engines: tuple[str, ...]
    peers: Path
    half: str
    every: int
    passes: int
    warming: int
    checked: int
    fresh: bool = False

    def data(self, papers: int) -> Data:
        """The data of a size."""
        return Data(self.scratch / str(papers))

    @property
    def _parts(self) -> Path:
        folder = self.scratch / f"parts-{self.name}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def keep(self, part: str, figures: Any) -> None:
        """Stores what a phase measured."""
        (self._parts / f"{part}.json").write_text(json.dumps(figures, indent=1))

    def part(self, name: str) -> Any:
        """What a phase measured; None where it has not run."""
        path = self._parts / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def run(
        self, task: str, python: str = sys.executable, *, single: bool = False, **arguments: Any
    ) -> tuple[Any, Watched]:
        """Runs a task in a process of its own.

        Returns:
            what it answered, None where it failed, and how it went.
        """
        with tempfile.TemporaryDirectory() as folder:
            answer = Path(folder) / "answer.json"
            command = [python, "-m", "benchmarks.hybrid.tasks", task, str(answer), json.dumps(arguments)]
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            environment: dict[str, Any] = {"PYTHONPATH": path, **(SINGLE if single else {})}
            went = watch(command, longest_s=MAX_SECONDS, **environment)
            if went.code:
                say(f"{task} failed with {went.code}: {arguments}")
            return json.loads(answer.read_text()) if not went.code and answer.exists() else None, went


def say(text: str) -> None:
    """Prints progress at once."""
    print(text, flush=True)
