"""Names and owners of the indexes of a knowledge base on a server."""

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
    """The alias of a knowledge base's indexes, and prefix of their names."""
    words = re.sub(r"[^a-z0-9]+", "-", folder.resolve().stem.lower()).strip("-")[:40]
    return settings.alias or f"hybridkg-{words or 'kb'}-{owner_of(folder)[:6]}"


def owner_of(folder: Path) -> str:
    """Identity of a folder: it survives renaming, and differs for a copy and for a new folder of the same name."""
    try:
        stat = folder.stat()
    except OSError:
        return ""
    return blake2b(f"{platform.node()}\0{stat.st_dev}\0{stat.st_ino}".encode(), digest_size=8).hexdigest()


def check_alias(server: Server, alias: str) -> None:
    """Checks that the server responds, is new enough, and that the alias is free or of hybridkg's indexes.

    An index with the alias's name would keep the alias from being set; a foreign index under the alias would be mixed
    with ours.

    Raises:
        ConfigError: the alias is no valid name in Elasticsearch.
        TextServerError: the server is unusable, or the alias is taken.
    """
    if not ALIAS.fullmatch(alias):
        raise ConfigError(
            f"setting 'elasticsearch.alias' cannot be {alias!r}",
            hint="lower-case letters, digits, '-' and '_', at most 100, beginning with a letter or digit",
        )
    indexes = server.ask(
        "looking at the alias",
        lambda client: {
            name: index.get("mappings", {}).get("_meta", {})
            for name, index in client.indices.get(index=alias, ignore_unavailable=True).items()
        },
    )
    for name, meta in indexes.items():
        if name == alias or "hybridkg" not in meta or not name.startswith(f"{alias}-"):
            what = f"index named {name!r}" if name == alias else f"alias {alias!r}, of the index {name!r}"
            raise TextServerError(
                f"{server.url} has an {what}, which hybridkg did not make",
                hint="set another elasticsearch.alias in kb.toml",
            )
