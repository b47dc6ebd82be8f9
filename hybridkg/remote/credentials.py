"""Who asks a server: from the environment, or from a file that the environment names; never from kb.toml.

A knowledge base folder is copied, shared and shown; it says where the server
is, not with which key it is asked.
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
    """Names of the variables of the environment that speak of one server.

    Args:
        prefix: how all of them begin.
        setting: of kb.toml, that says where the server is.
        example: of an address.
        secret: what the key is called.
        keeps_path: whether a `/` at the end of the address is a part of it.

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
        """Of the server's address."""
        return f"{self.prefix}URL"

    @property
    def key(self) -> str:
        """Of a key."""
        return f"{self.prefix}{self.secret}"

    @property
    def key_file(self) -> str:
        """Of the path of a file that holds the key."""
        return f"{self.prefix}{self.secret}_FILE"

    @property
    def username(self) -> str:
        """Of a user's name."""
        return f"{self.prefix}USERNAME"

    @property
    def password(self) -> str:
        """Of the password that belongs to it."""
        return f"{self.prefix}PASSWORD"


ELASTICSEARCH = Variables("HYBRIDKG_ELASTICSEARCH_", "elasticsearch.url", "http://127.0.0.1:9200")
URL, API_KEY, API_KEY_FILE = ELASTICSEARCH.url, ELASTICSEARCH.key, ELASTICSEARCH.key_file
USERNAME, PASSWORD = ELASTICSEARCH.username, ELASTICSEARCH.password

ENDPOINT = Variables("HYBRIDKG_ENDPOINT_", "graph", "https://example.org/sparql", secret="TOKEN", keeps_path=True)

MAX_KEY_FILE = 65_536

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Credentials:
    """A key (an API key as Elasticsearch encodes it, a bearer token), or a user and a password, or neither.

    >>> Credentials(api_key="c2VjcmV0")
    Credentials()
    """

    api_key: str = field(default="", repr=False)
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    def without_secrets(self, text: str) -> str:
        """The text with every secret in it blotted out.

        >>> Credentials(password="12345678").without_secrets("user x with 12345678")
        'user x with ***'
        """
        pair = f"{self.username}:{self.password}".encode("utf-8", "surrogatepass")
        for secret in (self.api_key, self.password and b64encode(pair).decode(), self.password):
            if secret:
                text = text.replace(secret, "***")
        return text


def read_credentials(environment: Mapping[str, str] = os.environ, names: Variables = ELASTICSEARCH) -> Credentials:
    """The credentials that the environment gives.

    Raises:
        ConfigError: both a key and a password are given, half of a pair is, or the key file cannot be read.
    """
    key, file = environment.get(names.key, ""), environment.get(names.key_file, "")
    username, password = environment.get(names.username, ""), environment.get(names.password, "")
    if sum(map(bool, (key, file, username or password))) > 1:
        raise ConfigError(
            f"more than one of {names.key}, {names.key_file} and {names.username} is set",
            hint="unset those that do not count",
        )
    if bool(username) != bool(password):
        lacking = names.password if username else names.username
        raise ConfigError(f"{lacking} is not set", hint=f"{names.username} and {names.password} belong together")
    if file:
        key = _key_in(Path(file), names)
    if any(not "!" <= c <= "~" for c in key):
        where = names.key_file if file else names.key
        raise ConfigError(f"the key in {where} holds blanks or signs that no key has")
    for name, value in ((names.username, username), (names.password, password)):
        if any(not c.isprintable() for c in value) or (name == names.username and ":" in value):
            raise ConfigError(f"{name} holds signs that cannot be sent")
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
    url: str,
    credentials: Credentials,
    environment: Mapping[str, str] = os.environ,
    names: Variables = ELASTICSEARCH,
) -> None:
    """Whether credentials may go to an address: kb.toml can be a stranger's, and must not send them anywhere.

    Raises:
        ConfigError: there are some, and only kb.toml names the server, which is another machine.
    """
    if credentials == Credentials() or environment.get(names.url) or urlsplit(url).hostname in LOOPBACK:
        return
    raise ConfigError(
        f"the environment has credentials, and only kb.toml says that they are for {url}",
        hint=f"if they are, say so in the environment too: {names.url}={url}",
    )


def server_url(configured: str, environment: Mapping[str, str] = os.environ, names: Variables = ELASTICSEARCH) -> str:
    """Where the server is: the environment's word, else that of kb.toml.

    Raises:
        ConfigError: it is no http:// or https:// address, or carries a user or a password.

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
