"""Who asks the server: from the environment, or from a file that the environment names; never from kb.toml.

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

PREFIX = "HYBRIDKG_ELASTICSEARCH_"
URL, API_KEY, API_KEY_FILE = f"{PREFIX}URL", f"{PREFIX}API_KEY", f"{PREFIX}API_KEY_FILE"
USERNAME, PASSWORD = f"{PREFIX}USERNAME", f"{PREFIX}PASSWORD"

LARGEST_KEY_FILE = 65_536

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Credentials:
    """An API key (as Elasticsearch encodes it), or a user and a password, or neither.

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


def read_credentials(environment: Mapping[str, str] = os.environ) -> Credentials:
    """The credentials that the environment gives.

    Raises:
        ConfigError: both a key and a password are given, half of a pair is, or the key file cannot be read.
    """
    key, file = environment.get(API_KEY, ""), environment.get(API_KEY_FILE, "")
    username, password = environment.get(USERNAME, ""), environment.get(PASSWORD, "")
    if sum(map(bool, (key, file, username or password))) > 1:
        raise ConfigError(
            f"more than one of {API_KEY}, {API_KEY_FILE} and {USERNAME} is set", hint="unset those that do not count"
        )
    if bool(username) != bool(password):
        lacking = PASSWORD if username else USERNAME
        raise ConfigError(f"{lacking} is not set", hint=f"{USERNAME} and {PASSWORD} belong together")
    if file:
        key = _key_in(Path(file))
    if any(not "!" <= c <= "~" for c in key):
        raise ConfigError(f"the key in {API_KEY_FILE if file else API_KEY} holds blanks or signs that no key has")
    for name, value in ((USERNAME, username), (PASSWORD, password)):
        if any(not c.isprintable() for c in value) or (name == USERNAME and ":" in value):
            raise ConfigError(f"{name} holds signs that cannot be sent")
    return Credentials(key, username, password)


def _key_in(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            key = opened.read(LARGEST_KEY_FILE + 1).decode("utf-8-sig").strip()
    except OSError as e:
        raise ConfigError(f"cannot read the key file {str(file)!r}: {e.strerror}", hint=f"see {API_KEY_FILE}") from e
    except UnicodeDecodeError as e:
        raise ConfigError(f"the key file {str(file)!r} is not text", hint=f"see {API_KEY_FILE}") from e
    if not key or len(key) > LARGEST_KEY_FILE:
        raise ConfigError(f"the key file {str(file)!r} {'is too large' if key else 'is empty'}")
    return key


def check_destination(url: str, credentials: Credentials, environment: Mapping[str, str] = os.environ) -> None:
    """Whether credentials may go to an address: kb.toml can be a stranger's, and must not send them anywhere.

    Raises:
        ConfigError: there are some, and only kb.toml names the server, which is another machine.
    """
    if credentials == Credentials() or environment.get(URL) or urlsplit(url).hostname in LOOPBACK:
        return
    raise ConfigError(
        f"the environment has credentials, and only kb.toml says that they are for {url}",
        hint=f"if they are, say so in the environment too: {URL}={url}",
    )


def server_url(configured: str, environment: Mapping[str, str] = os.environ) -> str:
    """Where the server is: the environment's word, else that of kb.toml.

    Raises:
        ConfigError: it is no http:// or https:// address, or carries a user or a password.

    >>> server_url("http://localhost:9200/", {})
    'http://localhost:9200'
    """
    url = environment.get(URL) or configured
    owner = URL if environment.get(URL) else "setting 'elasticsearch.url'"
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ConfigError(
            f"{owner} carries a user name or a password", hint=f"give them in {USERNAME} and {PASSWORD}, or {API_KEY}"
        )
    if parts.scheme not in ("http", "https") or not host or parts.query or parts.fragment:
        raise ConfigError(f"{owner} is not an address of a server", hint="such as http://127.0.0.1:9200")
    port = port if port is not None else 443 if parts.scheme == "https" else 80
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}:{port}{parts.path.rstrip('/')}"
