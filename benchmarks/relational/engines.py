"""Who takes part, in which Python, and what language each reads.

The peers are no dependencies:

    /tmp/hybrid-peers/bin/pip install kuzu==0.11.3 duckdb==2.0.1

beside those of benchmarks/hybrid/engines.py. One that is absent is left out, and the result says why.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.relational.contract import Engine, Places

OURS, ON_DISK, IN_MEMORY, DUCKDB, KUZU, ARRAYS = (
    "hybridkg",
    "oxigraph on disk",
    "oxigraph in memory",
    "duckdb",
    "kuzu",
    "arrays",
)


@dataclass(frozen=True)
class Contender:
    """One engine.

    Args:
        name: in the result.
        language: of the texts it is asked.
        module: of this package.
        package: what has to be importable.
        open: the function of the module that opens it.
        files: glob patterns of its files: in the folder of engines, or in that of this benchmark; none in memory.
        apart: it runs in the Python of the peers.
    """

    name: str
    language: str
    module: str
    package: str
    open: str = "open"
    files: tuple[str, ...] = ()
    apart: bool = False

    def python(self, peers: Path) -> str:
        """The interpreter."""
        return str(peers) if self.apart else sys.executable

    def version(self, peers: Path) -> tuple[str, str]:
        """(version, "") of its package, or ("", why it cannot take part)."""
        python = self.python(peers)
        if not Path(python).exists():
            return "", f"no {python}: see benchmarks/relational/engines.py"
        text = f"import {self.package} as it; print(it.__version__)"
        found = subprocess.run([python, "-c", text], capture_output=True, check=False, text=True)
        if found.returncode:
            return "", f"no package {self.package} in {python}"
        return found.stdout.strip(), ""

    def loaded(self, places: Places) -> dict[str, Any]:
        """Loads the data; seconds by stage, none where it was there."""
        found: dict[str, Any] = self._function("load")(places)
        return found

    def opened(self, places: Places, patience_s: float) -> Engine:
        """The engine, open."""
        engine: Engine = self._function(self.open)(places, patience_s)
        return engine

    def _function(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"benchmarks.relational.{self.module}"), name)
        return found

    def stored(self, places: Places) -> list[Path]:
        """Its files and folders."""
        return [
            path for folder in (places.data.engines, places.own) for name in self.files for path in folder.glob(name)
        ]


CONTENDERS = {
    one.name: one
    for one in (
        Contender(OURS, "sparql", "engine_hybridkg", "hybridkg", files=("kb",)),
        Contender(ON_DISK, "sparql", "engine_oxigraph", "pyoxigraph", "open_on_disk", files=("oxigraph",)),
        Contender(IN_MEMORY, "sparql", "engine_oxigraph", "pyoxigraph", "open_in_memory"),
        Contender(DUCKDB, "sql", "engine_duckdb", "duckdb", files=("tables.duckdb",), apart=True),
        Contender(KUZU, "cypher", "engine_kuzu", "kuzu", files=("strings.kuzu",), apart=True),
        Contender(ARRAYS, "arrays", "engine_arrays", "hybridkg", files=("kb",)),
    )
}
"""By name."""
