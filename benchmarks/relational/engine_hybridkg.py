"""hybridkg, through its public interface."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.hybrid import ours
from benchmarks.relational.contract import Places, Rows, text_of_term


def load(places: Places) -> dict[str, Any]:
    """Nothing where benchmarks.hybrid has made the knowledge base."""
    places.data.engines.mkdir(parents=True, exist_ok=True)
    return {} if (places.data.engines / "kb" / "CURRENT").exists() else ours.load(places.data)


class Hybridkg:
    """An open knowledge base; its kernels are loaded."""

    def __init__(self, places: Places, patience_s: float):
        from hybridkg import KnowledgeBase

        self._kb = KnowledgeBase.open(places.data.engines / "kb", warm_up=True)
        self._patience_s = patience_s

    def ready(self, text: str) -> Callable[[], Any]:
        """Asks for all rows."""
        return partial(self._ask, text)

    def _ask(self, text: str) -> Any:
        """Rows of terms, of which the first so many are projected; a bool for ASK."""
        found = self._kb.query(text, timeout=self._patience_s)
        return (list(found.rows()), len(found.columns)) if found.boolean is None else found.boolean

    def plain(self, answer: Any) -> Rows:
        """The texts of the terms that are projected."""
        if isinstance(answer, bool):
            return [("true" if answer else "false",)]
        rows, width = answer
        return [tuple(map(text_of_term, row[:width])) for row in rows]

    def close(self) -> None:
        """Lets go of the files."""
        self._kb.close()


def open(places: Places, patience_s: float) -> Hybridkg:
    """The knowledge base."""
    return Hybridkg(places, patience_s)
