"""Kuzu 0.11.3: property graph and Cypher; the primary keys are the IRIs. One thread answers."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.hybrid.peer_kuzu import EDGES, NODES, POOL
from benchmarks.hybrid.writing import BASE
from benchmarks.relational.contract import Places, Rows, text_of

FILE = "strings.kuzu"
LETTERS = {"Paper": "p", "Author": "a", "Institution": "i", "Field": "f", "Venue": "v"}


def load(places: Places) -> dict[str, Any]:
    """COPY from the tables, on all cores; nothing where it is there."""
    places.own.mkdir(parents=True, exist_ok=True)
    if (places.own / "kuzu.loaded").exists():
        return {}
    for path in places.own.glob(f"{FILE}*"):
        path.unlink()
    kuzu, started = import_module("kuzu"), time.perf_counter()
    database = kuzu.Database(str(places.own / FILE), buffer_pool_size=POOL)
    connection = kuzu.Connection(database)
    for name, (table, columns) in NODES.items():
        declared = columns.replace("id INT64", "id STRING", 1)
        connection.execute(f"CREATE NODE TABLE {name}({declared}, PRIMARY KEY(id))")
        others = [f"column{at}" for at in range(1, columns.count(",") + 1)]
        if name == "Paper":
            others[0] = "CAST(column1 AS INT64)"
        key = f"'{BASE}{LETTERS[name]}' + CAST(column0 AS STRING)"
        source = f"LOAD FROM '{places.data.tables / table}.csv' (HEADER=false) RETURN {', '.join([key, *others])}"
        connection.execute(f"COPY {name} FROM ({source})")
    for name, (table, source, target) in EDGES.items():
        connection.execute(f"CREATE REL TABLE {name}(FROM {source} TO {target})")
        keys = [f"'{BASE}{LETTERS[end]}' + CAST(column{at} AS STRING)" for at, end in enumerate((source, target))]
        read = f"LOAD FROM '{places.data.tables / table}.csv' (HEADER=false) RETURN {', '.join(keys)}"
        connection.execute(f"COPY {name} FROM ({read})")
    connection.execute("CHECKPOINT")
    connection.close()
    database.close()
    (places.own / "kuzu.loaded").touch()
    return {"copy_s": round(time.perf_counter() - started, 1)}


class Kuzu:
    """An open database, one thread."""

    def __init__(self, places: Places, patience_s: float):
        kuzu = import_module("kuzu")
        self._database = kuzu.Database(str(places.own / FILE), read_only=True, buffer_pool_size=POOL)
        self._connection = kuzu.Connection(self._database, num_threads=1)
        self._connection.set_query_timeout(int(patience_s * 1000))

    def ready(self, text: str) -> Callable[[], Any]:
        """Asks for all rows."""
        return partial(self._ask, text)

    def _ask(self, text: str) -> Any:
        """Lists."""
        return self._connection.execute(text).get_all()

    def plain(self, answer: Any) -> Rows:
        """Their texts."""
        return [tuple(map(text_of, row)) for row in answer]

    def close(self) -> None:
        """Closes it."""
        self._connection.close()
        self._database.close()


def open(places: Places, patience_s: float) -> Kuzu:
    """What `load` made."""
    return Kuzu(places, patience_s)
