"""What a build has left on a server, and whether it is still there when it is needed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Self

from hybridkg.errors import CorruptError, TextServerError
from hybridkg.remote.elasticsearch.server import Server

FILE = "elasticsearch.json"
"""In the folder of an index that keeps it apart from its other headers."""


@dataclass(frozen=True)
class Left:
    """An index that is complete.

    Args:
        index: its name.
        build: a random name that is also in the mapping, so that another index of the same name is noticed.
        documents: how many it holds.
        shards: how many it is cut into.
    """

    index: str
    build: str
    documents: int
    shards: int

    def write(self, folder: Path) -> None:
        """Keeps it in a folder."""
        (folder / FILE).write_text(json.dumps(asdict(self)) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Self:
        """What `write` has kept.

        Raises:
            CorruptError: the file is missing or damaged.
        """
        try:
            data = json.loads((folder / FILE).read_text(encoding="utf-8"))
            own = cls(**{one.name: data[one.name] for one in fields(cls)})
            if [type(one) for one in (own.index, own.build, own.documents, own.shards)] != [str, str, int, int]:
                raise TypeError("a value is of another type")
        except (OSError, ValueError, KeyError, TypeError) as e:
            raise CorruptError(
                f"cannot read {FILE!r}, which names the index on the server", hint="index again", place=str(folder)
            ) from e
        return own


def check_left(server: Server, index: str, build: str, documents: int) -> None:
    """Whether an index is the one that was left there, with as many documents.

    Raises:
        TextServerError: it is not, or the server does not answer.
    """
    _ = server.version
    found = server.ask("looking for the index", lambda client: client.indices.get(index=index, ignore_unavailable=True))
    if index not in found:
        raise TextServerError(
            f"{server.url} has no index {index!r}, which this knowledge base needs",
            hint="build it again: hybridkg index KB; or elasticsearch.url in kb.toml names another server",
        )
    if found[index]["mappings"].get("_meta", {}).get("build") != build:
        raise TextServerError(
            f"the index {index!r} on {server.url} is not the one that was built",
            hint="build it again: hybridkg index KB",
        )
    held = int(server.ask("counting", lambda client: client.count(index=index))["count"])
    if held != documents:
        raise unexpected(held, documents)


def unexpected(found: int, wanted: int) -> TextServerError:
    """The error when an index does not hold what was left there."""
    return TextServerError(
        f"the index on the server holds {found:,} entities; {wanted:,} were left there",
        hint="somebody has changed it; build it again: hybridkg index KB",
    )
