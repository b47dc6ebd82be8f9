"""Paging through the hits of a query.

The first page needs no point in time, so several queries can share one request; from the second page on, a point in
time fixes the index. Totals are tracked: a relation that is read is complete, or an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from hybridkg.errors import TextServerError
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers
from hybridkg.remote.elasticsearch.server import Body, Server, Steps

ROWS_AT_ONCE = 10_000
"""Maximum rows of a page: `index.max_result_window`."""

IDS_AT_ONCE = 65_536
"""Maximum values of a `terms` query: `index.max_terms_count`."""

NONE = np.empty(0, np.uint32)

BY_NODE: list[Body] = [{"node": "asc"}]
BEST_FIRST: list[Body] = [{"_score": "desc"}, {"node": "asc"}]

KEEP_ALIVE = "2m"
"""Life of a point in time between two pages."""

MAX_PLACES = 10
"""Maximum points in time for one page; a server that loses more does not work."""

GROWTH = 4
"""Growth of the pages of a ranking: a few requests reach any depth, and most rankings need one."""

Hits = Sequence[Any]


class Pages:
    """The hits of a query, page by page: `while hits := (yield from pages.following()): ...`, then `close`.

    Args:
        server: connection.
        index: name.
        query: Elasticsearch query.
        sort: a total order of the entities.
        size: rows of the first page; later ones grow to 10,000.
        source: parts of `_source` to fetch.
        scores: whether to compute scores that do not determine the order.
        complete: whether all rows are wanted, and their number is checked.
    """

    def __init__(
        self,
        server: Server,
        index: str,
        query: Body,
        *,
        sort: Sequence[Body] = BY_NODE,
        size: int = ROWS_AT_ONCE,
        source: Sequence[str] = (),
        scores: bool = False,
        complete: bool = True,
    ):
        self._server, self._index, self._size, self._complete = server, index, size, complete
        self._body: Body = {"query": query, "sort": list(sort), "track_scores": scores}
        self._body |= {"_source": list(source)} if source else {"_source": False, "stored_fields": "_none_"}
        self._columns = len(sort)
        self._place: str | None = None
        self._after: list[Any] | None = None
        self._total, self._seen, self._ended = 0, 0, False

    def following(self) -> Steps[Hits]:
        """The hits of the next page; empty at the end. Raises TextServerError: fewer rows came than match."""
        if self._ended:
            return ()
        size = min(self._size, ROWS_AT_ONCE)
        for _ in range(MAX_PLACES):
            body = {**self._body, "size": size, "track_total_hits": self._complete and self._after is None}
            if self._after is not None:
                self._place = self._place or self._open_place()
                body |= {"search_after": self._after, "pit": {"id": self._place, "keep_alive": KEEP_ALIVE}}
            (response,) = yield [body]
            if not response.get("lost"):
                break
            self._place = None  # the index never changes, so another point in time shows the same
        else:
            raise TextServerError("the server loses its points in time at once", hint="nothing was returned; try again")
        hits: Hits = response.get("hits", {}).get("hits", [])
        self._place = response.get("pit_id") or self._place
        if self._complete and self._after is None:
            self._total = total_of(response)
        self._seen += len(hits)
        self._ended = len(hits) < size
        self._size = GROWTH * size
        if hits:
            self._after = hits[-1]["sort"][: self._columns]
        if self._ended and self._complete and self._seen != self._total:
            raise TextServerError(
                f"{self._seen:,} of {self._total:,} matching entities came from the server",
                hint="nothing was returned; try again",
            )
        return hits

    def close(self) -> None:
        """Closes the point in time; an unreachable one expires in two minutes."""
        if self._place is not None:
            place, self._place = self._place, None
            with contextlib.suppress(Exception):
                self._server.client.options(request_timeout=1).close_point_in_time(id=place)

    def _open_place(self) -> str:
        answer = self._server.ask(
            "opening a point in time",
            lambda client: client.open_point_in_time(index=self._index, keep_alive=KEEP_ALIVE),
        )
        return str(answer["id"])


class PagedRows:
    """Queries on one index, whose documents have the given numbers."""

    def __init__(self, server: Server, index: str, numbers: DocumentNumbers):
        self._server, self._index, self._numbers = server, index, numbers

    def entities(self, hits: Hits, column: int = 0) -> Ids:
        """uint32[n]: the entities of some hits, in their order; `column` of the sort has the numbers."""
        return self._numbers.entities_of([hit["sort"][column] for hit in hits])

    def count(self, query: Body) -> Steps[int]:
        """The exact number of matching entities."""
        (response,) = yield [{"query": query, "size": 0, "track_total_hits": True}]
        return total_of(response)

    def scored(self, query: Body) -> Steps[tuple[Ids, Scores]]:
        """Every match with the server's score: (ids uint32[m] ascending, scores float64[m])."""
        ids, scores = [NONE], [np.zeros(0)]
        with closing(Pages(self._server, self._index, query, scores=True)) as pages:
            while hits := (yield from pages.following()):
                ids.append(self.entities(hits))
                scores.append(scores_of(hits))
        entities, all_scores = np.concatenate(ids), np.concatenate(scores)
        order = np.argsort(entities, kind="stable")
        return entities[order], all_scores[order]

    def ids(self, query: Body) -> Steps[Ids]:
        """Every match: uint32[m], ascending."""
        ids = [NONE]
        with closing(Pages(self._server, self._index, query)) as pages:
            while hits := (yield from pages.following()):
                ids.append(self.entities(hits))
        return np.sort(np.concatenate(ids))

    def best_first(self, query: Body, size: int) -> Pages:
        """Pages by descending score, then by number; to be closed by the caller."""
        return Pages(self._server, self._index, query, sort=BEST_FIRST, size=size, scores=True, complete=False)


def scores_of(hits: Hits) -> Scores:
    """float64[n]: the scores, which are 32-bit numbers in their shortest decimal form."""
    return np.array([hit["_score"] for hit in hits], np.float32).astype(np.float64)


def total_of(response: Any) -> int:
    """The number of matches. Raises TextServerError: the server did not count all."""
    total = response.get("hits", {}).get("total", {})
    if total.get("relation") != "eq":
        raise TextServerError("the server counted only in part", hint="nothing was returned; try again")
    return int(total["value"])
