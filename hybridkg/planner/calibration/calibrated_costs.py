"""The unit costs of one knowledge base on this machine: the defaults, and what was measured at index time.

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
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.interfaces.text_engine import TEXT_ENGINES, is_remote_engine
from hybridkg.planner.cost_model import UNITS, CostModel, default_costs

if TYPE_CHECKING:
    from hybridkg.planner.calibration.local_calibration import Measured

FILE = "cost.json"
FORMAT = 1
"""Version of the file; another one is not read."""

FIXED = "HYBRIDKG_COSTS"
"""Environment variable: with the value `default` nothing is measured, so plans depend on the data alone."""

MUCH = 1.4
"""A remembered plan is chosen again when a unit cost has changed by more than this factor."""

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

MIN_MEASURED = 4
"""Unit costs that must have been measured before the others follow them."""


class CalibratedCosts:
    """Unit costs as they were measured; safe to use from many threads.

    Args:
        engine: name of the text engine, whose defaults hold.
        file: where they are kept; None for nowhere.
        fixed: the defaults, and nothing else.
        far: unit costs of what another machine does for the graph, by name, as they were measured there.
    """

    def __init__(
        self,
        engine: str = TEXT_ENGINES.default,
        file: Path | None = None,
        *,
        fixed: bool = False,
        far: Mapping[str, float] = {},
    ):
        self._engine, self._file, self.memoize_for_template, self._far = engine, file, fixed, far
        self._defaults = replace(default_costs(engine), **far)
        self._is_remote = is_remote_engine(engine)
        self._about = f"{engine}, graph at an endpoint" if far else engine
        """What the file has to speak of."""
        self._calibrated: dict[str, float] = {}
        self._at_most: Mapping[str, float] = {}
        self._scaled = 1.0
        self._state = "nothing has been measured here"
        self._lock = threading.Lock()
        self.model = self._measured = self._planned_with = self._defaults
        """The unit costs that hold; those without `at_most`; those that held when `epoch` last changed."""
        self.epoch = 0
        """How often a unit cost has changed by MUCH: part of the key of a remembered plan."""

    @classmethod
    def open(
        cls, folder: Path, engine: str, *, fixed: bool | None = None, far: Mapping[str, float] = {}
    ) -> CalibratedCosts:
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

    def calibrated(self, measured: Measured) -> None:
        """Takes over what has been measured on this machine, and writes it to the file."""
        if self.memoize_for_template:
            return
        with self._lock:
            bounded = self._defaults.bounded(**measured.us)
            self._take({name: getattr(bounded, name) for name in UNITS if name in measured.us})
            self._state = "measured on this machine"
        self._save()

    def at_most(self, bounds: Mapping[str, float]) -> None:
        """Some unit costs are no more, as a server shows at this moment; until it is asked otherwise, and in this
        process only.

        Args:
            bounds: microseconds by name.
        """
        if self.memoize_for_template or bounds == self._at_most:
            return
        with self._lock:
            self._at_most = bounds
            self._change()

    def _save(self) -> None:
        """Writes the file; a folder that cannot be written fails nothing."""
        if self._file is None:
            return
        with self._lock:
            text = json.dumps(self._content(), indent=1, sort_keys=True) + "\n"
        _replace(self._file, text)

    def to_json(self) -> dict[str, Any]:
        """For people and programs: every unit cost, its value in microseconds and where it comes from."""
        with self._lock:
            units = [
                {
                    "name": name,
                    "us": float(f"{getattr(self.model, name):.4g}"),
                    "default_us": getattr(self._defaults, name),
                    "origin": self._origin(name),
                }
                for name in UNITS
            ]
        state = f"fixed: {FIXED}=default" if self.memoize_for_template else self._state
        return {"engine": self._engine, "state": state, "unit_costs": units}

    def _take(self, calibrated: dict[str, float]) -> None:
        """Replaces what was measured, and all that follows from it."""
        self._calibrated = calibrated
        self._scaled = _pace(
            calibrated[name] / getattr(self._defaults, name) for name in filter(self._is_here, calibrated)
        )
        self._measured = replace(self._defaults, **{name: self._known(name) for name in UNITS})
        self._change()

    def _change(self) -> None:
        """Finds the unit costs that hold now, and whether plans are to be chosen again."""
        known = {name: getattr(self._measured, name) for name in UNITS}
        known |= {name: min(known[name], most) for name, most in self._at_most.items()}
        self.model = self._defaults.bounded(**known)
        changes = [getattr(self.model, name) / getattr(self._planned_with, name) for name in UNITS]
        if max(changes) > MUCH or min(changes) < 1 / MUCH:
            self._planned_with, self.epoch = self.model, self.epoch + 1

    def _is_here(self, name: str) -> bool:
        """Whether this machine does the work."""
        return name not in self._far and (name in LOCAL or not self._is_remote)

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
        }

    def _load(self) -> None:
        if self._file is None:
            return
        found = _read(self._file, self._about, self._defaults)
        if isinstance(found, str):
            self._state = found
            return
        self._take(found)
        if found:
            self._state = "measured on this machine"


def _pace(ratios: Iterable[float]) -> float:
    """How many times as slow as expected a machine is, by the median; what was not measured is taken to follow suit."""
    known = sorted(ratios)
    if len(known) < MIN_MEASURED:
        return 1.0
    return float(f"{known[(len(known) - 1) // 2]:.3g}")  # the module `statistics` takes 10 ms to import


def _read(file: Path, about: str, defaults: CostModel) -> dict[str, float] | str:
    """The measured unit costs in the file, or why it does not count."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value["format"] != FORMAT or value["engine"] != about:
            return f"{FILE} is of another version or text engine, so the defaults hold"
        if value["machine"] != machine():
            return f"{FILE} was measured on another machine, so the defaults hold"
        measured = {name: _above_zero(us) for name, us in value["calibrated"].items() if name in UNITS}
        bounded = defaults.bounded(**measured)  # whoever has edited the file may have left any number
        return {name: float(getattr(bounded, name)) for name in measured}
    except FileNotFoundError:
        return "nothing has been measured here"
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return f"{FILE} cannot be read, so the defaults hold"


def _above_zero(value: Any) -> float:
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{value!r} is no cost")
    return number


def _replace(file: Path, text: str) -> None:
    """Replaces the file as a whole; a medium that cannot be written is nobody's mistake here."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink()


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
