"""Export of an endpoint's default graph, page by page, into files; an interrupted one is resumed.

Triples without blank nodes are read in parts: small predicates together, about a page of them, a large one in several
pages. Rows without ORDER BY have no guaranteed order, and sorting is expensive, so pages are requested unordered, and
completeness is checked: a part must have as many distinct triples as the endpoint counts. Otherwise the part is read
again in order, and then the export fails.

Labels of blank nodes are valid in one response only, so one response must have all triples with blank nodes.
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
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.storage.durable import fsync_file, write_durably
from hybridkg.store.endpoint.answers import JSON, TSV, solutions
from hybridkg.store.endpoint.connection import Connection
from hybridkg.store.endpoint.triple_lines import checked, from_rows, from_tsv, together

WORK = ".graph-work"
"""Folder in a knowledge base with the pages read so far, until the index is built."""

STATE = "export.json"

BLANK_FILE = "blank-nodes.nt"

STALE_S = 24 * 3600.0
"""Age at which an interrupted export starts over, because the graph may have changed."""

MAX_PREDICATES = 200
"""Predicates of one query."""

PINGS = 5
"""Queries whose median is the round trip."""

WITHOUT_BLANK = "FILTER(!isBlank(?s) && !isBlank(?o))"
WITH_BLANK = "FILTER(isBlank(?s) || isBlank(?o))"


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Args:
        url: of the endpoint, without credentials.
        at: time of its end, in UTC, ISO 8601.
        triples: of the default graph.
        longest: rows of the longest response.
        is_capped: whether the endpoint gives no more rows than that.
        repeats: whether it repeats a triple for each graph of the union that is its default graph, also in counts.
        round_trip_us: time of the shortest query, in microseconds.
        row_us: time of one more row, in microseconds.
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
        """The entry of the manifest: all fields except the files."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "files"}


@dataclass(frozen=True)
class _Part:
    """Predicates (in SPARQL syntax) read together, with the endpoint's count; pages are `<number>-<page>.nt`."""

    number: int
    predicates: tuple[str, ...]
    triples: int

    @property
    def pattern(self) -> str:
        """The graph pattern of its triples."""
        predicate = self.predicates[0]
        if len(self.predicates) == 1:
            return f"?s {predicate} ?o BIND({predicate} AS ?p) {WITHOUT_BLANK}"
        return f"VALUES ?p {{ {' '.join(self.predicates)} }} ?s ?p ?o {WITHOUT_BLANK}"

    def query(self, limit: int, offset: int, *, in_order: bool) -> str:
        """The query of one page."""
        order = " ORDER BY ?s ?p ?o" if in_order else ""
        return f"SELECT ?s ?p ?o WHERE {{ {self.pattern} }}{order} LIMIT {limit} OFFSET {offset}"


class Export:
    """One export into the files of a folder, by pages of `page` triples; it resumes an earlier one."""

    def __init__(self, connection: Connection, folder: Path, page: int, progress: Progress):
        self._connection, self._folder, self._progress = connection, folder, progress
        self._page, self._longest, self._is_capped, self._repeats = page, 0, False, False
        self._pages_us, self._pages_read, self._rows = 0.0, 0, 0

    def run(self) -> Exported:
        """Reads the missing pages. An interrupted or failed run keeps its pages for the next one.

        Raises:
            EndpointError: the endpoint does not respond, or gives less than it counts.
        """
        url = self._connection.url
        label = f"exporting the graph from {url}"
        self._progress.start(label, None)
        parts, with_blank = self._plan()
        total = sum(part.triples for part in parts) + with_blank
        self._progress.start(label, total)
        self._resume(parts, with_blank)
        files = [self._read_blank(with_blank)] if with_blank else []
        for part in parts:
            files += self._read(part)
        self._progress.done(total)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        trip = round(self._round_trip_us(), 1)
        row_us = round(max(self._pages_us - self._pages_read * trip, 0.0) / max(self._rows, 1), 2)
        return Exported(url, at, total, self._longest, self._is_capped, self._repeats, trip, row_us, tuple(files))

    # --- planning --------------------------------------------------------------

    def _plan(self) -> tuple[list[_Part], int]:
        """The parts, and the number of triples with blank nodes, both by the endpoint's current counts."""
        total, with_blank = self._count("?s ?p ?o"), self._count(f"?s ?p ?o {WITH_BLANK}")
        counts = self._predicates(total - with_blank)
        by_predicate = sum(counts.values()) + with_blank
        if total != by_predicate:
            raise EndpointError(
                f"{self._connection.url} counts {total:,} triples, and {by_predicate:,} by predicate: it cuts the list "
                "of predicates, or its graph is being changed",
                hint="try again; if it stays so, have the endpoint's limit of rows raised",
            )
        parts: list[_Part] = []
        batch: list[str] = []
        size = 0
        for predicate in sorted(counts, key=lambda one: (counts[one], one)):
            if batch and (size + counts[predicate] > self._page or len(batch) == MAX_PREDICATES):
                parts.append(_Part(len(parts) + 1, tuple(batch), size))
                batch, size = [], 0
            batch.append(predicate)
            size += counts[predicate]
        if batch:
            parts.append(_Part(len(parts) + 1, tuple(batch), size))
        return parts, with_blank

    def _predicates(self, triples: int) -> dict[str, int]:
        """The number of triples of each predicate; where the endpoint cuts the list, the rest is queried."""
        counts: dict[str, int] = {}
        grouped = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ ?s ?p ?o {WITHOUT_BLANK} }} GROUP BY ?p ORDER BY ?p"
        while sum(counts.values()) < triples:
            before = len(counts)
            for row in self._select(f"{grouped} OFFSET {before}"):
                if len(row) != 2 or not isinstance(row[0], NamedNode):
                    raise EndpointError(f"{self._connection.url} answers a query for predicates with other terms")
                counts[str(row[0])] = self._number(row[1])
            if len(counts) == before:
                break
        return counts

    def _resume(self, parts: Sequence[_Part], with_blank: int) -> None:
        """Takes over the pages of an earlier export, unless it is stale or the graph has changed."""
        state = {
            "url": self._connection.url,
            "page": self._page,
            "parts": [[list(part.predicates), part.triples] for part in parts],
            "blank": with_blank,
        }
        file = self._folder / STATE
        try:
            saved = json.loads(file.read_text(encoding="utf-8"))
            resumes = saved["state"] == state and 0 <= time.time() - float(saved["begun"]) < STALE_S
            us, pages, rows = saved["taken"]
            taken = float(us), int(pages), int(rows)
            resumes = resumes and min(taken) >= 0 and max(taken) < inf
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            resumes = False
        if resumes:
            self._longest, self._is_capped = int(saved.get("longest", 0)), bool(saved.get("is_capped"))
            self._repeats = bool(saved.get("repeats"))
            self._page = self._longest if self._is_capped else self._page
            self._pages_us, self._pages_read, self._rows = taken
            self._state = saved
            return
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir()
        self._state = {"state": state, "begun": time.time(), "longest": 0, "is_capped": False}
        self._save()

    def _save(self) -> None:
        taken = [self._pages_us, self._pages_read, self._rows]
        limits = {"longest": self._longest, "is_capped": self._is_capped, "repeats": self._repeats}
        self._state |= limits | {"taken": taken}
        write_durably(self._folder / STATE, json.dumps(self._state))

    # --- reading -----------------------------------------------------------------

    def _read(self, part: _Part) -> list[Path]:
        """The complete files of a part."""
        for in_order in (False, True):
            files = self._pages(part, in_order=in_order)
            distinct = _distinct(files)
            if distinct == part.triples:
                return files
            if in_order and distinct == self._count_distinct(part):
                self._repeats = True
                self._save()
                return files
            for file in files:  # the second try must not resume from them
                file.unlink()
        raise EndpointError(
            f"{self._connection.url} counts {part.triples:,} triples of {_listed(part.predicates)}, and gave "
            f"{distinct:,}",
            hint="its graph is being changed, or it cuts responses; try again, or with a smaller page in the "
            "table [endpoint] of kb.toml",
        )

    def _pages(self, part: _Part, *, in_order: bool) -> list[Path]:
        """Every page of a part; existing files are not read again."""
        files: list[Path] = []
        offset = 0
        while offset < part.triples:
            file = self._folder / f"{part.number:06d}-{'sorted' if in_order else 'page'}-{len(files) + 1:06d}.nt"
            if file.is_file():
                n = _lines(file)
                self._progress.advance(n, n)
            else:
                n = self._fetch(part, offset, file, in_order=in_order)
            if n == 0:
                file.unlink()
                break
            files.append(file)
            offset += n
        return files

    def _fetch(self, part: _Part, offset: int, file: Path, *, in_order: bool) -> int:
        """Reads the next page of a part into a file; returns its number of triples."""
        wanted = min(self._page, part.triples - offset)
        began = time.perf_counter()
        n = self._copy(part.query(wanted, offset, in_order=in_order), file, wanted)
        self._pages_us += 1e6 * (time.perf_counter() - began)
        self._pages_read, self._rows = self._pages_read + 1, self._rows + n
        if 0 < n < wanted:
            self._page, self._is_capped = n, True
            self._longest = n
        elif n > self._longest and not self._is_capped:
            self._longest = n
        self._save()
        return n

    def _read_blank(self, triples: int) -> Path:
        """The file of the triples with blank nodes, read in one response."""
        file = self._folder / BLANK_FILE
        if file.is_file():
            self._progress.advance(triples, triples)
            return file
        n = self._copy(f"SELECT ?s ?p ?o WHERE {{ ?s ?p ?o {WITH_BLANK} }}", file, triples, blank=True)
        if n != triples:
            file.unlink()
            raise EndpointError(
                f"{self._connection.url} counts {triples:,} triples with blank nodes, and gave {n:,} in one answer; "
                "they cannot be read by pages, because their labels are valid in one answer only",
                hint="raise the endpoint's limit of rows, or put IRIs in place of its blank nodes",
            )
        return file

    def _copy(self, query: str, file: Path, limit: int, *, blank: bool = False) -> int:
        """Copies rows into a file of N-Triples, atomically, and counts them. Raises EndpointError: above `limit`."""
        url, part = self._connection.url, file.with_suffix(".part")

        def copied() -> int:
            n = 0
            with self._connection.stream(query, f"{TSV}, {JSON};q=0.9") as answer, part.open("wb") as out:
                if answer.kind == TSV:
                    lines = from_tsv(answer.read, url, blank=blank)
                else:
                    lines = from_rows(solutions(answer, url)[1], url, blank=blank)
                for block in together(lines):
                    n += checked(block, url)
                    if n > limit:
                        raise EndpointError(f"{url} sent more than the {limit:,} rows of the query")
                    out.write(block)
            return n

        n = self._connection.retrying(copied)
        fsync_file(part)
        part.rename(file)
        self._progress.advance(n, n)
        return n

    # --- small queries -----------------------------------------------------------------

    def _select(self, query: str) -> list[Row]:

        def selected() -> list[Row]:
            with self._connection.stream(query, JSON) as answer:
                return list(solutions(answer, self._connection.url)[1])

        return self._connection.retrying(selected)

    def _count(self, pattern: str) -> int:
        rows = self._select(f"SELECT (COUNT(*) AS ?n) WHERE {{ {pattern} }}")
        return self._number(rows[0][0] if rows and rows[0] else None)

    def _number(self, term: Term | None) -> int:
        if not isinstance(term, Literal) or not term.value.isdecimal():
            raise EndpointError(f"{self._connection.url} answers a COUNT with a value that is not a number")
        return int(term.value)

    def _count_distinct(self, part: _Part) -> int:
        """The number of distinct triples: a default graph that is a union may give and count one for each graph."""
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
    """Distinct lines in some files. Memory: 8 bytes a line; a collision of hashes makes an error, never a gap."""
    hashes: list[Any] = []
    for file in files:
        with file.open("rb") as read:
            digests = b"".join(blake2b(line, digest_size=8).digest() for line in read)
        hashes.append(np.frombuffer(digests, np.uint64))
    return len(sorted_distinct(np.concatenate(hashes))) if hashes else 0


def _listed(predicates: Sequence[str]) -> str:
    return predicates[0] if len(predicates) == 1 else f"{predicates[0]} and {len(predicates) - 1} other predicates"
