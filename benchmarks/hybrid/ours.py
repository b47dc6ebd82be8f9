"""hybridkg: prepared queries with parameters; and forced strategies, as baselines."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import Any

from benchmarks.hybrid.contract import Ask, Found
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.sparql import DOI, LETTERS, MANY_ROWS, NAMES, PREFIX, has_doi, paper_of, pattern, spelled
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import BASE, Data

PLANNED = "planned"
"""The spelling that leaves the choice to the planner."""
PATIENCE_S = 10.0
"""A forced strategy may take so long."""


def text_of(question: Question, *, inline: bool = False) -> str:
    """The query, its constants as parameters or in the text.

    >>> text_of(Question(0, "tuning", "field", "rare", "selective", "none", 10, "taluza", {"field": 7}))
    'PREFIX : <http://mag.example/> SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :field $field . } RANK BY ?s LIMIT 10'
    """
    distinct = "DISTINCT " if question.shape in MANY_ROWS else ""
    columns, optional = ("?p ?s ?doi", f" {DOI}") if has_doi(question) else ("?p ?s", "")
    where = pattern(question, spelled if inline else lambda name, _: f"${name}")
    words = f"'{question.words}'" if inline else "$words"
    group = f"{{ ?p MATCH {words} AS ?s . {where}{optional} }}"
    return f"{PREFIX}SELECT {distinct}{columns} {group} RANK BY ?s LIMIT {question.k}"


def load(data: Data) -> dict[str, Any]:
    """With the commands a user would type."""
    kb, figures = data.engines / "kb", dict[str, Any]()
    shutil.rmtree(kb, ignore_errors=True)
    for stage, *more in (("load", data.triples, "--no-index"), ("index", "--profile", data.profile)):
        started = time.perf_counter()
        command = [sys.executable, "-m", "hybridkg", str(stage), str(kb), *map(str, more)]
        subprocess.run(command, check=True, stdout=sys.stderr)
        figures[f"{stage}_s"] = round(time.perf_counter() - started, 1)
    return figures


class Ours:
    """An open knowledge base."""

    def __init__(self, kb: Any, spellings: tuple[str, ...]):
        from rdflib import URIRef

        self._kb, self._iri, self.spellings = kb, URIRef, spellings
        self._prepared: dict[str, Any] = {}

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """The prepared query of the shape, and the parameters."""
        if fresh is not None:
            return self._fresh_asker(question, spelling, fresh)
        text = text_of(question)
        if text not in self._prepared:
            self._prepared[text] = self._kb.prepare(text)
        prepared, with_doi = self._prepared[text], has_doi(question)
        strategy, patience = (None, None) if spelling == PLANNED else (spelling, PATIENCE_S)
        params: dict[str, Any] = {"words": question.words}
        for name, number in question.constants.items():
            params[name] = self._iri(f"{BASE}{LETTERS[name]}{number}") if name in LETTERS else number

        def ask() -> list[Found]:
            rows = prepared.query(params, strategy=strategy, timeout=patience).to_python()
            return [(paper_of(row["p"]), row["s"], (row["doi"] or "") if with_doi else "") for row in rows]

        return ask

    def _fresh_asker(self, question: Question, spelling: str, fresh: FreshText) -> Ask:
        """A query text."""
        text = fresh.worded(text_of(question, inline=True), NAMES, mark=r"\?")
        strategy, patience = (None, None) if spelling == PLANNED else (spelling, PATIENCE_S)
        p, s, doi = map(fresh.name, ("p", "s", "doi"))
        with_doi = has_doi(question)

        def ask() -> list[Found]:
            rows = self._kb.query(text, strategy=strategy, timeout=patience).to_python()
            return [(paper_of(row[p]), row[s], (row[doi] or "") if with_doi else "") for row in rows]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """The complete relation."""
        rows = self._kb.query(f"{PREFIX}SELECT ?p ?s {{ ?p MATCH $words AS ?s }}", {"words": words})
        return {paper_of(row["p"]): float(row["s"]) for row in rows}

    def processes(self) -> list[int]:
        """This one."""
        return [os.getpid()]

    def close(self) -> None:
        """Lets go of the files."""
        self._kb.close()


def open(data: Data, strategy: str = PLANNED) -> Ours:
    """The knowledge base, asked as it plans itself or with one strategy."""
    from hybridkg import KnowledgeBase

    return Ours(KnowledgeBase.open(data.engines / "kb", warm_up=True), (strategy,))
