"""Calibrated unit costs of one knowledge base on this machine: defaults, overridden by measurements at index time.

`cost.json` is stored in the folder of the knowledge base, outside its generations, because it describes the machine and
not the data. It is optional: if it is missing, damaged, of another machine or not writable, the defaults apply.
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
"""Version of the file; files of other versions are ignored."""

FIXED = "HYBRIDKG_COSTS"
"""Environment variable: `default` turns calibration off, so that plans depend on the data alone."""

MUCH = 1.4
"""Maximum factor by which a unit cost may change before cached plans are invalidated."""

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
"""Unit costs of work in this process, for every text engine."""

MIN_MEASURED = 4
"""Minimum number of measured unit costs for scaling the others."""


class CalibratedCosts:
    """Calibrated unit costs; thread-safe.

    Args:
        engine: name of the text engine, which declares the defaults.
        file: path of `cost.json`; None for no file.
        fixed: use the defaults only.
        remote: measured unit costs of a remote graph, by name.
    """

    def __init__(
        self,
        engine: str = TEXT_ENGINES.default,
        file: Path | None = None,
        *,
        fixed: bool = False,
        remote: Mapping[str, float] = {},
    ):
        self._engine, self._file, self.fixed, self._remote = engine, file, fixed, remote
        self._defaults = replace(default_costs(engine), **remote)
        self._is_remote = is_remote_engine(engine)
        self._scope = f"{engine}, graph at an endpoint" if remote else engine
        """Key of the file: a file of another scope is ignored."""
        self._calibrated: dict[str, float] = {}
        self._at_most: Mapping[str, float] = {}
        self._scaled = 1.0
        self._state = "nothing has been measured here"
        self._lock = threading.Lock()
        self.model = self._measured = self._planned_with = self._defaults
        """Current unit costs; those without `at_most`; those at the last change of `epoch`."""
        self.epoch = 0
        """Number of changes by more than MUCH: part of the key of a cached plan."""

    @classmethod
    def open(
        cls, folder: Path, engine: str, *, fixed: bool | None = None, remote: Mapping[str, float] = {}
    ) -> CalibratedCosts:
        """Unit costs of a knowledge base in `folder`. A bad file raises no error. `fixed` None: as the environment
        says.
        """
        if fixed is None:
            fixed = os.environ.get(FIXED) == "default"
        costs = cls(engine, folder / FILE, fixed=fixed, remote=remote)
        if not fixed:
            costs._load()
        return costs

    def calibrated(self, measured: Measured) -> None:
        """Adoption of measurements on this machine, which are written to the file."""
        if self.fixed:
            return
        with self._lock:
            bounded = self._defaults.bounded(**measured.us)
            self._take({name: getattr(bounded, name) for name in UNITS if name in measured.us})
            self._state = "measured on this machine"
        self._save()

    def at_most(self, bounds: Mapping[str, float]) -> None:
        """Upper bounds in microseconds, measured on a live server, for this process only, until the next call."""
        if self.fixed or bounds == self._at_most:
            return
        with self._lock:
            self._at_most = bounds
            self._change()

    def _save(self) -> None:
        if self._file is None:
            return
        with self._lock:
            text = json.dumps(self._content(), indent=1, sort_keys=True) + "\n"
        _replace(self._file, text)

    def to_json(self) -> dict[str, Any]:
        """Report of all unit costs, in microseconds, with their origins."""
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
        state = f"fixed: {FIXED}=default" if self.fixed else self._state
        return {"engine": self._engine, "state": state, "unit_costs": units}

    def _take(self, calibrated: dict[str, float]) -> None:
        self._calibrated = calibrated
        self._scaled = _pace(
            calibrated[name] / getattr(self._defaults, name) for name in filter(self._is_local, calibrated)
        )
        self._measured = replace(self._defaults, **{name: self._unit_cost(name) for name in UNITS})
        self._change()

    def _change(self) -> None:
        """Recomputation of the current unit costs; a new epoch if one has changed by more than MUCH."""
        units = {name: getattr(self._measured, name) for name in UNITS}
        units |= {name: min(units[name], bound) for name, bound in self._at_most.items()}
        self.model = self._defaults.bounded(**units)
        changes = [getattr(self.model, name) / getattr(self._planned_with, name) for name in UNITS]
        if max(changes) > MUCH or min(changes) < 1 / MUCH:
            self._planned_with, self.epoch = self.model, self.epoch + 1

    def _is_local(self, name: str) -> bool:
        return name not in self._remote and (name in LOCAL or not self._is_remote)

    def _origin(self, name: str) -> str:
        if name in self._remote:
            return "measured at the endpoint"
        if name in self._calibrated:
            return "calibrated"
        return "default" if self._unit_cost(name) == getattr(self._defaults, name) else f"default x {self._scaled:g}"

    def _unit_cost(self, name: str) -> float:
        default = float(getattr(self._defaults, name))
        return self._calibrated.get(name, default * self._scaled if self._is_local(name) else default)

    def _content(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "engine": self._scope,
            "machine": machine(),
            "versions": versions(),
            "calibrated": dict(self._calibrated),
        }

    def _load(self) -> None:
        if self._file is None:
            return
        measured = _read(self._file, self._scope, self._defaults)
        if isinstance(measured, str):
            self._state = measured
            return
        self._take(measured)
        if measured:
            self._state = "measured on this machine"


def _pace(ratios: Iterable[float]) -> float:
    """Median slowdown of a machine relative to the defaults, which scales the unit costs not measured."""
    ordered = sorted(ratios)
    if len(ordered) < MIN_MEASURED:
        return 1.0
    return float(f"{ordered[(len(ordered) - 1) // 2]:.3g}")  # the module `statistics` takes 10 ms to import


def _read(file: Path, scope: str, defaults: CostModel) -> dict[str, float] | str:
    """Measured unit costs in the file, or the reason why it is ignored."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if value["format"] != FORMAT or value["engine"] != scope:
            return f"{FILE} is of another version or text engine, so the defaults hold"
        if value["machine"] != machine():
            return f"{FILE} was measured on another machine, so the defaults hold"
        measured = {name: _above_zero(us) for name, us in value["calibrated"].items() if name in UNITS}
        bounded = defaults.bounded(**measured)  # the file may have been edited
        return {name: float(getattr(bounded, name)) for name in measured}
    except FileNotFoundError:
        return "nothing has been measured here"
    except (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return f"{FILE} cannot be read, so the defaults hold"


def _above_zero(value: Any) -> float:
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError(f"{value!r} is not a cost")
    return number


def _replace(file: Path, text: str) -> None:
    """Atomic replacement of the file; a read-only medium is no error."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        with temporary.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
        temporary.replace(file)
    except OSError:
        with suppress(OSError):
            temporary.unlink()


def machine() -> dict[str, Any]:
    """Fingerprint of the hardware, without personal data."""
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
    """Versions of the software measured, for information only."""
    from importlib.metadata import PackageNotFoundError, version

    versions_of = {"python": platform.python_version()}
    for name in ("hybridkg", "numba", "numpy", "pyoxigraph"):
        with suppress(PackageNotFoundError):
            versions_of[name] = version(name)
    return versions_of
