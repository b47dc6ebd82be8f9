"""Reports of the commands of care: what a check found, and what a backup, a restoration or a dump has written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hybridkg.terminal_text import printable

State = Literal["ok", "skipped", "behind", "bad"]
"""As it should be; not compared; older than its source, until an index step; damaged, or different from its source."""


def number_of(n: int, noun: str) -> str:
    """A number with its noun.

    >>> number_of(1, "document"), number_of(1_000, "document")
    ('1 document', '1,000 documents')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


@dataclass(frozen=True)
class CheckedPart:
    """The outcome of a check of one part of a knowledge base.

    Args:
        part: such as `graph` or `text`.
        found: what was compared, such as `1,339,469 triples`; of a bad part, what is wrong.
        state: see State.
        todo: what to do with a part that is behind or bad.
    """

    part: str
    found: str
    state: State = "ok"
    todo: str = ""

    def line(self) -> str:
        """The line for people.

        >>> CheckedPart("graph", "1,339,469 triples").line()
        'graph: 1,339,469 triples, ok'
        """
        end = ", ok" if self.state == "ok" else f"; {self.todo}" if self.todo else ""
        mark = "bad: " if self.state == "bad" else ""
        return printable(f"{self.part}: {mark}{self.found}{end}")


@dataclass(frozen=True)
class CheckReport:
    """The outcome of a check.

    Args:
        generation: its name.
        full: whether the text and the vectors of all entities were compared.
        parts: in the order of the check.
        repaired: parts that were bad or behind before `repair` built them again.
    """

    generation: str
    full: bool
    parts: tuple[CheckedPart, ...]
    repaired: tuple[CheckedPart, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no part is bad; an index that is behind the graph is not bad."""
        return not self.bad

    @property
    def bad(self) -> tuple[CheckedPart, ...]:
        """The bad parts."""
        return tuple(part for part in self.parts if part.state == "bad")

    def lines(self) -> list[str]:
        """One line a part; what was repaired comes first."""
        return [
            *(printable(f"{one.part}: {one.found}; built again") for one in self.repaired),
            *(one.line() for one in self.parts),
        ]

    def to_json(self) -> dict[str, Any]:
        """JSON form."""

        def part(one: CheckedPart) -> dict[str, str]:
            return {"part": one.part, "state": one.state, "found": one.found, "todo": one.todo}

        return {
            "generation": self.generation,
            "full": self.full,
            "ok": self.ok,
            "parts": list(map(part, self.parts)),
            "repaired": list(map(part, self.repaired)),
        }


@dataclass(frozen=True)
class BackupReport:
    """A backup that was made, or a knowledge base that was restored from one.

    Args:
        generation: its name.
        files: files of the generation, each with its checksum.
        linked: files of these that are hard links, which use no space.
        bytes: of the files.
        notes: sentences about what is not in it.
    """

    generation: str
    files: int
    linked: int
    bytes: int
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The lines for people."""
        how = f"{self.linked:,} as hard links" if self.linked else "all copied"
        first = f"generation {self.generation}: {self.files:,} files, {self.bytes:,} bytes, {how}, checksums compared"
        return [first, *(f"note: {note}" for note in self.notes)]


@dataclass(frozen=True)
class DumpReport:
    """A dump that was written.

    Args:
        statements: quads, or triples in a format without graphs.
        documents: lines of the text documents; None where they were not asked for.
        notes: sentences about what is not in it.
    """

    statements: int
    documents: int | None = None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """The lines for people."""
        counted = [number_of(self.statements, "statement")]
        counted += [] if self.documents is None else [number_of(self.documents, "document")]
        return [", ".join(counted), *(f"note: {note}" for note in self.notes)]
