"""Kuzu 0.11.3: property graph, Cypher, and full text by the extension that its package has linked in.

    pip install kuzu==0.11.3

Its text index cannot be asked for the best k among some nodes: a question
finds all matches, then joins them with the pattern (`join`) or tests the
pattern on each (`exists`).
"""

from __future__ import annotations

import os
import time
import warnings
from importlib import import_module
from typing import Any

from benchmarks.hybrid.contract import Ask, Found
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import Data

POOL = 6 * 2**30
INDEX = "text"
NODES = {
    "Paper": ("papers", "id INT64, year INT64, doi STRING, title STRING, abstract STRING, keywords STRING"),
    "Author": ("authors", "id INT64, name STRING"),
    "Institution": ("institutions", "id INT64, name STRING"),
    "Field": ("fields", "id INT64, name STRING"),
    "Venue": ("venues", "id INT64, name STRING"),
}
EDGES = {
    "WRITTEN_BY": ("author", "Paper", "Author"),
    "AFFILIATION": ("affiliation", "Author", "Institution"),
    "IN_FIELD": ("field", "Paper", "Field"),
    "IN_VENUE": ("venue", "Paper", "Venue"),
    "CITES": ("cites", "Paper", "Paper"),
    "PARENT": ("parent", "Field", "Field"),
}
FIELD, VENUE = "(p)-[:IN_FIELD]->(:Field {id: $field})", "(p)-[:IN_VENUE]->(:Venue {id: $venue})"
AT = "(p)-[:WRITTEN_BY]->(:Author)-[:AFFILIATION]->(:Institution {id: $institution})"
COAUTHOR = "(p)-[:WRITTEN_BY]->(:Author)<-[:WRITTEN_BY]-(:Paper)-[:WRITTEN_BY]->(:Author {id: $author})"
JOIN = {
    "type": "",
    "field": f"MATCH {FIELD}",
    "two_hop": f"MATCH {AT}",
    "star": f"MATCH {FIELD}, {VENUE}",
    "coauthor": f"MATCH {COAUTHOR}",
    "cites": "MATCH (p)-[:CITES]->(:Paper {id: $paper})",
    "union": f"WHERE EXISTS {{ MATCH {FIELD} }} OR EXISTS {{ MATCH {VENUE} }}",
    "negation": f"MATCH {FIELD} WHERE NOT EXISTS {{ MATCH {AT} }}",
    "year": "WHERE p.year >= $low AND p.year <= $high",
    "optional": f"MATCH {FIELD}",
}
EXISTS = {
    "field": f"WHERE EXISTS {{ MATCH {FIELD} }}",
    "two_hop": f"WHERE EXISTS {{ MATCH {AT} }}",
    "star": f"WHERE EXISTS {{ MATCH {FIELD} }} AND EXISTS {{ MATCH {VENUE} }}",
    "coauthor": f"WHERE EXISTS {{ MATCH {COAUTHOR} }}",
    "cites": "WHERE EXISTS { MATCH (p)-[:CITES]->(:Paper {id: $paper}) }",
    "negation": f"WHERE EXISTS {{ MATCH {FIELD} }} AND NOT EXISTS {{ MATCH {AT} }}",
    "optional": f"WHERE EXISTS {{ MATCH {FIELD} }}",
}


def load(data: Data) -> dict[str, Any]:
    """COPY from the tables, then the text index, on all cores."""
    kuzu = import_module("kuzu")
    for path in data.engines.glob("graph.kuzu*"):
        path.unlink()
    started = time.perf_counter()
    connection = kuzu.Connection(kuzu.Database(str(data.engines / "graph.kuzu"), buffer_pool_size=2 * POOL))
    for name, (_, columns) in NODES.items():
        connection.execute(f"CREATE NODE TABLE {name}({columns}, PRIMARY KEY(id))")
    for name, (_, source, target) in EDGES.items():
        connection.execute(f"CREATE REL TABLE {name}(FROM {source} TO {target})")
    for name, (table, *_) in {**NODES, **EDGES}.items():
        connection.execute(f"COPY {name} FROM '{data.tables / table}.csv' (HEADER=false)")
    copied = time.perf_counter()
    connection.execute(f"CALL CREATE_FTS_INDEX('Paper', '{INDEX}', ['title', 'abstract', 'keywords'])")
    connection.execute("CHECKPOINT")
    return {"copy_s": round(copied - started, 1), "text_s": round(time.perf_counter() - copied, 1)}


class Kuzu:
    """An open database, one thread."""

    spellings = ("join", "exists")

    def __init__(self, data: Data):
        kuzu = import_module("kuzu")
        self._database = kuzu.Database(str(data.engines / "graph.kuzu"), read_only=True, buffer_pool_size=POOL)
        self._connection = kuzu.Connection(self._database, num_threads=1)
        self._prepared: dict[str, Any] = {}

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """A prepared statement and its parameters."""
        where = EXISTS.get(question.shape, JOIN[question.shape]) if spelling == "exists" else JOIN[question.shape]
        doi = ", p.doi" if question.shape == "optional" else ""
        text = (
            f"CALL QUERY_FTS_INDEX('Paper', '{INDEX}', $words) WITH node AS p, score {where} "
            f"RETURN DISTINCT p.id, score{doi} ORDER BY score DESC LIMIT {question.k}"
        )
        prepared: Any
        parameters: dict[str, Any] = {"words": question.words, **question.constants}
        if fresh is not None:
            prepared = fresh.inlined(fresh.worded(text, ("p",)), parameters, r"\$")
            parameters = {}
        elif text not in self._prepared:
            with warnings.catch_warnings():  # preparing apart is deprecated, and saves 1 ms in every question
                warnings.simplefilter("ignore", DeprecationWarning)
                self._prepared[text] = self._connection.prepare(text)
        if fresh is None:
            prepared = self._prepared[text]

        def ask() -> list[Found]:
            rows = self._connection.execute(prepared, parameters).get_all()
            return [(row[0], row[1], (row[2] or "") if doi else "") for row in rows]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """All matches."""
        text = f"CALL QUERY_FTS_INDEX('Paper', '{INDEX}', $words) RETURN node.id, score"
        return dict(self._connection.execute(text, {"words": words}).get_all())

    def processes(self) -> list[int]:
        """This one."""
        return [os.getpid()]

    def close(self) -> None:
        """Closes it."""
        self._connection.close()
        self._database.close()


def open(data: Data) -> Kuzu:
    """What `load` made."""
    return Kuzu(data)
