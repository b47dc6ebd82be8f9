"""ArcadeDB 26.10, embedded: property graph, SQL, and full text with BM25.

    pip install arcadedb-embedded==26.10.2.post1      # brings its own Java

Three spellings of each question, of nine that were tried on six questions:
`text first` finds the papers of the text and tests the pattern on each, `pattern
first` walks from the constant to the papers and asks the text index for these,
both in SQL; `cypher` joins what `db.index.fulltext.queryNodes` yields with the
pattern. SQL's MATCH is left out: it gave papers the scores of others.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.hybrid.contract import Ask, Found
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.peer_kuzu import JOIN
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import Data

HEAP = "4g"
INDEX = "Paper[title,abstract,keywords]"
NODES = {"Author": "authors", "Institution": "institutions", "Field": "fields", "Venue": "venues"}
EDGES = {
    "WRITTEN_BY": ("author", "Paper", "Author"),
    "AFFILIATION": ("affiliation", "Author", "Institution"),
    "IN_FIELD": ("field", "Paper", "Field"),
    "IN_VENUE": ("venue", "Paper", "Venue"),
    "CITES": ("cites", "Paper", "Paper"),
    "PARENT": ("parent", "Field", "Field"),
}
AT_ONCE = 20_000
SEARCH = f"SEARCH_INDEX('{INDEX}', :words) = true"
FIELD, VENUE = "out('IN_FIELD').id CONTAINS :field", "out('IN_VENUE').id CONTAINS :venue"
AT = "out('WRITTEN_BY').out('AFFILIATION').id CONTAINS :institution"
YEAR = "year BETWEEN :low AND :high"
TEXT_FIRST = {
    "type": "",
    "field": FIELD,
    "two_hop": AT,
    "star": f"{FIELD} AND {VENUE}",
    "coauthor": "out('WRITTEN_BY').in('WRITTEN_BY').out('WRITTEN_BY').id CONTAINS :author",
    "cites": "out('CITES').id CONTAINS :paper",
    "union": f"({FIELD} OR {VENUE})",
    "negation": f"{FIELD} AND NOT ({AT})",
    "year": YEAR,
    "optional": FIELD,
}
_FIELD = "SELECT expand(in('IN_FIELD')) FROM Field WHERE id = :field"
_VENUE = "SELECT expand(in('IN_VENUE')) FROM Venue WHERE id = :venue"
PATTERN_FIRST = {
    "field": (_FIELD, ""),
    "two_hop": ("SELECT expand(in('AFFILIATION').in('WRITTEN_BY')) FROM Institution WHERE id = :institution", ""),
    "star": (_FIELD, VENUE),
    "coauthor": (
        "SELECT expand(in('WRITTEN_BY').out('WRITTEN_BY').in('WRITTEN_BY')) FROM Author WHERE id = :author",
        "",
    ),
    "cites": ("SELECT expand(in('CITES')) FROM Paper WHERE id = :paper", ""),
    "union": (f"SELECT expand(unionall($a, $b)) LET $a = ({_FIELD}), $b = ({_VENUE})", ""),
    "negation": (_FIELD, f"NOT ({AT})"),
    "optional": (_FIELD, ""),
}
ALL = "SELECT id, $score AS score FROM Paper"
MANY_ROWS = ("two_hop", "coauthor", "union")


def _java(data: Data) -> Any:
    os.chdir(data.engines)  # it makes a folder `log` where it is started, which must not be the checkout
    module = import_module("arcadedb_embedded")
    import_module("arcadedb_embedded.jvm").start_jvm(heap_size=HEAP)
    return module


def _rows(path: Path) -> Iterator[list[list[str]]]:
    """The rows of a table, many at once."""
    part: list[list[str]] = []
    with path.open() as lines:
        for line in lines:
            part.append(line[:-1].split(","))
            if len(part) == AT_ONCE:
                yield part
                part = []
    if part:
        yield part


def _paper(row: list[str]) -> dict[str, Any]:
    own = {"id": int(row[0]), "year": int(row[1]), "title": row[3], "abstract": row[4], "keywords": row[5]}
    return {**own, "doi": row[2]} if row[2] else own


def load(data: Data) -> dict[str, Any]:
    """Its bulk loader for the graph, then the indexes."""
    started = time.perf_counter()
    shutil.rmtree(data.engines / "arcade", ignore_errors=True)
    database = _java(data).create_database(str(data.engines / "arcade"))

    def sql(command: str) -> None:
        database.command("sql", command)

    for kind in ("Paper", *NODES):
        sql(f"CREATE VERTEX TYPE {kind} BUCKETS 1")
        sql(f"CREATE PROPERTY {kind}.id INTEGER")
    for kind in EDGES:
        sql(f"CREATE EDGE TYPE {kind} BUCKETS 1")
    sql("CREATE PROPERTY Paper.year INTEGER")
    for name in ("doi", "title", "abstract", "keywords"):
        sql(f"CREATE PROPERTY Paper.{name} STRING")
    batch, ids = database.graph_batch(), dict[str, list[str]]()
    for kind, table in {"Paper": "papers", **NODES}.items():
        ids[kind] = []
        for part in _rows(data.tables / f"{table}.csv"):
            nodes = [_paper(row) if kind == "Paper" else {"id": int(row[0]), "name": row[1]} for row in part]
            ids[kind] += batch.create_vertices(kind, nodes)
    for kind, (table, source, target) in EDGES.items():
        for part in _rows(data.tables / f"{table}.csv"):
            sources, targets = ([ids[of][int(row[at])] for row in part] for at, of in enumerate((source, target)))
            batch.new_edges(sources, kind, targets)
    batch.close()
    stored = time.perf_counter()
    for kind in ("Paper", *NODES):
        sql(f"CREATE INDEX ON {kind} (id) UNIQUE")
    sql("CREATE INDEX ON Paper (year) NOTUNIQUE")
    indexed = time.perf_counter()
    sql("CREATE INDEX ON Paper (title, abstract, keywords) FULL_TEXT")
    database.close()
    seconds = {"graph_s": stored - started, "indexes_s": indexed - stored, "text_s": time.perf_counter() - indexed}
    return {name: round(value, 1) for name, value in seconds.items()}


class Arcade:
    """An open database."""

    spellings = ("pattern first", "text first", "cypher")

    def __init__(self, data: Data):
        self._database = _java(data).open_database(str(data.engines / "arcade"))

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """The SQL text, which the engine keeps parsed, and its parameters."""
        language, text = (
            ("opencypher", cypher_of(question)) if spelling == "cypher" else ("sql", sql_of(question, spelling))
        )
        with_doi = question.shape == "optional"
        parameters: dict[str, Any] = {"words": question.words, **question.constants}
        score = "score"
        if fresh is not None:
            name = "p" if spelling == "cypher" else "score"
            text = fresh.inlined(fresh.worded(text, (name,)), parameters, "[:$]")
            parameters, score = {}, score if spelling == "cypher" else fresh.name("score")

        def ask() -> list[Found]:
            rows = self._database.query(language, text, parameters)
            return [(row.get("id"), row.get(score), (row.get("doi") or "") if with_doi else "") for row in rows]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """All matches."""
        rows = self._database.query("sql", f"{ALL} WHERE {SEARCH}", {"words": words})
        return {row.get("id"): row.get("score") for row in rows}

    def processes(self) -> list[int]:
        """This one, Java is inside."""
        return [os.getpid()]

    def close(self) -> None:
        """Closes it."""
        self._database.close()


def sql_of(question: Question, spelling: str) -> str:
    """A question in SQL."""
    columns = "id, $score AS score" + (", doi" if question.shape == "optional" else "")
    source, where = "Paper", TEXT_FIRST[question.shape]
    if spelling == "pattern first" and question.shape in PATTERN_FIRST:
        source, where = PATTERN_FIRST[question.shape]
        source = f"({source})"
    found = f"SELECT {columns} FROM {source} WHERE {SEARCH}{' AND ' if where else ''}{where}"  # noqa: S608
    if source != "Paper" and question.shape in MANY_ROWS:
        found = f"SELECT DISTINCT id, score FROM ({found})"  # noqa: S608
    return f"{found} ORDER BY score DESC LIMIT {question.k}"


def cypher_of(question: Question) -> str:
    """A question in Cypher; the patterns are those that Kuzu reads."""
    doi = ", p.doi AS doi" if question.shape == "optional" else ""
    call = f"CALL db.index.fulltext.queryNodes('{INDEX}', $words) YIELD node AS p, score"
    where = f"WITH p, score {JOIN[question.shape]}" if question.shape in ("union", "year") else JOIN[question.shape]
    return f"{call} {where} RETURN DISTINCT p.id AS id, score{doi} ORDER BY score DESC LIMIT {question.k}"


def open(data: Data) -> Arcade:
    """What `load` made."""
    return Arcade(data)
