"""The default graph of an endpoint, copied page by page into files; goes on where it was interrupted.

Triples without blank nodes come in parts: the predicates of about one page together, a large predicate in as many
pages as it takes. No store promises the order of rows without ORDER BY, and to sort is dear, so pages are asked for
without, and then it is proved that nothing is missing: a part has as many distinct triples as the endpoint counts.
Where it has not, the part is read again in order, and then the export fails.

The label of a blank node means something in one answer only, so all triples with one come in one answer, or not at
all. In the knowledge base they are blank nodes like any other.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from math import inf
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from hybridkg.errors import EndpointError
from hybridkg.interfaces.progress import Progress
from hybridkg.rdf.solutions import Row
from hybridkg.rdf.terms import Literal, NamedNode, Term
from hybridkg.storage.durable import fsync_file, write_durably
from hybridkg.store.endpoint.answers import JSON, TSV, solutions
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.triple_lines import checked, from_rows, from_tsv, together

WORK = ".graph-work"
"""In the folder of a knowledge base: what has been exported, until the index is built."""

STATE = "export.json"

BLANK_FILE = "blank-nodes.nt"

STALE_S = 24 * 3600.0
"""After so long an interrupted export begins anew: who knows what the graph has become."""

MAX_PREDICATES = 200
"""In one question."""

PINGS = 5
"""Questions by which a round trip is measured."""

WITHOUT_BLANK = "FILTER(!isBlank(?s) && !isBlank(?o))"
WITH_BLANK = "FILTER(isBlank(?s) || isBlank(?o))"


@dataclass(frozen=True)
class Exported:
    """What an export has found.

    Args:
        url: of the endpoint, without credentials.
        at: when it was finished, in UTC, ISO 8601.
        triples: of the default graph.
        longest: rows in the longest answer that the endpoint gave.
        is_capped: whether it gives no more.
        repeats: whether it gives, and counts, a triple once for each graph of a union that is its default graph.
        round_trip_us: the shortest question, there and back, in microseconds.
        row_us: one more row, in microseconds.
        files: N-Triples; together they hold each triple at least once.
    """

    url: str
    at: str
    triples: int
    longest: int
    is_capped: bool
    repeats: bool
    round_trip_us: float
    row_us: float
    files: tuple[Path, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the manifest: all but the files."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "files"}


@dataclass(frozen=True)
class _Part:
    """Some predicates, whose triples are read together.

    Args:
        number: of the part; its pages are `<number>-<page>.nt`.
        predicates: as SPARQL writes them.
        triples: how many the endpoint counts.
    """

    number: int
    predicates: tuple[str, ...]
    triples: int

    @property
    def pattern(self) -> str:
        """Its triples."""
        one = self.predicates[0]
        if len(self.predicates) == 1:
            return f"?s {one} ?o BIND({one} AS ?p) {WITHOUT_BLANK}"
        return f"VALUES ?p {{ {' '.join(self.predicates)} }} ?s ?p ?o {WITHOUT_BLANK}"

    def question(self, limit: int, offset: int, *, in_order: bool) -> str:
        """A page of them."""
        order = " ORDER BY ?s ?p ?o" if in_order else ""
        return f"SELECT ?s ?p ?o WHERE {{ {self.pattern} }}{order} LIMIT {limit} OFFSET {offset}"


class Export:
    """One export, of which parts may have been read by an earlier one.

    Args:
        connection: the way to the endpoint.
        folder: for the files; made where it is missing.
        page: triples in a page.
        progress: told about triples read.
    """

    def __init__(self, connection: Connection, folder: Path, page: int, progress: Progress):
        self._connection, self._folder, self._progress = connection, folder, progress
        self._page, self._longest, self._is_capped, self._repeats = page, 0, False, False
        self._pages_us, self._pages_read, self._rows = 0.0, 0, 0

    def run(self) -> Exported:
        """Reads what is missing.

        Raises:
            EndpointError: it does not answer, or gives less than it counts. What has been read stays for the next try.
        """
        url = self._connection.url
        self._progress.start(f"exporting the graph from {url}", None)
        parts, with_blank = self._plan()
        total = sum(part.triples for part in parts) + with_blank
        self._settle(parts, with_blank)
        files = [self._read_blank(with_blank)] if with_blank else []
        for part in parts:
            files += self._read(part)
        self._progress.done(total)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        trip = round(self._round_trip_us(), 1)
        row_us = round(max(self._pages_us - self._pages_read * trip, 0.0) / max(self._rows, 1), 2)
        return Exported(url, at, total, self._longest, self._is_capped, self._repeats, trip, row_us, tuple(files))

    # --- what there is ---------------------------------------------------------

    def _plan(self) -> tuple[list[_Part], int]:
        """The parts, and how many triples have blank nodes; both as the endpoint counts them now."""
        total, with_blank = self._count("?s ?p ?o"), self._count(f"?s ?p ?o {WITH_BLANK}")
        counts = self._predicates(total - with_blank)
        found = sum(counts.values()) + with_blank
        if total != found:
            raise EndpointError(
                f"{self._connection.url} counts {total:,} triples, and {found:,} by predicate: it cuts the list of "
                "predicates, or its graph is being changed",
                hint="try again; if it stays so, let whoever runs the endpoint raise its limit of rows",
            )
        parts: list[_Part] = []
        some: list[str] = []
        size = 0
        for predicate in sorted(counts, key=lambda one: (counts[one], one)):
            if some and (size + counts[predicate] > self._page or len(some) == MAX_PREDICATES):
                parts.append(_Part(len(parts) + 1, tuple(some), size))
                some, size = [], 0
            some.append(predicate)
            size += counts[predicate]
        if some:
            parts.append(_Part(len(parts) + 1, tuple(some), size))
        return parts, with_blank

    def _predicates(self, triples: int) -> dict[str, int]:
        """How many triples each predicate has; an endpoint may cut the list, so it is asked for the rest."""
        counts: dict[str, int] = {}
        grouped = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ ?s ?p ?o {WITHOUT_BLANK} }} GROUP BY ?p ORDER BY ?p"
        while sum(counts.values()) < triples:
            before = len(counts)
            for row in self._select(f"{grouped} OFFSET {before}"):
                if len(row) != 2 or not isinstance(row[0], NamedNode):
                    raise EndpointError(f"{self._connection.url} answers a question for predicates with something else")
                counts[str(row[0])] = self._number(row[1])
            if len(counts) == before:
                break
        return counts

    def _settle(self, parts: Sequence[_Part], with_blank: int) -> None:
        """Keeps what an earlier export has read, unless the graph looks another by now."""
        state = {
            "url": self._connection.url,
            "page": self._page,
            "parts": [[list(part.predicates), part.triples] for part in parts],
            "blank": with_blank,
        }
        file = self._folder / STATE
        try:
            known = json.loads(file.read_text(encoding="utf-8"))
            goes_on = known["state"] == state and 0 <= time.time() - float(known["begun"]) < STALE_S
            us, pages, rows = known["taken"]
            taken = float(us), int(pages), int(rows)
            goes_on = goes_on and min(taken) >= 0 and max(taken) < inf
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            goes_on = False
        if goes_on:
            self._longest, self._is_capped = int(known.get("longest", 0)), bool(known.get("is_capped"))
            self._repeats = bool(known.get("repeats"))
            self._page = self._longest if self._is_capped else self._page
            self._pages_us, self._pages_read, self._rows = taken
            self._kept = known
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._kept = {"state": state, "begun": time.time(), "longest": 0, "is_capped": False}
        self._keep()

    def _keep(self) -> None:
        taken = [self._pages_us, self._pages_read, self._rows]
        found = {"longest": self._longest, "is_capped": self._is_capped, "repeats": self._repeats}
        self._kept |= found | {"taken": taken}
        write_durably(self._folder / STATE, json.dumps(self._kept))

    # --- reading -----------------------------------------------------------------

    def _read(self, part: _Part) -> list[Path]:
        """The files of a part, complete."""
        for in_order in (False, True):
            files = self._pages(part, in_order=in_order)
            distinct = _distinct(files)
            if distinct == part.triples:
                return files
            if in_order and distinct == self._count_distinct(part):
                self._repeats = True
                self._keep()
                return files
            for file in files:  # else the next try would find the same
                file.unlink()
        raise EndpointError(
            f"{self._connection.url} counts {part.triples:,} triples of {_listed(part.predicates)}, and gave "
            f"{distinct:,}",
            hint="its graph is being changed, or it cuts what it gives; try again, or with a smaller page in the "
            "table [endpoint] of kb.toml",
        )

    def _pages(self, part: _Part, *, in_order: bool) -> list[Path]:
        """Every page of a part; those that are there are not read again."""
        files: list[Path] = []
        given = 0
        while given < part.triples:
            file = self._folder / f"{part.number:06d}-{'sorted' if in_order else 'page'}-{len(files) + 1:06d}.nt"
            if file.is_file():
                n = _lines(file)
                self._progress.advance(0, n)
            else:
                n = self._fetch(part, given, file, in_order=in_order)
            if n == 0:
                file.unlink()
                break
            files.append(file)
            given += n
        return files

    def _fetch(self, part: _Part, given: int, file: Path, *, in_order: bool) -> int:
        """Reads the next page of a part into a file; how many triples it has."""
        wanted = min(self._page, part.triples - given)
        began = time.perf_counter()
        n = self._copy(part.question(wanted, given, in_order=in_order), file, wanted)
        self._pages_us += 1e6 * (time.perf_counter() - began)
        self._pages_read, self._rows = self._pages_read + 1, self._rows + n
        if 0 < n < wanted:
            self._page, self._is_capped = n, True
            self._longest = n
        elif n > self._longest and not self._is_capped:
            self._longest = n
        self._keep()
        return n

    def _read_blank(self, triples: int) -> Path:
        """The file of the triples that have blank nodes, which one answer has to give."""
        file = self._folder / BLANK_FILE
        if file.is_file():
            self._progress.advance(0, triples)
            return file
        n = self._copy(f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {WITH_BLANK} }}", file, triples, blank=True)
        if n != triples:
            file.unlink()
            raise EndpointError(
                f"{self._connection.url} counts {triples:,} triples with blank nodes, and gave {n:,} in one answer; "
                "by pages they cannot be read, because their labels mean something in one answer only",
                hint="raise the endpoint's limit of rows, or put IRIs in place of its blank nodes",
            )
        return file

    def _copy(self, question: str, file: Path, most: int, *, blank: bool = False) -> int:
        """The rows of a question as N-Triples in a file, which appears whole or not at all; how many there are.

        Raises:
            EndpointError: there are more than so many.
        """
        url, part = self._connection.url, file.with_suffix(".part")

        def copied() -> int:
            n = 0
            with self._connection.asked(question, f"{TSV}, {JSON};q=0.9") as answer, part.open("wb") as out:
                if answer.kind == TSV:
                    lines = from_tsv(answer.read, url, blank=blank)
                else:
                    lines = from_rows(solutions(answer, url)[1], url, blank=blank)
                for some in together(lines):
                    n += checked(some, url)
                    if n > most:
                        raise EndpointError(f"{url} gives more than the {most:,} rows that it was asked for")
                    out.write(some)
            return n

        n = self._connection.trying(copied)
        fsync_file(part)
        part.rename(file)
        self._progress.advance(0, n)
        return n

    # --- small questions ---------------------------------------------------------------

    def _select(self, question: str) -> list[Row]:

        def asked() -> list[Row]:
            with self._connection.asked(question, JSON) as answer:
                return list(solutions(answer, self._connection.url)[1])

        return self._connection.trying(asked)

    def _count(self, pattern: str) -> int:
        rows = self._select(f"SELECT (COUNT(*) AS ?n) WHERE {{ {pattern} }}")
        return self._number(rows[0][0] if rows and rows[0] else None)

    def _number(self, term: Term | None) -> int:
        if not isinstance(term, Literal) or not term.value.isdecimal():
            raise EndpointError(f"{self._connection.url} answers a COUNT with what is no number")
        return int(term.value)

    def _count_distinct(self, part: _Part) -> int:
        """An endpoint whose default graph is the union of others may give, and count, a triple once for each."""
        return self._count(f"{{ SELECT DISTINCT ?s ?p ?o WHERE {{ {part.pattern} }} }}")

    def _round_trip_us(self) -> float:
        took = []
        for _ in range(PINGS):
            began = time.perf_counter()
            self._select("SELECT ?x WHERE { VALUES ?x { 1 } }")
            took.append(1e6 * (time.perf_counter() - began))
        return median(took)


def _lines(file: Path) -> int:
    with file.open("rb") as read:
        return sum(piece.count(b"\n") for piece in iter(lambda: read.read(2**20), b""))


def _distinct(files: Sequence[Path]) -> int:
    """Distinct lines in some files. Memory: 8 bytes a line; two lines that only seem equal make an error, no gap."""
    hashes: list[Any] = []
    for file in files:
        with file.open("rb") as read:
            own = b"".join(blake2b(line, digest_size=8).digest() for line in read)
        hashes.append(np.frombuffer(own, np.uint64))
    return len(np.unique(np.concatenate(hashes))) if hashes else 0


def _listed(predicates: Sequence[str]) -> str:
    return predicates[0] if len(predicates) == 1 else f"{predicates[0]} and {len(predicates) - 1} other predicates"
