"""HTTP to a SPARQL endpoint: SPARQL 1.1 Protocol, section 2.1, by the standard library.

What an endpoint says is a stranger's: it is read in pieces, never unpacked
(no compression is asked for and none is taken, so there is no bomb), and
shown in errors only as a few printable characters. A redirection is followed
on the same server only, so credentials go nowhere else.
"""

from __future__ import annotations

import http.client
import re
import ssl
import threading
import time
import weakref
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from math import inf
from typing import TypeVar
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit

from hybridkg import __version__
from hybridkg.config.settings import EndpointSettings
from hybridkg.errors import ConfigError, EndpointError
from hybridkg.remote.credentials import ENDPOINT, Credentials, check_destination, read_credentials, server_url

T = TypeVar("T")

WAITS = (0.2, 1.0, 3.0)
"""Seconds before the next try: queries only read, so each may be asked again."""

TRY_AGAIN = (429, 502, 503, 504)

MAX_WAIT_S = 10.0
"""Seconds of a Retry-After that are waited for; one that says more is told about."""

MAX_REDIRECTIONS = 5

PIECE = 65_536
"""Bytes that are read at once."""

MIN_RATE = 64
"""Bytes in a second: who sends less, once the timeout is over, is taken to be as good as silent."""

SHOWN = 200
"""Characters of an endpoint's own words in an error."""

MAX_IDLE = 4
"""Connections that are kept open for the next question."""

RECENT = 32
"""Answers, of which the quickest says how long a round trip takes now: a server in Java that has just been started
takes ten times as long for anything, and again for a second now and then."""


class _LostError(EndpointError):
    """The connection was lost, or the endpoint is busy: another try may succeed."""

    wait = 0.0
    """Seconds that it asked for."""

    at_once = False
    """Whether it was an old connection that the endpoint had closed meanwhile."""


class EndpointResponse:
    """The body of an answer, to be read once from begin to end; `read` is all that a parser needs of a file.

    Args:
        response: of the standard library.
        connection: what it came by.
        timeout: seconds after which it has to have sent something worth mentioning.
        within: seconds in which all of it has to come.
    """

    def __init__(self, response: http.client.HTTPResponse, connection: Connection, timeout: float, within: float = inf):
        self._response, self._connection, self._timeout, self._within = response, connection, timeout, within
        self._began, self.received = time.monotonic(), 0
        self._is_broken = False
        self.kind = response.headers.get_content_type()
        """Its Content-Type, without parameters, in lower case."""

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most `size` and PIECE; none at the end.

        Raises:
            _LostError: the connection broke in the middle of the answer.
            EndpointError: it comes too slowly.
        """
        lost = self._connection.lost
        self._is_broken = True  # unless it goes well
        try:
            piece = self._response.read1(min(size, PIECE) if size > 0 else PIECE)
        except TimeoutError as e:
            raise EndpointError(
                f"{self._connection.url} stopped in the middle of an answer, and was silent for {self._timeout:g} s",
                hint="a longer time: timeout in the table [endpoint] of kb.toml",
            ) from e
        except (OSError, http.client.HTTPException, ValueError) as e:
            raise lost("the connection broke in the middle of an answer") from e
        self.received += len(piece)
        if not piece and self._response.length:
            raise lost("the connection broke in the middle of an answer")
        elapsed = time.monotonic() - self._began
        if elapsed > self._within:
            raise EndpointError(f"{self._connection.url} takes longer than {self._within:g} s for its answer")
        if piece and elapsed > self._timeout and self.received < MIN_RATE * elapsed:
            raise EndpointError(
                f"{self._connection.url} sends its answer too slowly: {self.received:,} bytes in {elapsed:.0f} s",
                hint="a longer time: timeout in the table [endpoint] of kb.toml",
            )
        self._is_broken = False
        return piece

    def is_read(self) -> bool:
        """Whether the last byte has been read, or can be now without waiting for more than one piece."""
        if self._is_broken:
            return False
        try:
            return self._response.isclosed() or (not self._response.read1(PIECE) and self._response.isclosed())
        except (OSError, http.client.HTTPException, ValueError):
            return False


class Connection:
    """The way to one endpoint. Safe to use from many threads.

    Args:
        configured: address, as kb.toml has it; the environment may name another.
        settings: how it is asked.
    """

    def __init__(self, configured: str, settings: EndpointSettings):
        self._configured, self.settings = configured, settings
        self._idle: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)
        self._lock = threading.Lock()
        self._took_us: deque[float] = deque(maxlen=RECENT)
        self._answered = False
        """Whether it has ever answered. One that has is waited for, when it goes; one that has not is just absent."""

    def __reduce__(self) -> tuple[type[Connection], tuple[str, EndpointSettings]]:
        """A copy in another process reads its own credentials."""
        return Connection, (self._configured, self.settings)

    @cached_property
    def url(self) -> str:
        """Its address, without credentials.

        Raises:
            ConfigError: it is none.
        """
        return server_url(self._configured, names=ENDPOINT)

    @property
    def trip_us(self) -> float:
        """Microseconds until the quickest of the last answers began; inf where no open connection was used yet."""
        with self._lock:
            return min(self._took_us, default=inf)

    @cached_property
    def credentials(self) -> Credentials:
        """Who asks.

        Raises:
            ConfigError: they cannot be used, or may not go to this address.
        """
        own = read_credentials(names=ENDPOINT)
        check_destination(self.url, own, names=ENDPOINT)
        return own

    @cached_property
    def _headers(self) -> dict[str, str]:
        headers = {"Accept-Encoding": "identity", "User-Agent": f"hybridkg/{__version__}"}
        own = self.credentials
        if own.api_key:
            headers["Authorization"] = f"Bearer {own.api_key}"
        elif own.username:
            headers["Authorization"] = "Basic " + b64encode(f"{own.username}:{own.password}".encode()).decode()
        return headers

    @cached_property
    def _tls(self) -> ssl.SSLContext | None:
        file = self.settings.ca_file
        if not self.url.startswith("https:"):
            if file:
                raise ConfigError("'endpoint.ca_file' is set, but the address is not https://")
            return None
        try:
            return ssl.create_default_context(cafile=file or None)
        except OSError as e:
            raise ConfigError(f"cannot read the certificates in {file!r}: {e.strerror or e}") from e

    @contextmanager
    def asked(
        self, query: str, kinds: str, timeout: float | None = None, within: float = inf
    ) -> Iterator[EndpointResponse]:
        """Sends a query, and gives the answer to be read.

        Args:
            query: SPARQL.
            kinds: media types, for Accept.
            timeout: seconds that the endpoint may be silent; None for those of the settings.
            within: seconds in which all of an answer has to come, once it has begun.

        Raises:
            EndpointError: it does not answer, or refuses.
            _LostError: the same, and `trying` tries again.
        """
        seconds = self.settings.timeout if timeout is None else timeout
        connection, response = self._sent(query, kinds, seconds)
        answer = EndpointResponse(response, self, seconds, within)
        is_over = False
        try:
            yield answer
            is_over = True
        finally:
            whole = is_over and not response.will_close and answer.is_read()
            with self._lock:
                keep = whole and len(self._idle) < MAX_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                response.close()
                connection.close()

    def trying(self, work: Callable[[], T]) -> T:
        """What the work gives: it asks, and reads as much of the answer as can be asked for again.

        Raises:
            EndpointError: the last try failed, or one failed as each would.
        """
        for wait in (*WAITS, None):
            try:
                return work()
            except _LostError as e:
                if wait is None or not (self._answered or e.wait):
                    raise
                if not e.at_once:
                    time.sleep(max(wait, e.wait))
        raise AssertionError("the last try returns or raises")

    def _sent(
        self, query: str, kinds: str, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """One try."""
        address = urlsplit(self.url)
        for _ in range(MAX_REDIRECTIONS + 1):
            connection, response = self._exchanged(address, query, kinds, timeout)
            if response.status == 200:
                encoding = response.headers.get("Content-Encoding", "identity").lower()
                if encoding not in ("identity", ""):
                    connection.close()
                    raise EndpointError(
                        f"{self.url} sends a compressed answer ({self._shown(encoding)}), which was not asked for"
                    )
                self._answered = True
                return connection, response
            try:
                if response.status not in (301, 302, 303, 307, 308):
                    raise self._refused(response)
                address = self._redirected(address, response)
            finally:
                connection.close()
        raise EndpointError(f"{self.url} leads in a circle: more than {MAX_REDIRECTIONS} redirections")

    def _exchanged(
        self, address: SplitResult, query: str, kinds: str, timeout: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        headers, sent = {**self._headers, "Accept": kinds}, urlencode({"query": query})
        path = address.path or "/"
        if address.query:
            path += f"?{address.query}"
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        is_old, began = connection is not None, time.perf_counter()
        try:
            if connection is None:
                connection = self._connection()
            connection.timeout = timeout
            if connection.sock is not None:
                connection.sock.settimeout(timeout)
            if self.settings.method == "get":
                connection.request("GET", f"{path}{'&' if '?' in path else '?'}{sent}", headers=headers)
            else:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
                connection.request("POST", path, sent.encode("ascii"), headers)
            response = connection.getresponse()
            if is_old:
                with self._lock:
                    self._took_us.append(1e6 * (time.perf_counter() - began))
            return connection, response
        except TimeoutError as e:
            if connection is not None:
                connection.close()
            raise EndpointError(
                f"{self.url} did not answer within {timeout:g} s",
                hint="a longer time: timeout in the table [endpoint] of kb.toml",
            ) from e
        except (OSError, http.client.HTTPException) as e:
            if connection is not None:
                connection.close()
            error = self.lost(_reason(e))
            error.at_once = is_old
            raise error from e

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=self.settings.timeout, context=self._tls
            )
        assert self._tls is None
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self.settings.timeout)

    def _redirected(self, address: SplitResult, response: http.client.HTTPResponse) -> SplitResult:
        """Where to ask instead."""
        there = urlsplit(urljoin(address.geturl(), response.headers.get("Location", "")))
        try:
            port = there.port or (443 if there.scheme == "https" else 80)
        except ValueError:
            port = None
        if (there.scheme, there.hostname, port) == (address.scheme, address.hostname, address.port):
            return address._replace(path=there.path, query=there.query)
        elsewhere = self._shown(f"{there.scheme}://{there.netloc.rpartition('@')[2]}{there.path}")
        raise EndpointError(
            f"{self.url} sends everybody to another server: {elsewhere}",
            hint=f'if that is the endpoint you mean, write location = "{elsewhere}" into the table [graph] of kb.toml',
        )

    def _refused(self, response: http.client.HTTPResponse) -> EndpointError:
        """What a status that is not 200 means."""
        status, said = response.status, self._words(response)
        if status in (401, 403):
            given = (
                "the credentials in the environment"
                if self.credentials != Credentials()
                else "whoever does not say who it is"
            )
            return EndpointError(
                f"{self.url} refuses {given} ({status})",
                hint=f"set {ENDPOINT.key}, or {ENDPOINT.username} and {ENDPOINT.password}",
            )
        if status in TRY_AGAIN:
            error = self.lost(f"it is busy or cannot be reached ({status})")
            asked = response.headers.get("Retry-After", "")
            error.wait = float(asked) if re.fullmatch(r"[0-9]{1,4}", asked) else WAITS[0]
            return error if error.wait <= MAX_WAIT_S else EndpointError(f"{error.message}; it asks for {asked} s")
        if status in (404, 405, 410):
            return EndpointError(
                f"{self.url} is not the address of a SPARQL endpoint ({status}){said}",
                hint="many endpoints end in /sparql or /query; `graph` in kb.toml names it",
            )
        return EndpointError(f"{self.url} cannot answer ({status}){said}")

    def _words(self, response: http.client.HTTPResponse) -> str:
        try:
            text = response.read1(4 * SHOWN).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        shown = "" if "<" in text[:40] else self._shown(text)
        return f": {shown}" if shown else ""

    def lost(self, why: str) -> _LostError:
        """The connection is gone."""
        return _LostError(
            f"no answer from the SPARQL endpoint {self.url}: {why}",
            hint="see whether it runs, and whether `graph` in kb.toml names it",
        )

    def _shown(self, text: str) -> str:
        """An endpoint's words as they can be shown: few, in one line, without control characters and secrets."""
        safe = "".join(c if c.isprintable() else " " for c in self.credentials.without_secrets(text))
        return " ".join(safe.split())[:SHOWN]


def _close(idle: list[http.client.HTTPConnection]) -> None:
    for connection in idle:
        connection.close()


def _reason(error: Exception) -> str:
    """Why a connection failed, in few words."""
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, http.client.RemoteDisconnected | ConnectionResetError | BrokenPipeError):
        return "it closed the connection"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed ({error.reason or error})"
    if isinstance(error, OSError):
        return (error.strerror or str(error) or type(error).__name__).lower()
    return f"it does not speak HTTP ({type(error).__name__})"
