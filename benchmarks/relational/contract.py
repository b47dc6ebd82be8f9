"""What an engine has to do to take part, and how its rows are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks.hybrid.writing import Data

Rows = list[tuple[str, ...]]
"""An answer as text: the text of a term without its datatype, "" where there is none."""

FLOATS = ("#double", "#float", "#decimal")


@dataclass(frozen=True)
class Places:
    """Where an engine finds its files.

    Args:
        data: the graph, its tables, and the stores of hybridkg and Oxigraph, which benchmarks.hybrid makes.
        own: folder of the files that are made here.
    """

    data: Data
    own: Path


class Engine(Protocol):
    """One that is open."""

    def ready(self, text: str) -> Callable[[], Any]:
        """Asks a text when it is called: for all rows, as the engine gives them to Python."""

    def plain(self, answer: Any) -> Rows:
        """The same rows as text; not timed."""

    def close(self) -> None:
        """Lets go of the files."""


class Module(Protocol):
    """A module with an engine."""

    def load(self, places: Places) -> dict[str, Any]:
        """Loads the data into files in `places.own`; seconds by stage."""

    def open(self, places: Places, patience_s: float) -> Engine:
        """Opens what `load` made."""


def text_of(value: Any) -> str:
    """A Python value as it is compared.

    >>> text_of(2003), text_of(True), text_of(None), text_of(0.1 + 0.2)
    ('2003', 'true', '', '0.3')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def text_of_term(term: Any) -> str:
    """An RDF term as it is compared: its text without datatype and language, floating-point numbers in 9 digits."""
    if term is None:
        return ""
    kind = getattr(getattr(term, "datatype", None), "value", "")
    return text_of(float(term.value)) if kind.endswith(FLOATS) else str(term.value)


def digest(rows: Rows, keys: Sequence[int]) -> str:
    """What equal answers have in common: the sequence of the keys of the order, or the multiset of rows.

    >>> digest([("b", "1"), ("a", "1")], ()) == digest([("a", "1"), ("b", "1")], ())
    True
    >>> digest([("b", "1"), ("a", "1")], (1,)) == digest([("c", "1"), ("d", "1")], (1,))
    True
    """
    compared = [tuple(row[at] for at in keys) for row in rows] if keys else sorted(rows)
    return hashlib.sha256("\n".join("\t".join(row) for row in compared).encode()).hexdigest()[:16]
