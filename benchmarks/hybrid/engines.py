"""Who takes part, and in which Python each runs.

The peers are no dependencies of hybridkg, nor of its development: Kuzu and
ArcadeDB are 150 MB of native code and a Java, wanted by this benchmark alone.

    python3 -m venv /tmp/hybrid-peers
    /tmp/hybrid-peers/bin/pip install kuzu==0.11.3 arcadedb-embedded==26.10.2.post1 numpy
    .venv/bin/pip install tantivy==0.27.0

and `--peers /tmp/hybrid-peers/bin/python`, which is the default. Fuseki comes
from ../shared/servers and needs a Java 17. One that is absent is left out, and the
result says why.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hybrid.contract import Engine
from benchmarks.hybrid.writing import Data

PEERS_PYTHON = Path("/tmp/hybrid-peers/bin/python")
OURS = "hybridkg"
GLUE = "oxigraph + bm25f"
TEXT_FIRST = "tantivy 1000 + oxigraph"


@dataclass(frozen=True)
class Contender:
    """One engine.

    Args:
        name: in the result.
        module: of this package.
        load: its function that loads.
        open: its function that opens.
        package: what has to be importable; "" for nothing.
        files: what it has in the folder of engines.
        apart: it runs in the Python of the peers.
        exact: its answers are meant to be complete, so hybridkg has to be quicker.
    """

    name: str
    module: str
    load: str
    open: str
    package: str
    files: tuple[str, ...]
    apart: bool = False
    exact: bool = True

    def python(self, peers: Path) -> str:
        """The interpreter."""
        return str(peers) if self.apart else sys.executable

    def absent(self, peers: Path) -> str | None:
        """Why it cannot take part; None where it can."""
        if self.name == "fuseki":
            from benchmarks.hybrid.peer_fuseki import absent

            return absent()
        if self.apart and not peers.exists():
            return f"no {peers}: see benchmarks/hybrid/engines.py"
        found = subprocess.run([self.python(peers), "-c", f"import {self.package}"], capture_output=True, check=False)
        return None if found.returncode == 0 else f"no package {self.package} in {self.python(peers)}"

    def loaded(self, data: Data) -> dict[str, Any]:
        """Loads the data; seconds by stage."""
        found: dict[str, Any] = self._function(self.load)(data)
        return found

    def opened(self, data: Data, strategy: str = "") -> Engine:
        """The engine, open; hybridkg also with a strategy forced."""
        engine: Engine = self._function(self.open)(data, *((strategy,) if strategy else ()))
        return engine

    def _function(self, name: str) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module(f"benchmarks.hybrid.{self.module}"), name)
        return found

    def bytes(self, data: Data) -> int:
        """Of its files; two names of one file count once, as hard links of generations do."""
        paths = [path for name in self.files for path in data.engines.glob(name)]
        files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
        return sum({(stat.st_dev, stat.st_ino): stat.st_size for stat in (file.stat() for file in files)}.values())


CONTENDERS = {
    one.name: one
    for one in (
        Contender(OURS, "ours", "load", "open", "hybridkg", ("kb",)),
        Contender(GLUE, "peer_glue", "load_pattern_first", "PatternFirst", "pyoxigraph", ("oxigraph", "kb/*/text")),
        Contender(
            TEXT_FIRST,
            "peer_glue",
            "load_text_first",
            "TextFirst",
            "tantivy",
            ("oxigraph", "tantivy"),
            exact=False,
        ),
        Contender("kuzu", "peer_kuzu", "load", "open", "kuzu", ("graph.kuzu*",), apart=True),
        Contender("arcadedb", "peer_arcade", "load", "open", "arcadedb_embedded", ("arcade",), apart=True),
        Contender("fuseki", "peer_fuseki", "load", "open", "", ("fuseki",)),
    )
}
"""By name; the glues after hybridkg, whose text index, and after each other, whose store they use."""
