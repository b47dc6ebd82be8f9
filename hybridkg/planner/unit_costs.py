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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.meter import Lesson
from hybridkg.planner.cost_model import FARTHEST, UNITS, CostModel, default_costs
from hybridkg.planner.refinement import NOTHING, Refinement, refine

if TYPE_CHECKING:
    from hybridkg.planner.calibration import Measured

FILE = "cost.json"
FORMAT = 1
"""Version of the file; another one is not read."""

FIXED = "HYBRIDKG_COSTS"
"""Environment variable: with the value `default` nothing is measured or learned, so plans depend on the data alone."""

ONE_IN = 16
"""Runs, of which the last is measured: the first ones of a process are about opening files."""

MUCH = 1.4
"""Times that a unit cost must have changed for plans that are remembered to be chosen anew: more than noise moves
it (refinement.py)."""

SAVED_AFTER_S = 60.0
SAVED_AFTER_RUNS = 200
"""The file is written again when so many seconds and pieces of work have come since it was."""

WORTH_SAVING = 20
"""Pieces of work whose lesson is written down when a knowledge base is closed."""

LOCAL = {
    "us_per_adjacency_entry",
    "us_per_graph_question",
    "us_per_store_question",
    "us_per_store_row",
    "us_per_probe_in_store",
    "us_per_row_of_terms",
    "us_per_row_passed",
    "us_per_look",
    "us_per_operator",
}
"""What this process does itself, whatever the text engine."""

ON_SERVERS = ("elasticsearch",)
"""Text engines whose work another machine does."""

LEAST_MEASURED = 4
"""Unit costs that must have been measured before the others follow them."""

LEAST_RUNS = 20
"""Pieces of work that must have taught something of a unit cost before others follow it."""

MOST_RUNS = 10**12
"""Pieces of work that a file may speak of; so many take a year."""


class UnitCosts:
    """Unit costs that follow what is seen; safe to use from many threads.

    Args:
        engine: name of the text engine, whose defaults hold.
        file: where they are kept; None for nowhere.
        fixed: the defaults, and nothing else.
        far: unit costs of what another machine does for the graph, by name, as they were measured there.
    """

    def __init__(
        self,
        engine: str = "embedded",
        file: Path | None = None,
        *,
        fixed: bool = False,
        far: Mapping[str, float] = {},
    ):
        self._engine, self._file, self.fixed, self._far = engine, file, fixed, far
        self._defaults = replace(default_costs(engine), **far)
        self._about = f"{engine}, graph at an endpoint" if far else engine
        """What the file has to speak of."""
        self._calibrated: dict[str, float] = {}
        self._refined: dict[str, Refinement] = {}
        self._at_most: Mapping[str, float] = {}
        self._scaled = 1.0
        self._turns = count(1)
        self._state = "nothing has been measured here"
        self._lock = threading.Lock()
        self._unsaved, self._saved_at = 0, monotonic()
        self._follows = 1.0
        self.model = self._unrefined = self._planned_with = self._defaults
        """As they are known by now; without what use has taught; as they were when `epoch` last changed."""
        self.epoch = 0
        """How often a unit cost has changed by MUCH, so that plans are to be chosen anew."""

    @classmethod
    def open(cls, folder: Path, engine: str, *, fixed: bool | None = None, far: Mapping[str, float] = {}) -> UnitCosts:
        """Those of a knowledge base. Never raises for the file's sake.

        Args:
            folder: the knowledge base.
            engine: name of its text engine.
            fixed: the defaults and nothing else; None: as the environment says.
            far: as for the class.
        """
        if fixed is None:
            fixed = os.environ.get(FIXED) == "default"
        costs = cls(engine, folder / FILE, fixed=fixed, far=far)
        if not fixed:
            costs._load()
        return costs

    def asks(self) -> bool:
        """Whether this run is one of those to be measured; called once for each."""
        return not self.fixed and next(self._turns) % ONE_IN == 0

    def learn(self, lessons: Sequence[Lesson]) -> None:
        """Takes over what a run has measured. Never raises."""
        if self.fixed:
            return
        with self._lock:
            learned = sum(refine(self._refined, lesson, self._unrefined) for lesson in lessons)
            if learned:
                self._refine()
            self._unsaved += learned
            due = self._unsaved >= SAVED_AFTER_RUNS and monotonic() - self._saved_at >= SAVED_AFTER_S
        if due:
            self.save()

    def calibrated(self, measured: Measured) -> None:
        """Takes over what has been measured on this machine; forgets what use has taught of other constants."""
        if self.fixed:
            return
        with self._lock:
            bounded = self._defaults.bounded(**measured.us)
            self._take({name: getattr(bounded, name) for name in UNITS if name in measured.us}, {})
            self._state = "measured on this machine"
        self.save(anew=True)

    def at_most(self, bounds: Mapping[str, float]) -> None:
        """Some unit costs are no more, as a server shows at this moment; until it is asked otherwise, and in this
        process only.

        Args:
            bounds: microseconds by name.
        """
        if self.fixed or bounds == self._at_most:
            return
        with self._lock:
            self._at_most = bounds
            self._refine()

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
            known = None if anew else _read(self._file, self._about, self._defaults)
            if isinstance(known, _Kept) and known.calibrated != self._calibrated:
                self._take(known.calibrated, {})
                return False
            text = json.dumps(self._content(), indent=1, sort_keys=True) + "\n"
        return _replace(self._file, text)

    def to_json(self) -> dict[str, Any]:
        """For people and programs: every unit cost, its value in microseconds and where it comes from."""
        with self._lock:
            units = [
                {
                    "name": name,
                    "us": float(f"{getattr(self.model, name):.4g}"),
                    "default_us": getattr(self._defaults, name),
                    "origin": self._origin(name),
                    "refined_by": float(f"{self._factor(name):.3g}"),
                    "observations": self._refined.get(name, NOTHING).runs,
                }
                for name in UNITS
            ]
        state = f"fixed: {FIXED}=default" if self.fixed else self._state
        return {"engine": self._engine, "state": state, "unit_costs": units}

    def _take(self, calibrated: dict[str, float], refined: dict[str, Refinement]) -> None:
        """What is known is this, and all that follows from it."""
        self._calibrated, self._refined = calibrated, refined
        self._scaled = _pace(
            calibrated[name] / getattr(self._defaults, name) for name in filter(self._is_here, calibrated)
        )
        self._unrefined = replace(self._defaults, **{name: self._known(name) for name in UNITS})
        self._refine()

    def _refine(self) -> None:
        """What use has taught has changed. Of what was never measured in use, this machine's own follows the rest."""
        refined = self._refined
        seen = [one for name, one in refined.items() if self._is_here(name) and one.runs >= LEAST_RUNS]
        self._follows = _pace(one.factor for one in seen)
        known = {name: getattr(self._unrefined, name) * self._factor(name) for name in UNITS}
        known |= {name: min(known[name], most) for name, most in self._at_most.items()}
        self.model = self._defaults.bounded(**known)
        changes = [getattr(self.model, name) / getattr(self._planned_with, name) for name in UNITS]
        if max(changes) > MUCH or min(changes) < 1 / MUCH:
            self._planned_with, self.epoch = self.model, self.epoch + 1

    def _factor(self, name: str) -> float:
        own = self._refined.get(name)
        if own is not None:
            return own.factor
        return self._follows if self._is_here(name) else 1.0

    def _is_here(self, name: str) -> bool:
        """Whether this machine does the work."""
        return name not in self._far and (name in LOCAL or self._engine not in ON_SERVERS)

    def _origin(self, name: str) -> str:
        if name in self._far:
            return "measured at the endpoint"
        if name in self._calibrated:
            return "calibrated"
        return "default" if self._known(name) == getattr(self._defaults, name) else f"default x {self._scaled:g}"

    def _known(self, name: str) -> float:
        default = float(getattr(self._defaults, name))
        return self._calibrated.get(name, default * self._scaled if self._is_here(name) else default)

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "engine": self._about,
            "machine": machine(),
            "versions": versions(),
            "calibrated": dict(self._calibrated),
            "refined": {name: [one.factor, one.runs] for name, one in self._refined.items()},
        }

    def _load(self) -> None:
        if self._file is None:
            return
        found = _read(self._file, self._about, self._defaults)
        if isinstance(found, str):
            self._state = found
            return
        self._take(found.calibrated, found.refined)
        if found.calibrated:
            self._state = "measured on this machine"


def _pace(ratios: Iterable[float]) -> float:
    """How many times as slow as expected a machine is, by the median; what was not measured is taken to follow suit."""
    known = sorted(ratios)
    if len(known) < LEAST_MEASURED:
        return 1.0
    return float(f"{known[(len(known) - 1) // 2]:.3g}")  # the module `statistics` takes 10 ms to import


@dataclass(frozen=True)
class _Kept:
    calibrated: dict[str, float]
    refined: dict[str, Refinement]


def _read(file: Path, about: str, defaults: CostModel) -> _Kept | str:
    """What the file says, or why it does not count."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value["format"] != FORMAT or value["engine"] != about:
            return f"{FILE} is of another version or text engine, so the defaults hold"
        if value["machine"] != machine():
            return f"{FILE} was measured on another machine, so the defaults hold"
        measured = {name: _above_zero(us) for name, us in value["calibrated"].items() if name in UNITS}
        bounded = defaults.bounded(**measured)  # whoever has edited the file may have left any number
        calibrated = {name: float(getattr(bounded, name)) for name in measured}
        refined = {
            name: Refinement(min(max(_above_zero(factor), 1 / FARTHEST), FARTHEST), min(max(0, int(runs)), MOST_RUNS))
            for name, (factor, runs) in value["refined"].items()
            if name in UNITS
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
