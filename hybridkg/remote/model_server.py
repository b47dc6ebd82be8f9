"""A client of model servers with OpenAI's interface (embeddings, chat), on the standard library.

The key comes from the environment: HYBRIDKG_OPENAI_API_KEY, or OPENAI_API_KEY. It is sent to OpenAI, to this machine
and to the address in HYBRIDKG_OPENAI_URL only, because kb.toml can be a stranger's.
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
from functools import cached_property
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from hybridkg.errors import ConfigError, ModelServerError
from hybridkg.interfaces.encoder import OPENAI_URL

KEYS = ("HYBRIDKG_OPENAI_API_KEY", "OPENAI_API_KEY")
URL = "HYBRIDKG_OPENAI_URL"

LOOPBACK = ("localhost", "127.0.0.1", "::1")

TRANSIENT = (408, 429, 500, 502, 503, 504)
"""HTTP statuses worth a retry."""

NO_MONEY = "insufficient_quota"
"""OpenAI's error code, sent with 429, for which waiting does not help."""

ATTEMPTS = 5

FIRST_WAIT = 0.5
"""Seconds before the first retry; each further wait is twice as long."""

MAX_WAIT_S = 60.0
"""Seconds; a longer Retry-After is an error."""

MAX_ANSWER = 64 << 20
"""Maximum bytes of a response; 64 vectors of 3,072 numbers are 4 MB."""

CHARACTERS_PER_TOKEN = 4
"""Rough mean for English; an estimate, not for billing."""

MAX_SHOWN_LENGTH = 300
"""Characters of a server's message in an error."""


def tokens_of(characters: int) -> int:
    """Estimated number of tokens.

    >>> tokens_of(10)
    3
    """
    return -(-characters // CHARACTERS_PER_TOKEN)


@dataclass
class ModelServer:
    """One model server. Not safe to share between threads, because it counts its requests.

    Args:
        url: including the version of the interface.
        timeout: maximum seconds of one request.
        per_minute: maximum requests; 0 for no limit.
        check: raises when time is up; called before each request and while waiting.
        wait: sleeps some seconds.
        clock: in seconds, for the rate.
        environment: holds the key.
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
        """Raises ConfigError: not an address, or one that the key must not go to."""
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

    @cached_property
    def _opener(self) -> OpenerDirector:
        """Shared by all requests: a TLS context reads the certificates of the system, which takes 21 ms."""
        return build_opener(_NoRedirect, HTTPSHandler(context=ssl.create_default_context()))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of a response.

        Args:
            path: appended to the url, such as `/embeddings`.
            body: sent as JSON.

        Raises:
            ModelServerError: no response in ATTEMPTS attempts, a refusal, or a response that is not JSON.
        """
        data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
        for attempt in range(1, ATTEMPTS + 1):
            self._keep_rate()
            self.requests += 1
            try:
                content = self._answer(path, data)
            except HTTPError as e:
                with e:
                    message = self._message(e)
                if e.code not in TRANSIENT or NO_MONEY in message or attempt == ATTEMPTS:
                    raise self._refused(e.code, message, attempt) from None
                pause = _retry_after(e.headers, FIRST_WAIT * 2 ** (attempt - 1))
                if pause > MAX_WAIT_S:
                    raise ModelServerError(
                        f"the model server {self.url} asks to wait {pause:,.0f} s", hint="ask again later"
                    ) from None
                self._pause(pause)
            except (OSError, HTTPException) as e:  # URLError, a broken connection, a body that ends too early
                if attempt == ATTEMPTS or _is_final(e):
                    raise ModelServerError(
                        f"the model server {self.url} does not answer: {self.clean(str(_reason(e)))}",
                        hint="is it running? its address is 'url' in the table [vectors] or [reranking] of kb.toml",
                    ) from e
                self._pause(FIRST_WAIT * 2 ** (attempt - 1))
            else:
                return self._parsed(content)
        raise AssertionError("the last attempt returns or raises")

    def _answer(self, path: str, data: bytes) -> bytes:
        """The body, within `timeout` and MAX_ANSWER."""
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "hybridkg"}
        if self._key:
            if not all("!" <= c <= "~" for c in self._key):
                raise ConfigError("the API key holds blanks or characters that no key has")
            headers["Authorization"] = f"Bearer {self._key}"
        deadline = time.monotonic() + self.timeout
        request = Request(self.url + path, data, headers, method="POST")
        parts, size = [], 0
        with self._opener.open(request, timeout=self.timeout) as response:
            while part := response.read1(1 << 16):
                parts.append(part)
                size += len(part)
                self.check()
                if size > MAX_ANSWER:
                    raise ModelServerError(f"the model server {self.url} answers with more than {MAX_ANSWER >> 20} MiB")
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
            length = response.headers.get("Content-Length")
            if length is not None and length.isdecimal() and size < int(length):
                raise ConnectionError(f"the answer ended after {size:,} of {int(length):,} bytes")
        return b"".join(parts)

    def _parsed(self, content: bytes) -> Any:
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as e:
            shown = self.clean(content[:MAX_SHOWN_LENGTH].decode("utf-8", "replace"))
            raise ModelServerError(f"the model server {self.url} answers no JSON: {shown or 'nothing'}") from e

    def _refused(self, code: int, message: str, attempts: int) -> ModelServerError:
        times = f" {attempts} times" if attempts > 1 else ""
        hint = ""
        if code in (401, 403):
            hint = f"the key is in the environment: {KEYS[0]}" + ("" if self._key else ", which is not set")
        elif code == 404:
            hint = "is the model's name right, and does the url end with its version, as in /v1?"
        return ModelServerError(f"the model server {self.url} answers {code}{times}: {message or 'nothing'}", hint=hint)

    def _message(self, error: HTTPError) -> str:
        """The server's message of an error, on one line and without the key."""
        try:
            content = error.read(MAX_SHOWN_LENGTH * 20)
        except (OSError, HTTPException):
            return ""
        try:
            details = json.loads(content)["error"]
            if isinstance(details, dict):
                return self.clean(" ".join(str(details.get(k) or "") for k in ("message", "code")))
            return self.clean(str(details))
        except (ValueError, KeyError, TypeError, RecursionError):
            return self.clean(content.decode("utf-8", "replace"))

    def clean(self, text: str) -> str:
        """Text of a server on one line, without the key and control characters."""
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
        """Waits in short steps, so that a cancelled query ends."""
        while seconds > 0:
            self.check()
            step = min(seconds, 0.2)
            self.wait(step)
            seconds -= step


class _NoRedirect(HTTPRedirectHandler):
    """Refuses redirections, which would send the texts and the key to another address."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """None, which makes the redirection an error."""


def _retry_after(headers: Message, default: float) -> float:
    """Seconds of a Retry-After, given as a number or a date."""
    value = headers.get("Retry-After", "")
    try:
        return max(0.0, float(value)) if float(value) < float("inf") else default
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return default


def _reason(error: Exception) -> object:
    return (error.reason if isinstance(error, URLError) else error) or type(error).__name__


def _is_final(error: Exception) -> bool:
    """Whether a retry cannot help: connection refused, or an untrusted certificate."""
    return isinstance(_reason(error), ConnectionRefusedError | ssl.SSLCertVerificationError)
