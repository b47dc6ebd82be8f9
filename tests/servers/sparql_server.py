"""Real SPARQL servers for tests: Oxigraph's from PyPI and Fuseki; killed, started again, and gone at the end."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Self

from elastic_server import JAVA_OPTIONS, ROOT, WATCHDOG

READY_SECONDS = 120
"""The very first Fuseki unpacks itself; every other one is ready after 3 to 6 s."""


class SparqlServer:
    """One server on 127.0.0.1 with a folder of its own, which ends with this process at the latest."""

    name = ""
    path = ""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"hybridkg-{self.name}-"))
        self.port = _free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.address}{self.path}"
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    @classmethod
    def unavailable(cls) -> str:
        """Why there can be none here; empty where there can."""
        raise NotImplementedError

    def command(self) -> list[str]:
        """What starts it."""
        raise NotImplementedError

    def load(self, file: Path) -> None:
        """Puts a Turtle or N-Triples file into the default graph."""
        raise NotImplementedError

    def start(self) -> Self:
        """Starts it, for the first time or again after `kill`, and waits until it answers."""
        with (self.folder / "console.log").open("wb") as output:
            self._process = subprocess.Popen(
                ["nice", "-n", "19", *self.command()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.folder,
                env={**os.environ, "JAVA_OPTS": " ".join(["-Xmx512m", *JAVA_OPTIONS]), "FUSEKI_BASE": str(self.folder)},
            )
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "sh", str(self._process.pid), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with suppress(OSError, http.client.HTTPException):
                if self.send("POST", self.path, b"ASK {}", "application/sparql-query") == 200:
                    return self
            time.sleep(0.1)
        log = (self.folder / "console.log").read_text(errors="replace")[-2000:]
        self.stop()
        raise RuntimeError(f"{self.name} does not start:\n{log}")

    def send(self, method: str, path: str, body: bytes, kind: str) -> int:
        """The status of a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": kind, "Accept": "*/*"})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def kill(self) -> None:
        """kill -9; the folder stays."""
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
            self._watchdog = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """No process and no folder is left; may be called again."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class OxigraphServer(SparqlServer):
    """`oxigraph serve`, with its data on disk."""

    name, path = "oxigraph", "/query"

    @classmethod
    def unavailable(cls) -> str:
        """Whether the package is installed."""
        return "" if cls._program() else "no SPARQL server: the package 'oxigraph' is not installed"

    @staticmethod
    def _program() -> str | None:
        return shutil.which("oxigraph", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")

    def command(self) -> list[str]:
        """On its own port."""
        return [
            str(self._program()),
            "serve",
            "--location",
            str(self.folder / "data"),
            "--bind",
            f"127.0.0.1:{self.port}",
        ]

    def load(self, file: Path) -> None:
        """By the Graph Store protocol."""
        kind = "application/n-triples" if file.suffix == ".nt" else "text/turtle"
        assert self.send("PUT", "/store?default", file.read_bytes(), kind) in (200, 201, 204)


class FusekiServer(SparqlServer):
    """Apache Jena Fuseki, in memory."""

    name, path = "fuseki", "/ds"

    @classmethod
    def unavailable(cls) -> str:
        """Whether its script and Java are there."""
        if not cls._script().is_file():
            return f"no SPARQL server: there is no {cls._script()}"
        return "" if shutil.which("java") else "no SPARQL server: Fuseki needs Java 17 or newer"

    @staticmethod
    def _script() -> Path:
        return Path(os.environ.get("HYBRIDKG_SERVER_SCRIPTS", ROOT.parent / "shared" / "servers")) / "fuseki"

    def command(self) -> list[str]:
        """In memory, on its own port."""
        return ["bash", str(self._script()), "--localhost", "--port", str(self.port), "--mem", "--update", "/ds"]

    def load(self, file: Path) -> None:
        """By the Graph Store protocol."""
        kind = "application/n-triples" if file.suffix == ".nt" else "text/turtle"
        assert self.send("PUT", "/ds?default", file.read_bytes(), kind) in (200, 201, 204)


SERVERS: dict[str, type[SparqlServer]] = {"oxigraph": OxigraphServer, "fuseki": FusekiServer}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
