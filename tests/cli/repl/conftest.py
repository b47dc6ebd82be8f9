"""A small knowledge base, and a session that writes into lists."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from hybridkg import KnowledgeBase
from hybridkg.cli.repl.session import Session

ROOT = Path(__file__).resolve().parents[3]


class Recorder:
    """A screen that keeps what it is shown."""

    def __init__(self) -> None:
        self.out: list[str] = []
        self.said: list[str] = []

    def rows(self, write: Callable[[TextIO], None]) -> None:
        stream = io.StringIO(newline="")
        write(stream)
        self.out.append(stream.getvalue())

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, question: str) -> bool | None:
        return None


@pytest.fixture(scope="session")
def films() -> Iterator[KnowledgeBase]:
    with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
        yield kb


@pytest.fixture
def screen() -> Recorder:
    return Recorder()


@pytest.fixture
def session(films: KnowledgeBase, screen: Recorder) -> Session:
    return Session(films, screen, fmt="tsv")
