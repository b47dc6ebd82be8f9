"""A new index on a server: nothing names it before it is complete, and it goes when its build fails."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from hybridkg.errors import HybridkgError, TextServerError
from hybridkg.remote.elasticsearch.bulk import BulkSender, lost
from hybridkg.remote.elasticsearch.server import Body, Server

NO_PIPELINES = {"default_pipeline": "_none", "final_pipeline": "_none"}
"""Those that an index template of the cluster names would change our documents."""

PLACING_SECONDS = 30
"""How long the server may look for a disk for the new index."""

FIRST_LOOK, LAST_LOOK = 0.05, 2.0
"""Seconds between two questions whether segments are merged."""


class NewIndex:
    """One new index, and what sends its documents.

    Args:
        server: where.
        alias: of the knowledge base's indexes.
        owner: whose it is; kept in the index.
        body: settings and mappings, of what is to be kept in the mapping to know the index again.
        named: the beginning of its name.

    Raises:
        TextServerError: the server does not answer, or does not let us make an index.
    """

    def __init__(
        self, server: Server, alias: str, owner: str, body: Callable[[Mapping[str, str]], Body], named: str = ""
    ):
        self._server = server
        self.build = secrets.token_hex(8)
        now = datetime.now(UTC)
        self.name = f"{named or alias}-{now:%Y%m%d%H%M%S}-{self.build[:6]}"
        meta = {"build": self.build, "owner": owner, "alias": alias, "created": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
        asked = body(meta)
        asked["settings"] |= NO_PIPELINES
        try:
            placed = server.ask(
                "making an index",
                lambda client: client.indices.create(
                    index=self.name, **asked, aliases={self._loading: {}}, timeout=f"{PLACING_SECONDS}s"
                )["shards_acknowledged"],
                again=False,
            )
            if not placed:
                raise TextServerError(
                    f"{server.url} found no place for a new index within {PLACING_SECONDS} s",
                    hint="is its disk nearly full? GET _cluster/allocation/explain says what it lacks",
                )
            made = server.ask("reading the new index", lambda client: client.indices.get(index=self.name)[self.name])
            check_as_asked(asked, made)
            self._sender = BulkSender(server, self._loading)
            self._sender.__enter__()
        except BaseException:
            self.abandon()
            raise

    @property
    def _loading(self) -> str:
        """An alias that only a load knows; it goes with the index."""
        return f"{self.name}-loading"

    def put(self, document: Body) -> None:
        """Sends a document, whose id is its `node`."""
        self._sender.put(document)

    def finish(self, documents: int, *, merged: bool = False) -> None:
        """Waits for the last document, counts them on the server, and closes the index for writing.

        Args:
            documents: how many were put.
            merged: whether each shard is to be one segment.
        """
        self._sender.__exit__(None, None, None)
        if merged:
            self._merge()
        self._server.ask("refreshing the index", lambda client: client.indices.refresh(index=self.name))
        found = self._server.ask("counting", lambda client: int(client.count(index=self.name)["count"]))
        if found != documents or self._sender.sent != documents:
            raise lost(documents, found)
        settings = {"index": {"blocks": {"write": True}, "auto_expand_replicas": "0-1"}}
        self._server.ask(
            "closing the index for writing",
            lambda client: client.indices.put_settings(index=self.name, settings=settings),
        )
        self._server.ask(
            "removing the alias of the load",
            lambda client: client.indices.delete_alias(index=self.name, name=self._loading),
        )

    def _merge(self) -> None:
        """No request may take as long as this does, so the server is asked again and again whether it has finished."""
        self._server.ask("refreshing the index", lambda client: client.indices.refresh(index=self.name))
        task = self._server.ask(
            "merging segments",
            lambda client: client.indices.forcemerge(index=self.name, max_num_segments=1, wait_for_completion=False)[
                "task"
            ],
        )
        wait = FIRST_LOOK
        while True:
            told = self._server.ask("merging segments", lambda client: _task(client, task))
            if told.get("completed"):
                break
            time.sleep(wait)
            wait = min(2 * wait, LAST_LOOK)
        failed = told.get("response", {}).get("_shards", {}).get("failed", 0)
        if "error" in told or failed:
            reason = told.get("error", {}).get("reason", f"{failed} shards failed")
            raise TextServerError(f"{self._server.url} could not merge the segments of a new index: {reason}"[:500])

    def abandon(self) -> None:
        """Stops, and removes the index if the server can be reached; else it stays, and `prune` will list it."""
        if hasattr(self, "_sender"):
            self._sender.__exit__(RuntimeError, None, None)
        with contextlib.suppress(HybridkgError):
            self._server.ask(
                "removing a half-finished index",
                lambda client: client.indices.delete(index=self.name, ignore_unavailable=True),
                again=False,
            )


def _task(client: Any, task: str) -> Mapping[str, Any]:
    """What the server says of a task; the client's own method warns that it is not yet for everyone."""
    return dict(client.perform_request("GET", f"/_tasks/{task}", headers={"accept": "application/json"}))


def check_as_asked(asked: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Whether an index is as it was asked for: index templates of a cluster can change it silently.

    Args:
        asked: settings and mappings of a request.
        found: `settings` and `mappings` of the index as the server describes it.

    Raises:
        TextServerError: names what differs.
    """
    wanted, own = asked["mappings"], found["mappings"]
    for key in sorted({*wanted, *own} - {"_meta"}):
        if _plain(own.get(key)) != _plain(wanted.get(key)):
            raise _changed(f"mappings.{key}")
    similarity = found["settings"]["index"].get("similarity", {})
    if _plain(similarity) != _plain(asked["settings"].get("similarity", {})):
        raise _changed("settings.index.similarity")


def _plain(value: Any) -> Any:
    """A value as both sides write it: the server answers numbers and booleans as texts, and leaves defaults out."""
    if isinstance(value, Mapping):
        left_out = {"norms": True, "index_options": "positions", "type": "object"}
        return {
            key: _plain(inner)
            for key, inner in sorted(value.items())
            if not (key in left_out and inner == left_out[key])
        }
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(float(value))
    try:
        return str(float(value))
    except (TypeError, ValueError):
        return value


def _changed(what: str) -> TextServerError:
    return TextServerError(
        f"the server made the new index with other {what} than asked for",
        hint="an index template of the cluster matches its name; choose another elasticsearch.alias in kb.toml",
    )
