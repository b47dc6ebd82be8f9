"""Asks a server of models that speaks OpenAI's interface: embeddings, and chat. Only the standard library.

Who asks is told by the environment: HYBRIDKG_OPENAI_API_KEY, or OPENAI_API_KEY. A key is sent to OpenAI, to this
machine, and to the address that HYBRIDKG_OPENAI_URL names; a kb.toml can be a stranger's and sends it nowhere else.
"""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from hybridkg.errors import ConfigError, ModelServerError
from hybridkg.interfaces.encoder import OPENAI_URL

KEYS = ("HYBRIDKG_OPENAI_API_KEY", "OPENAI_API_KEY")
URL = "HYBRIDKG_OPENAI_URL"

LOOPBACK = ("localhost", "127.0.0.1", "::1")

TRANSIENT = (408, 429, 500, 502, 503, 504)
"""States in which the same request may succeed a little later."""

NO_MONEY = "insufficient_quota"
"""What OpenAI says with 429 where waiting does not help."""

ATTEMPTS = 5

FIRST_WAIT = 0.5
"""Seconds before the second attempt; each further wait is twice as long."""

MAX_WAIT_S = 60.0
"""Seconds; a server that asks for a longer pause is not waited for."""

MAX_ANSWER = 64 << 20
"""Bytes: 64 vectors of 3,072 numbers are 4 MB."""

CHARACTERS_PER_TOKEN = 4
"""About, in English; a figure to decide by, not to be billed by."""

MAX_SHOWN_LENGTH = 300
"""Characters of what a server says."""


def tokens_of(characters: int) -> int:
    """About how many tokens so many characters are.

    >>> tokens_of(10)
    3
    """
    return -(-characters // CHARACTERS_PER_TOKEN)


@dataclass
class ModelServer:
    """One server. Not to be shared by threads: it counts what it has asked.

    Args:
        url: up to and with the version of the interface.
        timeout: seconds that one request may take, whatever the server does.
        per_minute: requests at most; 0 for no limit.
        check: raises when there is no more time; called before each request and while waiting.
        wait: sleeps some seconds.
        clock: seconds, by which the rate is kept.
        environment: where the key is.
    """

    url: str
    timeout: float = 60.0
    per_minute: int = 0
    check: Callable[[], None] = lambda: None
    wait: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    requests: int = field(default=0, init=False)
    _next: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        """Raises ConfigError: no address, or one that the key must not go to."""
        parts = urlsplit(self.url)
        if "@" in parts.netloc:
            raise ConfigError("the url of a model server carries a user or a password", hint=f"set {KEYS[0]}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigError(f"{self.url!r} is not the address of a model server", hint="http://127.0.0.1:8080/v1")
        self.url = self.url.rstrip("/")
        trusted = (OPENAI_URL, self.environment.get(URL, "").rstrip("/"))
        if self._key and parts.hostname not in LOOPBACK and self.url not in trusted:
            raise ConfigError(
                f"the environment has a key, and only kb.toml says that it is for {self.url}",
                hint=f"if it is, say so in the environment too: {URL}={self.url}",
            )
        if self._key and parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise ConfigError(f"a key must not go to {self.url} in clear", hint="take an address with https://")

    @property
    def _key(self) -> str:
        return next((key for name in KEYS if (key := self.environment.get(name, "").strip())), "")

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON that the server answers.

        Args:
            path: behind the url: `/embeddings`.
            body: sent as JSON.

        Raises:
            ModelServerError: it does not answer in ATTEMPTS attempts, refuses, or answers something else than JSON.
        """
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        for attempt in range(1, ATTEMPTS + 1):
            self._keep_rate()
            self.requests += 1
            try:
                content = self._answer(path, data)
            except HTTPError as e:
                with e:
                    said = self._said(e)
                if e.code not in TRANSIENT or NO_MONEY in said or attempt == ATTEMPTS:
                    raise self._refused(e.code, said, attempt) from None
                pause = _retry_after(e.headers, FIRST_WAIT * 2 ** (attempt - 1))
                if pause > MAX_WAIT_S:
                    raise ModelServerError(
                        f"the model server {self.url} asks to wait {pause:,.0f} s", hint="ask again later"
                    ) from None
                self._pause(pause)
            except (OSError, HTTPException) as e:  # URLError, a broken connection, a body that ends too early
                if attempt == ATTEMPTS or _is_final(e):
                    raise ModelServerError(
                        f"the model server {self.url} does not answer: {self._clean(str(_reason(e)))}",
                        hint="is it running? its address is 'url' in the table [vectors] or [reranking] of kb.toml",
                    ) from e
                self._pause(FIRST_WAIT * 2 ** (attempt - 1))
            else:
                return self._parsed(content)
        raise AssertionError("the last attempt returns or raises")

    def _answer(self, path: str, data: bytes) -> bytes:
        """The body, read no longer than `timeout` and no further than MAX_ANSWER."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hybridkg"}
        if self._key:
            if not all("!" <= c <= "~" for c in self._key):
                raise ConfigError("the API key holds blanks or signs that no key has")
            headers["Authorization"] = f"Bearer {self._key}"
        until = time.monotonic() + self.timeout
        opener = build_opener(_NoRedirect, HTTPSHandler(context=ssl.create_default_context()))
        request = Request(self.url + path, data, headers, method="POST")
        parts, size = [], 0
        with opener.open(request, timeout=self.timeout) as response:
            while part := response.read1(1 << 16):
                parts.append(part)
                size += len(part)
                self.check()
                if size > MAX_ANSWER:
                    raise ModelServerError(f"the model server {self.url} answers with more than {MAX_ANSWER >> 20} MiB")
                if time.monotonic() > until:
                    raise TimeoutError("timed out")
            wanted = response.headers.get("Content-Length")
            if wanted is not None and wanted.isdecimal() and size < int(wanted):
                raise ConnectionError(f"the answer ended after {size:,} of {int(wanted):,} bytes")
        return b"".join(parts)

    def _parsed(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as e:
            shown = self._clean(content[:MAX_SHOWN_LENGTH].decode("utf-8", "replace"))
            raise ModelServerError(f"the model server {self.url} answers no JSON: {shown or 'nothing'}") from e

    def _refused(self, code: int, said: str, attempts: int) -> ModelServerError:
        times = f" {attempts} times" if attempts > 1 else ""
        hint = ""
        if code in (401, 403):
            hint = f"the key is in the environment: {KEYS[0]}" + ("" if self._key else ", which is not set")
        elif code == 404:
            hint = "is the model's name right, and does the url end with its version, as in /v1?"
        return ModelServerError(f"the model server {self.url} answers {code}{times}: {said or 'nothing'}", hint=hint)

    def _said(self, error: HTTPError) -> str:
        """What the server says about an error, on one line and without the key."""
        try:
            content = error.read(MAX_SHOWN_LENGTH * 20)
        except (OSError, HTTPException):
            return ""
        try:
            found = json.loads(content)["error"]
            if isinstance(found, dict):
                return self._clean(" ".join(str(found.get(k) or "") for k in ("message", "code")))
            return self._clean(str(found))
        except (ValueError, KeyError, TypeError, RecursionError):
            return self._clean(content.decode("utf-8", "replace"))

    def _clean(self, text: str) -> str:
        """On one line, without the key and without signs that could steer a terminal."""
        if self._key:
            text = text.replace(self._key, "***")
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[:MAX_SHOWN_LENGTH]}…"

    def _keep_rate(self) -> None:
        self.check()
        if not self.per_minute:
            return
        now = self.clock()
        if self._next > now:
            self._pause(self._next - now)
        self._next = max(now, self._next) + 60.0 / self.per_minute

    def _pause(self, seconds: float) -> None:
        """Waits in short steps, so that a query that is cancelled ends."""
        while seconds > 0:
            self.check()
            step = min(seconds, 0.2)
            self.wait(step)
            seconds -= step


class _NoRedirect(HTTPRedirectHandler):
    """Another address would get the texts and the key."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """None: the answer is then an error."""


def _retry_after(headers: Message, otherwise: float) -> float:
    """Seconds that a server asks to wait: a number, or a date."""
    said = headers.get("Retry-After", "")
    try:
        return max(0.0, float(said)) if float(said) < float("inf") else otherwise
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return otherwise


def _reason(error: Exception) -> object:
    return (error.reason if isinstance(error, URLError) else error) or type(error).__name__


def _is_final(error: Exception) -> bool:
    """Whether to ask again cannot help: nobody listens there, or the certificate is wrong."""
    return isinstance(_reason(error), ConnectionRefusedError | ssl.SSLCertVerificationError)
