"""HTTP to a SPARQL endpoint (SPARQL 1.1 Protocol, section 2.1) with the standard library.

Responses are untrusted: they are read in pieces, compressed ones are refused (so there is no bomb), and errors show
only some printable characters of them. Redirections are followed on the same server only, so credentials go nowhere
else.
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
"""Seconds before each retry; queries only read, so each may be sent again."""

TRY_AGAIN = (429, 502, 503, 504)

MAX_WAIT_S = 10.0
"""Maximum Retry-After, in seconds; a longer one is an error."""

MAX_REDIRECTIONS = 5

PIECE = 65_536
"""Maximum bytes of one read."""

MIN_RATE = 64
"""Minimum bytes per second, once the timeout is over; a slower endpoint counts as silent."""

SHOWN = 200
"""Maximum characters of an endpoint's message in an error."""

MAX_IDLE = 4
"""Connections that stay open for the next query."""

RECENT = 32
"""Responses whose fastest one is the current round trip: a server in Java takes ten times as long when it has just
been started, and for a second now and then."""


class _LostError(EndpointError):
    """The connection was lost, or the endpoint is busy: a retry may succeed."""

    wait = 0.0
    """Seconds of its Retry-After."""

    at_once = False
    """Whether to retry without waiting, because the endpoint had closed an idle connection."""


class EndpointResponse:
    """The body of a response, readable once, with the `read` of a file.

    Args:
        response: of the standard library.
        connection: its connection.
        timeout: seconds after which MIN_RATE holds.
        within: maximum seconds for the whole body.
    """

    def __init__(self, response: http.client.HTTPResponse, connection: Connection, timeout: float, within: float = inf):
        self._response, self._connection, self._timeout, self._within = response, connection, timeout, within
        self._began, self.received = time.monotonic(), 0
        self._is_broken = False
        self.kind = response.headers.get_content_type()
        """Content-Type without parameters, in lower case."""

    def read(self, size: int = -1) -> bytes:
        """Some bytes, at most `size` and PIECE; none at the end.

        Raises:
            _LostError: the connection broke in the middle of the response.
            EndpointError: the response is too slow.
        """
        lost = self._connection.lost
        self._is_broken = True  # until the read succeeds
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
        """Whether the body has been read to its end, or can be with one more piece."""
        if self._is_broken:
            return False
        try:
            return self._response.isclosed() or (not self._response.read1(PIECE) and self._response.isclosed())
        except (OSError, http.client.HTTPException, ValueError):
            return False


class Connection:
    """HTTP connections to one endpoint. Safe to use from many threads.

    Args:
        configured: address in kb.toml; the environment may override it.
        settings: timeout, method and certificates.
    """

    def __init__(self, configured: str, settings: EndpointSettings):
        self._configured, self.settings = configured, settings
        self._idle: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close, self._idle)
        self._lock = threading.Lock()
        self._took_us: deque[float] = deque(maxlen=RECENT)
        self._answered = False
        """Whether it has ever responded: only then is a lost connection worth waiting for."""

    def __reduce__(self) -> tuple[type[Connection], tuple[str, EndpointSettings]]:
        """A copy without credentials, which another process reads itself."""
        return Connection, (self._configured, self.settings)

    @cached_property
    def url(self) -> str:
        """The address, without credentials. Raises ConfigError: it is not an address."""
        return server_url(self._configured, names=ENDPOINT)

    @property
    def trip_us(self) -> float:
        """Microseconds to the first byte of the fastest recent response; inf before an open connection was reused."""
        with self._lock:
            return min(self._took_us, default=inf)

    @cached_property
    def credentials(self) -> Credentials:
        """The credentials for this address. Raises ConfigError: they cannot be used, or may not go to this address."""
        credentials = read_credentials(names=ENDPOINT)
        check_destination(self.url, credentials, names=ENDPOINT)
        return credentials

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
    def stream(
        self, query: str, kinds: str, timeout: float | None = None, within: float = inf
    ) -> Iterator[EndpointResponse]:
        """Sends a query and yields its response.

        Args:
            query: SPARQL.
            kinds: media types, for Accept.
            timeout: seconds that the endpoint may be silent; None for those of the settings.
            within: maximum seconds for the whole body.

        Raises:
            EndpointError: the endpoint does not respond, or refuses.
            _LostError: the same, worth a retry by `retrying`.
        """
        seconds = self.settings.timeout if timeout is None else timeout
        connection, response = self._sent(query, kinds, seconds)
        response_body = EndpointResponse(response, self, seconds, within)
        is_over = False
        try:
            yield response_body
            is_over = True
        finally:
            whole = is_over and not response.will_close and response_body.is_read()
            with self._lock:
                keep = whole and len(self._idle) < MAX_IDLE
                if keep:
                    self._idle.append(connection)
            if not keep:
                response.close()
                connection.close()

    def retrying(self, work: Callable[[], T]) -> T:
        """The result of `work`, which may run several times. Raises EndpointError: retries failed, or cannot help."""
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
        """One try, which follows redirections."""
        address = urlsplit(self.url)
        for _ in range(MAX_REDIRECTIONS + 1):
            connection, response = self._exchanged(address, query, kinds, timeout)
            if response.status == 200:
                encoding = response.headers.get("Content-Encoding", "identity").lower()
                if encoding not in ("identity", ""):
                    connection.close()
                    raise EndpointError(
                        f"{self.url} sends a compressed answer ({self._shown(encoding)}), which was not requested"
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
        """The address of a redirection on the same server."""
        target = urlsplit(urljoin(address.geturl(), response.headers.get("Location", "")))
        try:
            port = target.port or (443 if target.scheme == "https" else 80)
        except ValueError:
            port = None
        if (target.scheme, target.hostname, port) == (address.scheme, address.hostname, address.port):
            return address._replace(path=target.path, query=target.query)
        shown = self._shown(f"{target.scheme}://{target.netloc.rpartition('@')[2]}{target.path}")
        raise EndpointError(
            f"{self.url} redirects to another server: {shown}",
            hint=f'if that is the right endpoint, write location = "{shown}" into the table [graph] of kb.toml',
        )

    def _refused(self, response: http.client.HTTPResponse) -> EndpointError:
        """The error of a response whose status is not 200."""
        status, message = response.status, self._words(response)
        if status in (401, 403):
            who = "the credentials in the environment" if self.credentials != Credentials() else "anonymous requests"
            return EndpointError(
                f"{self.url} refuses {who} ({status})",
                hint=f"set {ENDPOINT.key}, or {ENDPOINT.username} and {ENDPOINT.password}",
            )
        if status in TRY_AGAIN:
            error = self.lost(f"it is busy or cannot be reached ({status})")
            seconds = response.headers.get("Retry-After", "")
            error.wait = float(seconds) if re.fullmatch(r"[0-9]{1,4}", seconds) else WAITS[0]
            return error if error.wait <= MAX_WAIT_S else EndpointError(f"{error.message}; it asks for {seconds} s")
        if status in (404, 405, 410):
            return EndpointError(
                f"{self.url} is not the address of a SPARQL endpoint ({status}){message}",
                hint="many endpoints end in /sparql or /query; `graph` in kb.toml names it",
            )
        return EndpointError(f"{self.url} cannot answer ({status}){message}")

    def _words(self, response: http.client.HTTPResponse) -> str:
        try:
            text = response.read1(4 * SHOWN).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, ValueError):
            return ""
        shown = "" if "<" in text[:40] else self._shown(text)
        return f": {shown}" if shown else ""

    def lost(self, why: str) -> _LostError:
        """The error of a lost connection."""
        return _LostError(
            f"no answer from the SPARQL endpoint {self.url}: {why}",
            hint="see whether it runs, and whether `graph` in kb.toml names it",
        )

    def _shown(self, text: str) -> str:
        """Text of an endpoint for an error: short, on one line, without control characters and secrets."""
        safe = "".join(c if c.isprintable() else " " for c in self.credentials.without_secrets(text))
        return " ".join(safe.split())[:SHOWN]


def _close(idle: list[http.client.HTTPConnection]) -> None:
    for connection in idle:
        connection.close()


def _reason(error: Exception) -> str:
    """The reason why a connection failed, in few words."""
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
