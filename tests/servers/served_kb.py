"""Small knowledge bases whose text index is in Elasticsearch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybridkg.config.settings import ElasticSettings
from hybridkg.kb import KnowledgeBase
from hybridkg.store.generations.folder import Folder

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ITEMS = 240


def served(path: Path, url: str, alias: str, **settings: Any) -> Path:
    """A new and empty knowledge base that will be indexed on a server."""
    KnowledgeBase.create(path).close()
    return moved_to(path, url, alias, **settings)


def moved_to(path: Path, url: str, alias: str, **settings: Any) -> Path:
    """The knowledge base with other settings of the server."""
    folder = Folder.open(path)
    own = replace(ElasticSettings(timeout=20), url=url, alias=alias, **settings)
    folder.configure(replace(folder.config, text="elasticsearch", elasticsearch=own))
    return path


def items(path: Path, word: str, n: int = ITEMS) -> Path:
    """A file of n entities that have a word in their labels."""
    path.write_text("".join(f'<http://e/{word}/{i}> <{LABEL}> "the {word} item n{i}" .\n' for i in range(n)))
    return path


class During:
    """A progress that does something once, while entities are indexed."""

    def __init__(self, act: Callable[[], object]):
        self._act: Callable[[], object] | None = act
        self._indexing = False

    def start(self, label: str, total_bytes: int | None) -> None:
        """Indexing is the step after reading."""
        self._indexing = label == "indexing text"

    def advance(self, bytes_read: int, items: int) -> None:
        """Acts at the first report."""
        if self._indexing and self._act is not None:
            act, self._act = self._act, None
            act()

    def done(self, items: int) -> None:
        """Too late to act."""
        self._indexing = False
