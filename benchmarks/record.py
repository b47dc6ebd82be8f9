"""Stores what a benchmark measured, beside what it was measured on."""

from __future__ import annotations

import json
import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("hybridkg", "pyoxigraph", "numpy", "numba", "regex", "PyStemmer", "lark")


def machine() -> dict[str, Any]:
    """Cores, memory, processor and versions: what a ratio needs beside it to be understood."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "cpu": cpu,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def record(name: str, figures: dict[str, Any], *, seed: int | None = None) -> None:
    """Prints the figures and writes them to benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    document = {"benchmark": name, "date": date.today().isoformat(), "seed": seed, "machine": machine(), **figures}
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    print(f"stored in {path}")
