"""DuckDB: tables whose keys are the IRIs, loaded from the tables of the graph, with an index on every key.

Rows are loaded in the order of the files. One thread answers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hybrid.writing import BASE
from benchmarks.relational.contract import Places, Rows, text_of

FILE = "tables.duckdb"
_CSV = "read_csv('{folder}/{table}.csv', header = false, columns = {columns})"
_PAIR = "{'a': 'VARCHAR', 'b': 'VARCHAR'}"
_PAPER = (
    "{'a': 'VARCHAR', 'year': 'INTEGER', 'doi': 'VARCHAR', 'title': 'VARCHAR', 'abstract': 'VARCHAR', "
    "'keywords': 'VARCHAR'}"
)
TABLES = {
    "institution": ("institutions", _PAIR, "SELECT '~i' || a AS id, b AS name FROM {source}"),
    "field": (
        "fields",
        _PAIR,
        "SELECT '~f' || f.a AS id, f.b AS name, '~f' || p.b AS parent FROM {source} f LEFT JOIN {parent} p "
        "ON p.a = f.a",
    ),
    "venue": ("venues", _PAIR, "SELECT '~v' || a AS id, b AS name FROM {source}"),
    "author": (
        "authors",
        _PAIR,
        "SELECT '~a' || n.a AS id, n.b AS name, '~i' || i.b AS affiliation FROM {source} n JOIN {affiliation} i "
        "ON i.a = n.a",
    ),
    "paper": (
        "papers",
        _PAPER,
        "SELECT '~p' || p.a AS id, p.year, p.doi, p.title, p.abstract, p.keywords, '~v' || v.b AS venue "
        "FROM {source} p JOIN {venue} v ON v.a = p.a",
    ),
    "written": ("author", _PAIR, "SELECT '~p' || a AS paper, '~a' || b AS author FROM {source}"),
    "in_field": ("field", _PAIR, "SELECT '~p' || a AS paper, '~f' || b AS field FROM {source}"),
    "cites": ("cites", _PAIR, "SELECT '~p' || a AS paper, '~p' || b AS cited FROM {source}"),
}
"""Table, file, its columns, and the text that makes the table."""
INDEXES = (
    "institution(id)", "field(id)", "venue(id)", "author(id)", "author(affiliation)", "paper(id)", "paper(venue)",
    "written(paper)", "written(author)", "in_field(paper)", "in_field(field)", "cites(paper)", "cites(cited)",
)  # fmt: skip


def matches_file(places: Places, words: str) -> Path:
    """The IRIs and scores of what matches a text."""
    return places.own / "matches" / f"{words.replace(' ', '_')}.csv"


def load(places: Places) -> dict[str, Any]:
    """Tables and indexes, on all cores; nothing where they are there."""
    places.own.mkdir(parents=True, exist_ok=True)
    if (places.own / FILE).exists():
        return {}
    connection = import_module("duckdb").connect(str(places.own / f"{FILE}.part"))
    folder, started = places.data.tables, time.perf_counter()
    others = {
        name: _CSV.format(folder=folder, table=name, columns=_PAIR) for name in ("parent", "affiliation", "venue")
    }
    for name, (table, columns, text) in TABLES.items():
        source = _CSV.format(folder=folder, table=table, columns=columns)
        connection.execute(f"CREATE TABLE {name} AS {text.format(source=source, **others)}".replace("~", BASE))
    copied = time.perf_counter()
    for number, index in enumerate(INDEXES):
        connection.execute(f"CREATE INDEX index_{number} ON {index}")
    connection.execute("ANALYZE")
    connection.close()
    (places.own / f"{FILE}.part").rename(places.own / FILE)
    return {"copy_s": round(copied - started, 1), "indexes_s": round(time.perf_counter() - copied, 1)}


class DuckDB:
    """An open database, one thread."""

    def __init__(self, places: Places):
        self._places = places
        self._connection = import_module("duckdb").connect(
            str(places.own / FILE), read_only=True, config={"threads": 1}
        )

    def ready(self, text: str) -> Callable[[], Any]:
        """Asks for all rows; `'words'|` before a text makes the table of their matches, which is not timed."""
        if text.startswith("'"):
            words, _, text = text[1:].partition("'|")
            source = f"read_csv('{matches_file(self._places, words)}', header = false, names = ['id', 'score'])"
            self._connection.execute(f"CREATE OR REPLACE TEMP TABLE matched AS SELECT * FROM {source}")  # noqa: S608
        return partial(self._ask, text)

    def _ask(self, text: str) -> Any:
        """Tuples."""
        return self._connection.execute(text).fetchall()

    def plain(self, answer: Any) -> Rows:
        """Their texts."""
        return [tuple(map(text_of, row)) for row in answer]

    def close(self) -> None:
        """Closes it."""
        self._connection.close()


def open(places: Places, patience_s: float) -> DuckDB:  # noqa: ARG001
    """What `load` made; the process is ended where patience is."""
    return DuckDB(places)
