"""Apache Jena Fuseki 5.6 with TDB2 and jena-text (Lucene), asked over HTTP on one kept connection.

jena-text makes a Lucene document of every literal, so a paper's score is the
sum over its fields, and a question has to group by paper. Without a limit it
returns 10,000 literals and says nothing, so one is given that never is reached.
`exists` tests the pattern on every literal found, `join` joins the papers of
the pattern with those of the text.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.hybrid.contract import Ask, Found
from benchmarks.hybrid.fresh import FreshText
from benchmarks.hybrid.sparql import DOI, NAMES, PREFIX, has_doi, paper_of, pattern
from benchmarks.hybrid.workload import Question
from benchmarks.hybrid.writing import BASE, Data

SCRIPTS = Path(os.environ.get("HYBRIDKG_SERVER_SCRIPTS", Path(__file__).resolve().parents[3] / "shared/servers"))
HEAP = "-Xmx4g"
STARTS_S = 90
PREFIXES = f"{PREFIX}PREFIX text: <http://jena.apache.org/text#> "
CONFIG = """PREFIX : <#>
PREFIX fuseki: <http://jena.apache.org/fuseki#>
PREFIX mag: <{base}>
PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX tdb2: <http://jena.apache.org/2016/tdb#>
PREFIX text: <http://jena.apache.org/text#>

[] rdf:type fuseki:Server ; fuseki:services ( :service ) .
:service rdf:type fuseki:Service ; fuseki:name "ds" ;
    fuseki:endpoint [ fuseki:operation fuseki:query ] ; fuseki:dataset :dataset .
:dataset rdf:type text:TextDataset ; text:dataset :graph ; text:index :index .
:graph rdf:type tdb2:DatasetTDB2 ; tdb2:location "{folder}/tdb" .
:index a text:TextIndexLucene ; text:directory <file://{folder}/lucene> ; text:entityMap :map ;
    text:propLists ( [ text:propListProp mag:texts ; text:props ( mag:title mag:abstract mag:keywords ) ] ) .
:map a text:EntityMap ; text:defaultField "title" ; text:entityField "uri" ; text:map (
    [ text:field "title" ; text:predicate mag:title ]
    [ text:field "abstract" ; text:predicate mag:abstract ]
    [ text:field "keywords" ; text:predicate mag:keywords ] ) .
"""


def absent() -> str | None:
    """Why it cannot take part; None where it can."""
    if not Path(_script()).exists():
        return f"no {_script()}"
    return None if shutil.which("java") else "no java on the path"


def _script() -> str:
    return str(SCRIPTS / "fuseki")


def _environment(own: Path) -> dict[str, str]:
    """FUSEKI_BASE is where the server keeps what it makes for itself, else below the current folder."""
    return {**os.environ, "JAVA_OPTS": HEAP, "FUSEKI_BASE": str(own / "base")}


def load(data: Data) -> dict[str, Any]:
    """tdb2.tdbloader, then jena.textindexer."""
    own, figures = data.engines / "fuseki", {}
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    (own / "config.ttl").write_text(CONFIG.format(base=BASE, folder=own))
    for stage, command in (
        ("graph", ["tdb2.tdbloader", "--loc", str(own / "tdb"), str(data.triples)]),
        ("text", ["jena.textindexer", f"--desc={own / 'config.ttl'}"]),
    ):
        started = time.perf_counter()
        subprocess.run([_script(), "--main", *command], check=True, stdout=sys.stderr, env=_environment(own))
        figures[f"{stage}_s"] = round(time.perf_counter() - started, 1)
    return figures


class Fuseki:
    """A running server."""

    spellings = ("exists", "join")

    def __init__(self, data: Data):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        own = data.engines / "fuseki"
        config = str(own / "config.ttl")
        self._log = (own / "server.log").open("w")
        self._server = subprocess.Popen(
            [_script(), "--localhost", "--port", str(port), "--config", config],
            env=_environment(own), stdout=self._log, stderr=self._log,
        )  # fmt: skip
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._limit = 3 * data.papers
        until = time.monotonic() + STARTS_S
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > until:
                self.close()
                raise RuntimeError(f"Fuseki does not start; see {self._log.name}")
            time.sleep(0.3)

    def _answers(self) -> bool:
        with contextlib.suppress(OSError):
            self._http.request("GET", "/$/ping")
            return bool(self._http.getresponse().read())
        self._http.close()
        return False

    def _query(self, text: bytes) -> list[dict[str, Any]]:
        headers = {"Content-Type": "application/sparql-query", "Accept": "application/sparql-results+json"}
        self._http.request("POST", "/ds", text, headers)
        response = self._http.getresponse()
        body = response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"{response.status}: {body[:300]!r}")
        rows: list[dict[str, Any]] = json.loads(body)["results"]["bindings"]
        return rows

    def _text(self, words: str) -> str:
        return f'(?p ?score) text:query (:texts "{words}" {self._limit}) .'

    def asker(self, question: Question, spelling: str, fresh: FreshText | None = None) -> Ask:
        """The query as bytes."""
        where, text, with_doi = pattern(question), self._text(question.words), has_doi(question)
        if spelling == "exists":
            columns, by, optional = ("?doi", "?p ?doi", DOI) if with_doi else ("", "?p", "")
            inside = f"{text} FILTER EXISTS {{ {where} }} {optional}"
            found = f"SELECT ?p {columns} (SUM(?score) AS ?s) {{ {inside} }} GROUP BY {by}"
        else:
            columns, optional = ("?p ?s ?doi", DOI) if with_doi else ("?p ?s", "")
            ranked = f"{{ SELECT ?p (SUM(?score) AS ?s) {{ {text} }} GROUP BY ?p }}"
            found = f"SELECT {columns} {{ {{ SELECT DISTINCT ?p {{ {where} }} }} {ranked} {optional} }}"
        whole, p, s, doi = f"{PREFIXES}{found} ORDER BY DESC(?s) LIMIT {question.k}", "p", "s", "doi"
        if fresh is not None:
            whole, (p, s, doi) = fresh.worded(whole, NAMES, mark=r"\?"), map(fresh.name, ("p", "s", "doi"))
        query = whole.encode()

        def ask() -> list[Found]:
            rows = self._query(query)
            return [
                (paper_of(row[p]["value"]), float(row[s]["value"]), row[doi]["value"] if doi in row else "")
                for row in rows
                if p in row
            ]

        return ask

    def scores(self, words: str) -> dict[int, float]:
        """All matches."""
        text = f"{PREFIXES}SELECT ?p (SUM(?score) AS ?s) {{ {self._text(words)} }} GROUP BY ?p"
        return {paper_of(r["p"]["value"]): float(r["s"]["value"]) for r in self._query(text.encode()) if "p" in r}

    def processes(self) -> list[int]:
        """The server; the client may have another core."""
        return [self._server.pid]

    def close(self) -> None:
        """Stops the server."""
        self._http.close()
        self._server.terminate()
        try:
            self._server.wait(30)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._log.close()


def open(data: Data) -> Fuseki:
    """Starts a server over what `load` made."""
    return Fuseki(data)
