"""The unit costs of one knowledge base on this machine: defaults, what was measured, and what use has taught.

`cost.json` lies in the folder of the knowledge base, beside its generations, because it says something of the machine
and not of the data. Nothing depends on it: where it is missing, damaged, of another machine or cannot be written, the
defaults hold.
"""

from __future__ import annotations

import json
import math
import os
import platform
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from hybridkg.planner.cost_model import FARTHEST, UNITS, CostModel, default_costs

if TYPE_CHECKING:
    from hybridkg.planner.calibration import Measured

FILE = "cost.json"
FORMAT = 1
"""Version of the file; another one is not read."""

FIXED = "HYBRIDKG_COSTS"
"""Environment variable: with the value `default` nothing is measured or learned, so plans depend on the data alone."""

WEIGHT = 0.1
"""Of the newest ratio of actual and predicted time in their mean (of logarithms: half and double cancel out)."""

LEAST_US = 50.0
"""Work that took less, and should have, teaches nothing: calling it is most of it."""

SAVED_AFTER_S = 60.0
SAVED_AFTER_RUNS = 200
"""The file is written again when as much has come since it was."""

WORTH_SAVING = 20
"""Runs whose lesson is written down when a knowledge base is closed."""

GRAPH, STORE, TEXT_RANKING, TEXT_SCORING, ROWS = "graph", "store", "text ranking", "text scoring", "rows"

REFINES = {
    GRAPH: ("us_per_adjacency_entry", "us_per_graph_question"),
    STORE: ("us_per_store_question", "us_per_store_row", "us_per_probe_in_store"),
    TEXT_RANKING: ("us_per_text_question", "us_per_posting", "us_per_hit", "us_per_masked_candidate"),
    TEXT_SCORING: ("us_per_text_scoring", "us_per_scored_posting", "us_per_scored_candidate"),
    ROWS: ("us_per_row_of_terms", "us_per_row_passed", "us_per_look", "us_per_operator"),
}
"""The unit costs that are corrected together when work of a kind takes longer, or less long, than predicted."""


LOCAL = {name for kind in (GRAPH, STORE, ROWS) for name in REFINES[kind]}
"""What this process does itself, whatever the text engine."""

ON_SERVERS = ("elasticsearch",)
"""Text engines whose work another machine does."""

LEAST_MEASURED = 4
"""Unit costs that must have been measured before the others are scaled by them."""


@dataclass(frozen=True)
class Refinement:
    """What use has taught of one kind of work: actual over predicted time, and how many runs say so."""

    factor: float = 1.0
    runs: int = 0

    def after(self, predicted_us: float, actual_us: float) -> Refinement:
        """With one run more, whose prediction had this factor in it.

        >>> Refinement(2.0, 3).after(100.0, 100.0)
        Refinement(factor=2.0, runs=4)
        """
        ratio = min(max(actual_us / predicted_us, 1 / FARTHEST), FARTHEST)
        factor = self.factor * math.exp(WEIGHT * math.log(ratio))
        return Refinement(min(max(factor, 1 / FARTHEST), FARTHEST), self.runs + 1)


class UnitCosts:
    """Unit costs that follow what is seen; safe to use from many threads.

    Args:
        engine: name of the text engine, whose defaults hold.
        file: where they are kept; None for nowhere.
        fixed: the defaults, and nothing else.
    """

    def __init__(self, engine: str = "embedded", file: Path | None = None, *, fixed: bool = False):
        self._engine, self._file, self.fixed = engine, file, fixed
        self._defaults = default_costs(engine)
        self._calibrated: dict[str, float] = {}
        self._refined: dict[str, Refinement] = {}
        self._scaled = 1.0
        self._state = "nothing has been measured here"
        self._lock = threading.Lock()
        self._unsaved, self._saved_at = 0, monotonic()
        self._model: CostModel | None = self._defaults

    @classmethod
    def open(cls, folder: Path, engine: str, *, fixed: bool | None = None) -> UnitCosts:
        """Those of a knowledge base. Never raises for the file's sake.

        Args:
            folder: the knowledge base.
            engine: name of its text engine.
            fixed: the defaults and nothing else; None: as the environment says.
        """
        if fixed is None:
            fixed = os.environ.get(FIXED) == "default"
        costs = cls(engine, folder / FILE, fixed=fixed)
        if not fixed:
            costs._load()
        return costs

    @property
    def model(self) -> CostModel:
        """The costs as they are known by now."""
        model = self._model
        if model is None:
            with self._lock:
                known = {name: self._known(name) for name in UNITS}
                for kind, refinement in self._refined.items():
                    for name in REFINES[kind]:
                        known[name] *= refinement.factor
                model = self._model = self._defaults.bounded(**known)
        return model

    def observe(self, kind: str, predicted_us: float, actual_us: float) -> None:
        """Work of a kind (a key of REFINES) is done, and took so long. Never raises."""
        learned = min(predicted_us, actual_us) > 0 and math.isfinite(predicted_us) and math.isfinite(actual_us)
        if self.fixed or kind not in REFINES or not learned or max(predicted_us, actual_us) < LEAST_US:
            return
        with self._lock:
            self._refined[kind] = self._refined.get(kind, Refinement()).after(predicted_us, actual_us)
            self._model = None
            self._unsaved += 1
            due = self._unsaved >= SAVED_AFTER_RUNS and monotonic() - self._saved_at >= SAVED_AFTER_S
        if due:
            self.save()

    def calibrated(self, measured: Measured) -> None:
        """Takes over what has been measured on this machine; forgets what use has taught of other constants."""
        if self.fixed:
            return
        with self._lock:
            bounded = self._defaults.bounded(**measured.us)
            self._calibrated = {name: getattr(bounded, name) for name in UNITS if name in measured.us}
            self._scaled = self._pace()
            self._refined = {}
            self._model = None
            self._state = "measured on this machine"
        self.save(anew=True)

    def close(self) -> None:
        """Nobody will ask any more: what has been learned in many runs is written down."""
        if self._unsaved >= WORTH_SAVING:
            self.save()

    def save(self, *, anew: bool = False) -> bool:
        """Writes the file; whether it did. What another process has measured meanwhile is kept.

        Args:
            anew: what was measured is newer than the file.
        """
        if self._file is None or self.fixed:
            return False
        with self._lock:
            self._unsaved, self._saved_at = 0, monotonic()
            known = None if anew else _read(self._file, self._engine)
            if isinstance(known, _Kept) and known.calibrated != self._calibrated:
                self._calibrated, self._refined, self._model = known.calibrated, {}, None
                self._scaled = self._pace()
                return False
            text = json.dumps(self._content(), indent=1, sort_keys=True) + "\n"
        return _replace(self._file, text)

    def to_json(self) -> dict[str, Any]:
        """For people and programs: every unit cost, its value in microseconds and where it comes from."""
        model, refined = self.model, dict(self._refined)
        kind_of = {name: kind for kind, names in REFINES.items() for name in names}
        units = []
        for name in UNITS:
            runs = refined.get(kind_of[name], Refinement()).runs
            units.append(
                {
                    "name": name,
                    "us": float(f"{getattr(model, name):.4g}"),
                    "default_us": getattr(self._defaults, name),
                    "origin": self._origin(name),
                    "refined_by_runs": runs,
                }
            )
        state = f"fixed: {FIXED}=default" if self.fixed else self._state
        return {"engine": self._engine, "state": state, "unit_costs": units}

    def _pace(self) -> float:
        """How slow this machine is compared with the defaults': what could not be measured is taken to follow suit."""
        local = [name for name in self._calibrated if name in LOCAL or self._engine not in ON_SERVERS]
        if len(local) < LEAST_MEASURED:
            return 1.0
        ratios = sorted(self._calibrated[name] / getattr(self._defaults, name) for name in local)
        return float(f"{ratios[len(ratios) // 2]:.3g}")  # the module `statistics` takes 10 ms to import

    def _origin(self, name: str) -> str:
        if name in self._calibrated:
            return "calibrated"
        return "default" if self._known(name) == getattr(self._defaults, name) else f"default x {self._scaled:g}"

    def _known(self, name: str) -> float:
        default = float(getattr(self._defaults, name))
        if name in self._calibrated:
            return self._calibrated[name]
        return default * self._scaled if name in LOCAL or self._engine not in ON_SERVERS else default

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "engine": self._engine,
            "machine": machine(),
            "versions": versions(),
            "calibrated": dict(self._calibrated),
            "refined": {kind: [one.factor, one.runs] for kind, one in self._refined.items()},
        }

    def _load(self) -> None:
        if self._file is None:
            return
        found = _read(self._file, self._engine)
        if isinstance(found, str):
            self._state = found
            return
        self._calibrated, self._refined, self._model = found.calibrated, found.refined, None
        self._scaled = self._pace()
        if found.calibrated:
            self._state = "measured on this machine"


@dataclass(frozen=True)
class _Kept:
    calibrated: dict[str, float]
    refined: dict[str, Refinement]


def _read(file: Path, engine: str) -> _Kept | str:
    """What the file says, or why it does not count."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value["format"] != FORMAT or value["engine"] != engine:
            return f"{FILE} is of another version or text engine, so the defaults hold"
        if value["machine"] != machine():
            return f"{FILE} was measured on another machine, so the defaults hold"
        calibrated = {name: _above_zero(us) for name, us in value["calibrated"].items() if name in UNITS}
        refined = {
            kind: Refinement(min(max(_above_zero(factor), 1 / FARTHEST), FARTHEST), max(0, int(runs)))
            for kind, (factor, runs) in value["refined"].items()
            if kind in REFINES
        }
    except FileNotFoundError:
        return "nothing has been measured here"
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return f"{FILE} cannot be read, so the defaults hold"
    return _Kept(calibrated, refined)


def _above_zero(value: Any) -> float:
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{value!r} is no cost")
    return number


def _replace(file: Path, text: str) -> bool:
    """Replaces the file as a whole; a medium that cannot be written is nobody's mistake here."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        return False
    return True


def machine() -> dict[str, Any]:
    """What tells apart machines on which the same work takes another time; names nobody."""
    return {
        "architecture": platform.machine(),
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
    }


def _processor() -> str:
    try:
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return os.environ.get("PROCESSOR_IDENTIFIER", "")  # platform.processor() starts a process


def versions() -> Mapping[str, str]:
    """Of what does the work, for whoever reads the file; another version does not undo a measurement."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("hybridkg", "numba", "numpy", "pyoxigraph"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
