"""Oxigraph by pyoxigraph: on disk, where the operating system caches what it has read, and in memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyoxigraph

from benchmarks.hybrid import peer_glue
from benchmarks.relational.contract import Places, Rows, text_of_term


def load(places: Places) -> dict[str, Any]:
    """Nothing where benchmarks.hybrid has made the store."""
    if (places.data.engines / "oxigraph" / "CURRENT").exists():
        return {}
    return {"load_s": peer_glue.load_graph(places.data)}


class Oxigraph:
    """An open store."""

    def __init__(self, store: pyoxigraph.Store):
        self._store = store

    def ready(self, text: str) -> Callable[[], Any]:
        """Asks for all rows."""
        return partial(self._ask, text)

    def _ask(self, text: str) -> Any:
        """Solutions, triples, or the answer of ASK."""
        found = self._store.query(text)
        return found if isinstance(found, pyoxigraph.QueryBoolean) else list(found)  # type: ignore[call-overload]

    def plain(self, answer: Any) -> Rows:
        """The texts of the terms."""
        if isinstance(answer, pyoxigraph.QueryBoolean):
            return [("true" if answer else "false",)]
        return [tuple(map(text_of_term, row)) for row in answer]

    def close(self) -> None:
        """The store closes with its last reference."""
        del self._store


def open_on_disk(places: Places, patience_s: float) -> Oxigraph:  # noqa: ARG001
    """The store of benchmarks.hybrid; it cannot be interrupted, so the process is ended where patience is."""
    return Oxigraph(pyoxigraph.Store.read_only(str(places.data.engines / "oxigraph")))


def open_in_memory(places: Places, patience_s: float) -> Oxigraph:  # noqa: ARG001
    """A store in memory, loaded anew."""
    store = pyoxigraph.Store()
    store.bulk_load(path=str(places.data.triples), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return Oxigraph(store)
