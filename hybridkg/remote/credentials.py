"""Credentials for servers, read from the environment or a file that it names; never from kb.toml.

A knowledge base folder is copied and shared; its kb.toml has the address of a server, but no key for it.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from hybridkg.errors import ConfigError


@dataclass(frozen=True)
class Variables:
    """Names of the environment variables of one server.

    Args:
        prefix: common prefix.
        setting: of kb.toml, with the server's address.
        example: of an address.
        secret: suffix of the key's variables.
        keeps_path: whether a `/` at the end of the address is significant.

    >>> Variables("HYBRIDKG_X_", "x.url", "http://127.0.0.1").key
    'HYBRIDKG_X_API_KEY'
    """

    prefix: str
    setting: str
    example: str
    secret: str = "API_KEY"
    keeps_path: bool = False

    @property
    def url(self) -> str:
        """The server's address."""
        return f"{self.prefix}URL"

    @property
    def key(self) -> str:
        """The key."""
        return f"{self.prefix}{self.secret}"

    @property
    def key_file(self) -> str:
        """The path of a file with the key."""
        return f"{self.prefix}{self.secret}_FILE"

    @property
    def username(self) -> str:
        """The user's name."""
        return f"{self.prefix}USERNAME"

    @property
    def password(self) -> str:
        """The user's password."""
        return f"{self.prefix}PASSWORD"


ELASTICSEARCH = Variables("HYBRIDKG_ELASTICSEARCH_", "elasticsearch.url", "http://127.0.0.1:9200")
URL, API_KEY, API_KEY_FILE = ELASTICSEARCH.url, ELASTICSEARCH.key, ELASTICSEARCH.key_file
USERNAME, PASSWORD = ELASTICSEARCH.username, ELASTICSEARCH.password

ENDPOINT = Variables("HYBRIDKG_ENDPOINT_", "graph", "https://example.org/sparql", secret="TOKEN", keeps_path=True)

MAX_KEY_FILE = 65_536

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Credentials:
    """A key (Elasticsearch's encoded API key, a bearer token), or a user and a password, or nothing.

    >>> Credentials(api_key="c2VjcmV0")
    Credentials()
    """

    api_key: str = field(default="", repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def without_secrets(self, text: str) -> str:
        """The text with every secret in it masked.

        >>> Credentials(password="12345678").without_secrets("user x with 12345678")
        'user x with ***'
        """
        pair = f"{self.username}:{self.password}".encode("utf-8", "surrogatepass")
        for secret in (self.api_key, self.password and b64encode(pair).decode(), self.password):
            if secret:
                text = text.replace(secret, "***")
        return text


def read_credentials(environment: Mapping[str, str] = os.environ, names: Variables = ELASTICSEARCH) -> Credentials:
    """The credentials in the environment. Raises ConfigError: they are ambiguous, incomplete or unreadable."""
    key, file = environment.get(names.key, ""), environment.get(names.key_file, "")
    username, password = environment.get(names.username, ""), environment.get(names.password, "")
    if sum(map(bool, (key, file, username or password))) > 1:
        raise ConfigError(
            f"more than one of {names.key}, {names.key_file} and {names.username} is set",
            hint="unset those that are not used",
        )
    if bool(username) != bool(password):
        missing = names.password if username else names.username
        raise ConfigError(f"{missing} is not set", hint=f"{names.username} and {names.password} belong together")
    if file:
        key = _key_in(Path(file), names)
    if any(not "!" <= c <= "~" for c in key):
        where = names.key_file if file else names.key
        raise ConfigError(f"the key in {where} holds blanks or characters that no key has")
    for name, value in ((names.username, username), (names.password, password)):
        if any(not c.isprintable() for c in value) or (name == names.username and ":" in value):
            raise ConfigError(f"{name} holds characters that cannot be sent")
    return Credentials(key, username, password)


def _key_in(file: Path, names: Variables) -> str:
    try:
        with file.open("rb") as opened:
            key = opened.read(MAX_KEY_FILE + 1).decode("utf-8-sig").strip()
    except OSError as e:
        raise ConfigError(f"cannot read the key file {str(file)!r}: {e.strerror}", hint=f"see {names.key_file}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"the key file {str(file)!r} is not text", hint=f"see {names.key_file}") from e
    if not key or len(key) > MAX_KEY_FILE:
        raise ConfigError(f"the key file {str(file)!r} {'is too large' if key else 'is empty'}")
    return key


def check_destination(
    url: str, credentials: Credentials, environment: Mapping[str, str] = os.environ, names: Variables = ELASTICSEARCH
) -> None:
    """Refuses credentials to a remote server that only kb.toml, perhaps a stranger's, names. Raises ConfigError."""
    if credentials == Credentials() or environment.get(names.url) or urlsplit(url).hostname in LOOPBACK:
        return
    raise ConfigError(
        f"the environment has credentials, and only kb.toml says that they are for {url}",
        hint=f"if they are, say so in the environment too: {names.url}={url}",
    )


def server_url(configured: str, environment: Mapping[str, str] = os.environ, names: Variables = ELASTICSEARCH) -> str:
    """The server's address, from the environment, else from kb.toml.

    Raises:
        ConfigError: it is not an http:// or https:// address, or contains a user or a password.

    >>> server_url("http://localhost:9200/", {})
    'http://localhost:9200'
    """
    url = environment.get(names.url) or configured
    owner = names.url if environment.get(names.url) else f"setting {names.setting!r}"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ConfigError(
            f"{owner} carries a user name or a password",
            hint=f"give them in {names.username} and {names.password}, or {names.key}",
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ConfigError(f"{owner} is not an address of a server", hint=f"such as {names.example}")
    port = port if port is not None else 443 if parts.scheme == "https" else 80
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}{parts.path if names.keeps_path else parts.path.rstrip('/')}"
