"""What the indexes of a knowledge base are called, and whose they are."""

from __future__ import annotations

import platform
import re
from hashlib import blake2b
from pathlib import Path

from hybridkg.config.settings import ElasticSettings
from hybridkg.errors import ConfigError, TextServerError
from hybridkg.remote.elasticsearch.server import Server

ALIAS = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


def alias_of(folder: Path, settings: ElasticSettings) -> str:
    """The alias, and beginning of the names of the indexes, of a knowledge base."""
    words = re.sub(r"[^a-z0-9]+", "-", folder.resolve().stem.lower()).strip("-")[:40]
    return settings.alias or f"hybridkg-{words or 'kb'}-{owner_of(folder)[:6]}"


def owner_of(folder: Path) -> str:
    """Who a folder is: the same after it was renamed, another for a copy, and for what is made in its old place."""
    try:
        about = folder.stat()
    except OSError:
        return ""
    return blake2b(f"{platform.node()}\0{about.st_dev}\0{about.st_ino}".encode(), digest_size=8).hexdigest()


def check_alias(server: Server, alias: str) -> None:
    """Whether the server answers, is new enough, and has no other use for an alias.

    An index that has the alias's name would keep the alias from ever being set; a stranger's that has the alias would
    be mixed with ours, or lose it.

    Raises:
        ConfigError: the alias cannot be a name in Elasticsearch.
        TextServerError: it does not, is not, or has.
    """
    if not ALIAS.fullmatch(alias):
        raise ConfigError(
            f"setting 'elasticsearch.alias' cannot be {alias!r}",
            hint="lower-case letters, digits, '-' and '_', at most 100, beginning with a letter or digit",
        )
    found = server.ask(
        "looking at the alias",
        lambda client: {
            name: about.get("mappings", {}).get("_meta", {})
            for name, about in client.indices.get(index=alias, ignore_unavailable=True).items()
        },
    )
    for name, meta in found.items():
        if name == alias or "hybridkg" not in meta or not name.startswith(f"{alias}-"):
            what = f"index named {name!r}" if name == alias else f"alias {alias!r}, of the index {name!r}"
            raise TextServerError(
                f"{server.url} has an {what}, which hybridkg did not make",
                hint="set another elasticsearch.alias in kb.toml",
            )
