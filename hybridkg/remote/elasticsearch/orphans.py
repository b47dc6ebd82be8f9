"""The record of an index on a server, and the check that the index is still there."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

from hybridkg.errors import CorruptError, TextServerError
from hybridkg.remote.elasticsearch.server import Server

FILE = "elasticsearch.json"
"""In the folder of an index, separate from its other headers."""


@dataclass(frozen=True)
class Left:
    """The record of a complete index.

    Args:
        index: name.
        build: random name that is also in the mapping, so that another index of the same name is noticed.
        documents: number of documents.
        shards: number of shards.
    """

    index: str
    build: str
    documents: int
    shards: int

    def write(self, folder: Path) -> None:
        """Writes the record into a folder."""
        (folder / FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The record in a folder. Raises CorruptError: the file is missing or damaged."""
        try:
            data = json.loads((folder / FILE).read_text(encoding="utf-8"))
            record = cls(**{one.name: data[one.name] for one in fields(cls)})
            if any(type(getattr(record, one.name)).__name__ != one.type for one in fields(cls)):
                raise TypeError("a value is of another type")
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise CorruptError(
                f"cannot read {FILE!r}, which names the index on the server", hint="index again", place=str(folder)
            ) from e
        return record


def check_left(server: Server, index: str, build: str, documents: int) -> None:
    """Checks a recorded index and its number of documents. Raises TextServerError: it differs, or no response."""
    _ = server.version
    indexes = server.ask(
        "looking for the index", lambda client: client.indices.get(index=index, ignore_unavailable=True)
    )
    if index not in indexes:
        raise TextServerError(
            f"{server.url} has no index {index!r}, which this knowledge base needs",
            hint="build it again: hybridkg index KB; or elasticsearch.url in kb.toml names another server",
        )
    if indexes[index]["mappings"].get("_meta", {}).get("build") != build:
        raise TextServerError(
            f"the index {index!r} on {server.url} is not the one that was built",
            hint="build it again: hybridkg index KB",
        )
    count = int(server.ask("counting", lambda client: client.count(index=index))["count"])
    if count != documents:
        raise unexpected(count, documents)


def unexpected(actual: int, expected: int) -> TextServerError:
    """The error of an index whose number of documents has changed."""
    return TextServerError(
        f"the index on the server holds {actual:,} entities; {expected:,} were indexed",
        hint="somebody has changed it; build it again: hybridkg index KB",
    )
