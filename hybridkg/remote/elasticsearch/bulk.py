"""Bulk indexing through the official helper, in concurrent requests while the caller makes documents.

The helper cuts bodies of at most 8 MB, and retries on 429. A document is created, never replaced: one that arrived
although its response was lost is a conflict at the retry and no error, and no deleted copy distorts the statistics. Nor
is it an error if a document that is to be deleted is gone already.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from hybridkg.errors import TextServerError
from hybridkg.extras import needs_extra
from hybridkg.remote.elasticsearch.server import Body, Server

BODY_BYTES = 8 << 20
"""Elastic advises 5 to 15 MB. Measured on the ACL Anthology (benchmarks/elastic.py): 8 MB in two threads."""

SENDERS = 2
GROUP = 200
"""Documents that change threads at once; one by one costs more than making them."""
GROUPS_WAITING = 24

MAX_TRIES, FIRST_WAIT, MAX_WAIT_S = 6, 0.5, 8.0
"""Retries on 429: 24 seconds in all."""

ALREADY_THERE = 409
ALREADY_GONE = "not_found"


class BulkSender:
    """`with BulkSender(server, alias) as sender: sender.put(document)`; the end waits until all have arrived.

    Requests are not ordered: no document may be put and deleted.

    Args:
        server: connection.
        alias: of the index. A server recreates a removed index for a write by its name, with default mappings, but
            never for one by an alias.

    Raises:
        TextServerError: the server refused a document, or is gone.
    """

    def __init__(self, server: Server, alias: str):
        self._server, self._alias = server, alias
        self._queue: queue.Queue[list[Body | str] | None] = queue.Queue(GROUPS_WAITING)
        self._group: list[Body | str] = []
        self._failures: list[BaseException] = []
        self._stopped = threading.Event()
        self.sent = 0
        """Documents that the server has acknowledged, deleted ones included."""
        self._counting = threading.Lock()
        self._threads = [
            threading.Thread(target=self._run, name=f"hybridkg-bulk-{i}", daemon=True) for i in range(SENDERS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._hand_over(self._group)
            for _ in self._threads:
                self._hand_over(None)
        else:
            self._stopped.set()
        for thread in self._threads:
            thread.join()
        if kind is None and self._failures:
            raise self._failures[0]

    def put(self, document: Body) -> None:
        """Queues a document; waits while the queue is full."""
        self._add(document)

    def delete(self, number: int) -> None:
        """Queues the removal of a document."""
        self._add(str(number))

    def _add(self, one: Body | str) -> None:
        self._group.append(one)
        if len(self._group) == GROUP:
            self._hand_over(self._group)
            self._group = []

    def _hand_over(self, group: list[Body | str] | None) -> None:
        while not self._failures:
            try:
                self._queue.put(group, timeout=0.2)
            except queue.Full:
                continue
            return
        raise self._failures[0]

    def _documents(self) -> Iterator[Body | str]:
        while not self._stopped.is_set():
            try:
                group = self._queue.get(timeout=0.2)
            except queue.Empty:
                continue
            if group is None:
                return
            yield from group

    def _run(self) -> None:
        try:
            self._server.ask("loading the index", self._send, again=False)
        except BaseException as e:  # raised again in the thread that makes documents
            self._failures.append(e)
            self._stopped.set()

    def _send(self, client: Any) -> None:
        with needs_extra("elasticsearch", "Elasticsearch"):
            from elasticsearch.helpers import streaming_bulk

        answers = streaming_bulk(
            client.options(max_retries=3, retry_on_status=(502, 503, 504)),
            self._documents(),
            index=self._alias,
            require_alias=True,
            expand_action_callback=_action,
            chunk_size=1_000_000,
            max_chunk_bytes=BODY_BYTES,
            max_retries=MAX_TRIES,
            initial_backoff=FIRST_WAIT,
            max_backoff=MAX_WAIT_S,
            raise_on_error=False,
            yield_ok=True,
        )
        sent = 0
        for good, answer in answers:
            (item,) = answer.values()
            if not good and item.get("status") != ALREADY_THERE and item.get("result") != ALREADY_GONE:
                raise self._server.refused_document(item)
            sent += 1
            if sent == GROUP:
                self._count(sent)
                sent = 0
        self._count(sent)

    def _count(self, more: int) -> None:
        with self._counting:
            self.sent += more


def _action(document: Any) -> tuple[Body, bytes | None]:
    """The helper sends bytes unchanged; orjson takes a fifth of the time of the client's own serializer."""
    if isinstance(document, str):  # the id of one that is to be deleted
        return {"delete": {"_id": document}}, None
    with needs_extra("elasticsearch", "Elasticsearch"):
        import orjson

    return {"create": {"_id": str(document["node"])}}, orjson.dumps(document, option=orjson.OPT_SERIALIZE_NUMPY)


def lost(sent: int, indexed: int) -> TextServerError:
    """The error of an index whose number of documents differs from those sent."""
    return TextServerError(
        f"{sent:,} entities were sent and {indexed:,} are in the index",
        hint="run the command again; nothing has changed",
    )
