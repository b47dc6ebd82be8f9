"""A real Elasticsearch for tests: started, killed, started again, and gone at the end whatever happens."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from random import SystemRandom
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
READY_SECONDS = 180
"""The very first start unpacks the server; every other one is ready after 10 to 20 s."""

PORTS = range(15000, 22000)
"""Below what the system gives to outgoing connections, and so is the transport port, which is 10,000 higher."""

SETTINGS = {"cluster.routing.allocation.disk.threshold_enabled": "false"}
"""A developer's disk may be as full as it likes."""

JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
"""Compiles less, and does not verify the classes of a release: measured on two busy cores, a start takes 12 s of
processor time instead of 23 s by the first, and 6 s instead of 8 s of the server's own by the others."""

LAUNCHER_OPTIONS = " ".join(JAVA_OPTIONS)
"""Of the Java process that starts the server's: it takes 1.5 s of processor time instead of 2.5 s."""

WATCHDOG = """
cat >/dev/null
for attempt in $(seq 60); do
    kill -s KILL -- "-$1" 2>/dev/null; ended=$?
    rm -rf -- "$2" 2>/dev/null
    [ "$ended" -ne 0 ] && [ ! -e "$2" ] && break
    sleep 0.2
done
"""
"""Its input ends when the tests do, even by kill -9; then the server and its folder go.
Again and again, because a killed process that waits for the disk still ends the write it has begun."""


def script() -> Path:
    """What starts the server."""
    return Path(os.environ.get("HYBRIDKG_SERVER_SCRIPTS", ROOT.parent / "shared" / "servers")) / "elasticsearch"


def unavailable() -> str:
    """Why there can be no Elasticsearch here; empty where there can."""
    if not script().is_file():
        return f"no Elasticsearch: there is no {script()}"
    if shutil.which("java") is None:
        return "no Elasticsearch: it needs Java 17 or newer (`java` on the path)"
    return ""


class RunningServer:
    """One node on 127.0.0.1, whoever has started it.

    Args:
        port: where it answers.
        folder: all that it writes; gone when it is.
        password: turns security on; the user is `elastic`.
        tls: (certificate, key), PEM files; serves HTTPS.
    """

    def __init__(self, port: int, folder: Path, *, password: str = "", tls: tuple[Path, Path] | None = None):
        self.port, self.folder = port, folder
        self.password, self.tls = password, tls
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def wait(self) -> Self:
        """Returns itself as soon as it answers, to the password where there is one, from all its indexes.

        Raises:
            RuntimeError: it has ended, or takes too long; with the end of what it wrote.
        """
        deadline = time.monotonic() + READY_SECONDS
        while time.monotonic() < deadline:
            if self._has_ended():
                raise RuntimeError(f"Elasticsearch has ended:\n{self.log()}")
            with suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/_cluster/health?wait_for_status=yellow&timeout=5s")[0] == 200:
                    return self
            time.sleep(0.2)
        raise RuntimeError(f"Elasticsearch is not ready after {READY_SECONDS} s:\n{self.log()}")

    def _has_ended(self) -> bool:
        return not self.folder.exists()

    def request(
        self, method: str, path: str, body: Any = None, *, timeout: float = 30, password: str | None = None
    ) -> tuple[int, Any]:
        """(status, answer) of one request, through the standard library, as `elastic` where there is a password."""
        connection: http.client.HTTPConnection
        if self.tls:
            context = ssl.create_default_context(cafile=str(self.tls[0]))
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if secret := self.password if password is None else password:
            headers["Authorization"] = "Basic " + base64.b64encode(f"elastic:{secret}".encode()).decode()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def indexes(self, prefix: str = "") -> list[str]:
        """Names of the indexes that begin with a text, sorted."""
        status, found = self.request("GET", "/_cat/indices?format=json&expand_wildcards=all")
        assert status == 200, found
        return sorted(one["index"] for one in found if one["index"].startswith(prefix))

    def clear(self, prefix: str) -> None:
        """Removes the indexes whose names begin with a text, and their aliases with them."""
        for name in self.indexes(prefix):
            self.request("DELETE", f"/{name}")

    def log(self) -> str:
        """The end of what it wrote."""
        return self._console.read_text(errors="replace")[-4000:] if self._console.exists() else ""

    @property
    def _console(self) -> Path:
        return self.folder / "console.log"


class ElasticServer(RunningServer):
    """One node on 127.0.0.1 with a folder of its own, which ends with this process at the latest.

    Args:
        password: turns security on; the user is `elastic`.
        tls: (certificate, key), PEM files; serves HTTPS.
        settings: further lines of elasticsearch.yml.
        heap: of the Java process.
    """

    def __init__(
        self,
        *,
        password: str = "",
        tls: tuple[Path, Path] | None = None,
        settings: Mapping[str, str] | None = None,
        heap: str = "512m",
    ):
        folder = Path(tempfile.mkdtemp(prefix="hybridkg-es-"))
        super().__init__(_free_port(), folder, password=password, tls=tls)
        self.settings = {**SETTINGS, **(settings or {})}
        self.heap = heap
        self.folder.chmod(0o755)  # the server may run as somebody else
        options = self.folder / "config" / "jvm.options.d"
        options.mkdir(parents=True)
        (options / "tests.options").write_text("\n".join(JAVA_OPTIONS) + "\n")
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Starts it and does not wait; on the port and the folder of before."""
        assert self._process is None, "it runs already"
        self._pid_file.unlink(missing_ok=True)
        command = ["bash", str(script()), "--port", str(self.port), "--dir", str(self.folder), "--heap", self.heap]
        if self.password:
            command += ["--password", self.password]
        if self.tls:
            command += ["--tls-cert", str(self.tls[0]), "--tls-key", str(self.tls[1])]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        with self._console.open("wb") as output:
            # A group of its own: Ctrl-C is for the tests, and what the script starts can be ended together.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "CLI_JAVA_OPTS": LAUNCHER_OPTIONS},
            )
        arguments = [str(self._process.pid), str(self.folder)]
        self._watchdog = subprocess.Popen(
            ["sh", "-c", WATCHDOG, "sh", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def launched(self) -> bool:
        """Whether it was started, and has not been killed or stopped since."""
        return self._process is not None

    def start(self) -> Self:
        """`launch` and `wait`: for the first time, or again after `kill`."""
        self.launch()
        return self.wait()

    def kill(self) -> None:
        """kill -9 of the server's own process; its folder stays."""
        if self._process is None:
            return
        os.kill(int(self._pid_file.read_text()), signal.SIGKILL)
        self._end()

    def pause(self) -> None:
        """The server stops to answer, and keeps its connections, until `resume`."""
        os.kill(int(self._pid_file.read_text()), signal.SIGSTOP)

    def resume(self) -> None:
        """After `pause`."""
        os.kill(int(self._pid_file.read_text()), signal.SIGCONT)

    def stop(self) -> None:
        """No process and no folder is left; may be called again."""
        self._end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _end(self) -> None:
        """Ends whatever still runs; nothing is asked to end by itself, because nobody needs its data."""
        if self._watchdog is not None:
            self._watchdog.kill()
            self._watchdog.communicate()
            self._watchdog = None
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            _wait_for_group(self._process.pid)
            self._process = None

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    @property
    def _pid_file(self) -> Path:
        return self.folder / "server.pid"


def self_signed(folder: Path) -> tuple[Path, Path]:
    """(certificate, key) for 127.0.0.1 and localhost, which is its own authority, by the program `openssl`."""
    certificate, key = folder / "server.crt", folder / "server.key"
    extensions = [
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "keyUsage=critical,digitalSignature,keyCertSign",
        "extendedKeyUsage=serverAuth",
    ]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += [part for extension in extensions for part in ("-addext", extension)]
    subprocess.run([*command, "-out", certificate, "-keyout", key], check=True, capture_output=True)
    return certificate, key


def unique_name(test: str) -> str:
    """A name that an index may have, after a test, that no other run uses."""
    words = re.sub(r"[^a-z0-9]+", "-", test.lower()).strip("-")
    return f"hybridkg-test-{words[:60]}-{SystemRandom().randrange(16**8):08x}"


def _free_port() -> int:
    for port in SystemRandom().sample(PORTS, 100):
        if all(_is_free(one) for one in (port, port + 10_000)):
            return port
    raise RuntimeError("no free port found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _wait_for_group(group: int) -> None:
    """Until no process of the group is left: the server's own is a child of a child, which we cannot wait for."""
    for _ in range(200):
        if not any(_alive(group)):
            return
        time.sleep(0.05)


def _alive(group: int) -> Iterator[bool]:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, 0)
        yield True
