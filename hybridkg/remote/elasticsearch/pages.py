"""Reads the rows of a query on an index page by page, as askers do (see server.py).

The first page of a question needs no point in time, so several questions can
share one request; from the second page on a point in time holds the index
still. Totals are tracked: a relation that is read is complete, or an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np

from hybridkg.errors import TextServerError
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.remote.elasticsearch.server import Body, Server, Steps

ROWS_AT_ONCE = 10_000
"""Rows of a page: `index.max_result_window`."""

IDS_AT_ONCE = 65_536
"""Values of a `terms` query: `index.max_terms_count`."""

NONE = np.empty(0, np.uint32)

BY_NODE: list[Body] = [{"node": "asc"}]
BEST_FIRST: list[Body] = [{"_score": "desc"}, {"node": "asc"}]

KEEP_ALIVE = "2m"
"""How long a point in time waits for the next page."""

MAX_PLACES = 10
"""Points in time that one page may need; a server that loses more does not work."""

GROWTH = 4
"""How much larger the next page of a ranking is: a few requests reach any depth, and most need one."""

Hits = Sequence[Any]


class Pages:
    """The rows of a query, page by page: `while hits := (yield from pages.following()): ...`, then `close`.

    Args:
        server: has the index.
        index: its name.
        query: what to search for.
        sort: a total order of the entities.
        size: rows of the first page; later ones are larger, up to 10,000.
        source: parts of `_source` to bring along.
        scores: whether scores are needed although the order is another.
        complete: whether all rows are wanted, and their number is to be checked.
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
        """The hits of the next page; none when there are no more.

        Raises:
            TextServerError: fewer rows came than match.
        """
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
            self._place = None  # the index itself never changes, so another point in time shows the same
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
        """Gives the point in time back; one that cannot be reached ends by itself in two minutes."""
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
    """Reads one index.

    Args:
        server: has it.
        index: its name.
    """

    def __init__(self, server: Server, index: str):
        self._server, self._index = server, index

    def count(self, query: Body) -> Steps[int]:
        """How many entities match; exact, however many."""
        (response,) = yield [{"query": query, "size": 0, "track_total_hits": True}]
        return total_of(response)

    def scored(self, query: Body) -> Steps[tuple[Ids, Scores]]:
        """Every match with the server's own score: (ids uint32[m] ascending, scores float64[m])."""
        ids, scores = [NONE], [np.zeros(0)]
        with closing(Pages(self._server, self._index, query, scores=True)) as pages:
            while hits := (yield from pages.following()):
                ids.append(np.array([hit["sort"][0] for hit in hits], np.uint32))
                scores.append(scores_of(hits))
        return np.concatenate(ids), np.concatenate(scores)

    def ids(self, query: Body) -> Steps[Ids]:
        """Every match: uint32[m], ascending."""
        ids = [NONE]
        with closing(Pages(self._server, self._index, query)) as pages:
            while hits := (yield from pages.following()):
                ids.append(np.array([hit["sort"][0] for hit in hits], np.uint32))
        return np.concatenate(ids)

    def best_first(self, query: Body, size: int) -> Pages:
        """Pages in the order of the server's scores, then of the ids; to be closed."""
        return Pages(self._server, self._index, query, sort=BEST_FIRST, size=size, scores=True, complete=False)


def scores_of(hits: Hits) -> Scores:
    """float64[n]: the scores, which are 32-bit numbers that JSON shows by their shortest decimal form."""
    return np.array([hit["_score"] for hit in hits], np.float32).astype(np.float64)


def total_of(response: Any) -> int:
    """How many match.

    Raises:
        TextServerError: they were not all counted.
    """
    total = response.get("hits", {}).get("total", {})
    if total.get("relation") != "eq":
        raise TextServerError("the server counted only in part", hint="nothing was returned; try again")
    return int(total["value"])
