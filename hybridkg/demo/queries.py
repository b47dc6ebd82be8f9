"""The queries of the demo: one `.hq` file each, with the question in its first comment line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "queries"

PROFILE = "python-packages"
"""The profile of the demo's knowledge base."""


@dataclass(frozen=True)
class DemoQuery:
    """A query with its question in words."""

    name: str
    question: str
    text: str


def demo_queries() -> list[DemoQuery]:
    """The demo's queries in the order of their numbers.

    >>> demo_queries()[0].name
    '01-required-by-numpy-users'
    """
    return [_read(path) for path in sorted(FOLDER.glob("*.hq"))]


def _read(path: Path) -> DemoQuery:
    text = path.read_text(encoding="utf-8")
    return DemoQuery(path.stem, text.splitlines()[0].lstrip("# ").strip(), text)
