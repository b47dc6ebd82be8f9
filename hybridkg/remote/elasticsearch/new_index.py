"""Creation of an index on a server: no alias names it before it is complete, and a failed build removes it.

`ClonedIndex` begins with the documents of another index. The server links its files, and writes only what changes.
"""

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
"""Pipelines of the cluster's index templates would change our documents."""

PLACING_SECONDS = 30
"""Maximum seconds for the server to allocate the index."""

FIRST_LOOK, LAST_LOOK = 0.05, 2.0
"""Seconds between two polls of a merge."""


ALL_DELETED: Body = {"index.merge.policy.expunge_deletes_allowed": 0}
"""By default the server leaves deleted documents in a segment of which they are less than 10 %."""


class NewIndex:
    """An unfinished index, with the sender of its documents.

    Args:
        server: connection.
        alias: of the knowledge base's indexes.
        owner: of the index, stored in it.
        body: makes settings and mappings from the `_meta` that identifies the index.
        named: prefix of the name; empty for the alias.

    Raises:
        TextServerError: the server does not respond, or does not allow it.
    """

    def __init__(
        self, server: Server, alias: str, owner: str, body: Callable[[Mapping[str, str]], Body], named: str = ""
    ):
        self._server = server
        self.build = secrets.token_hex(8)
        now = datetime.now(UTC)
        self.name = f"{named or alias}-{now:%Y%m%d%H%M%S}-{self.build[:6]}"
        meta = {"build": self.build, "owner": owner, "alias": alias, "created": f"{now:%Y-%m-%dT%H:%M:%SZ}"}
        request = body(meta)
        try:
            self._make(request)
            self._sender = BulkSender(server, self._loading)
            self._sender.__enter__()
        except BaseException:
            self.abandon()
            raise

    def _make(self, request: Body) -> None:
        """Creates the index."""
        request["settings"] |= NO_PIPELINES
        self._allocate(
            "making an index",
            lambda client: client.indices.create(
                index=self.name, **request, aliases={self._loading: {}}, timeout=f"{PLACING_SECONDS}s"
            ),
        )
        created = self._read(self.name)
        check_as_asked(request, created)

    def _allocate(self, doing: str, question: Callable[[Any], Any]) -> None:
        """Creates the index by one request."""
        if not self._server.ask(doing, lambda client: question(client)["shards_acknowledged"], again=False):
            raise TextServerError(
                f"{self._server.url} found no place for a new index within {PLACING_SECONDS} s",
                hint="is its disk nearly full? see GET _cluster/allocation/explain",
            )

    def _read(self, index: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._server.ask(
            "reading an index", lambda client: client.indices.get(index=index)[index]
        )
        return answer

    @property
    def _loading(self) -> str:
        """A private alias for loading; it is removed at the end."""
        return f"{self.name}-loading"

    def put(self, document: Body) -> None:
        """Sends a document with its `node` as id."""
        self._sender.put(document)

    def finish(self, documents: int, *, merged: bool = False) -> None:
        """Waits for the last document, checks their number, and makes the index read-only; `merged`: one segment."""
        self._sender.__exit__(None, None, None)
        if merged:
            self._merge(max_num_segments=1)
        self._settle(documents, documents)

    def _settle(self, documents: int, sent: int) -> None:
        """Checks the number of documents, and of those that were sent, and makes the index read-only."""
        self._server.ask("refreshing the index", lambda client: client.indices.refresh(index=self.name))
        indexed = self._server.ask("counting", lambda client: int(client.count(index=self.name)["count"]))
        if indexed != documents or self._sender.sent != sent:
            raise lost(documents, indexed)
        settings = {"index": {"blocks": {"write": True}, "auto_expand_replicas": "0-1"}}
        self._server.ask(
            "closing the index for writing",
            lambda client: client.indices.put_settings(index=self.name, settings=settings),
        )
        self._server.ask(
            "removing the alias of the load",
            lambda client: client.indices.delete_alias(index=self.name, name=self._loading),
        )

    def _merge(self, **options: Any) -> None:
        """Merges as a task, which is polled, because no request may take that long."""
        self._server.ask("refreshing the index", lambda client: client.indices.refresh(index=self.name))
        task = self._server.ask(
            "merging segments",
            lambda client: client.indices.forcemerge(index=self.name, wait_for_completion=False, **options)["task"],
        )
        wait = FIRST_LOOK
        while True:
            status = self._server.ask("merging segments", lambda client: _task(client, task))
            if status.get("completed"):
                break
            time.sleep(wait)
            wait = min(2 * wait, LAST_LOOK)
        failed = status.get("response", {}).get("_shards", {}).get("failed", 0)
        if "error" in status or failed:
            reason = status.get("error", {}).get("reason", f"{failed} shards failed")
            raise TextServerError(f"{self._server.url} could not merge the segments of a new index: {reason}"[:500])

    def abandon(self) -> None:
        """Stops, and removes the index if possible; otherwise `prune` will list it."""
        if hasattr(self, "_sender"):
            self._sender.__exit__(RuntimeError, None, None)
        with contextlib.suppress(HybridkgError):
            self._server.ask(
                "removing a half-finished index",
                lambda client: client.indices.delete(index=self.name, ignore_unavailable=True),
                again=False,
            )


class ClonedIndex(NewIndex):
    """An unfinished index with the documents of an earlier one, which stays as it is.

    Args:
        server: connection.
        source: name of the earlier index, of this knowledge base, closed for writing.
        alias: of the knowledge base's indexes.
        owner: of the index, stored in it.
        named: prefix of the name; empty for the alias.

    Raises:
        TextServerError: the server does not respond, or does not allow it.
    """

    def __init__(self, server: Server, source: str, alias: str, owner: str, named: str = ""):
        self._source, self._deleted, self._put = source, 0, 0
        super().__init__(server, alias, owner, lambda meta: {"meta": dict(meta)}, named)

    def _make(self, request: Body) -> None:
        """Clones the index, as one without replicas, and identifies it."""
        settings = {"index.blocks.write": False, "index.auto_expand_replicas": "false", "index.number_of_replicas": 0}
        self._allocate(
            "cloning an index",
            lambda client: client.indices.clone(
                index=self._source,
                target=self.name,
                settings={**settings, **ALL_DELETED},
                aliases={self._loading: {}},
                timeout=f"{PLACING_SECONDS}s",
            ),
        )
        meta = {**self._read(self.name)["mappings"].get("_meta", {}), **request["meta"]}
        self._server.ask("naming the clone", lambda client: client.indices.put_mapping(index=self.name, meta=meta))

    def put(self, document: Body) -> None:
        """Sends a document with its `node` as id, which no document of the earlier index has."""
        self._put += 1
        super().put(document)

    def delete(self, number: int) -> None:
        """Removes a document of the earlier index."""
        self._deleted += 1
        self._sender.delete(number)

    def finish(self, documents: int, *, merged: bool = False) -> None:
        """As of a new index; documents that have been deleted are in no statistics afterwards."""
        self._sender.__exit__(None, None, None)
        if merged:
            self._merge(max_num_segments=1)
        elif self._deleted:
            self._merge(only_expunge_deletes=True)
        self._settle(documents, self._put + self._deleted)


def _task(client: Any, task: str) -> Mapping[str, Any]:
    """The status of a task; the client's own method warns that it is experimental."""
    return dict(client.perform_request("GET", f"/_tasks/{task}", headers={"accept": "application/json"}))


def check_as_asked(request: Mapping[str, Any], index: Mapping[str, Any]) -> None:
    """Checks that an index is as requested, which templates can change. Raises TextServerError: a difference."""
    requested, actual = request["mappings"], index["mappings"]
    for key in sorted({*requested, *actual} - {"_meta"}):
        if _plain(actual.get(key)) != _plain(requested.get(key)):
            raise _changed(f"mappings.{key}")
    similarity = index["settings"]["index"].get("similarity", {})
    if _plain(similarity) != _plain(request["settings"].get("similarity", {})):
        raise _changed("settings.index.similarity")


def _plain(value: Any) -> Any:
    """A value in a common form: the server returns numbers and booleans as strings, and omits defaults."""
    if isinstance(value, Mapping):
        defaults = {"norms": True, "index_options": "positions", "type": "object"}
        return {
            key: _plain(inner)
            for key, inner in sorted(value.items())
            if not (key in defaults and inner == defaults[key])
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
        f"the server made the new index with other {what} than requested",
        hint="an index template of the cluster matches its name; choose another elasticsearch.alias in kb.toml",
    )
