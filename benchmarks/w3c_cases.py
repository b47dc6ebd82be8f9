"""The tests of the W3C SPARQL suites, read from their manifests, and the one list of those that we skip.

The list is tests/query/w3c-skips.toml. A skip excuses a test that does not pass;
one that passes is counted as passed, and a line of the list that excuses
nothing is reported as stale.
"""

from __future__ import annotations

import fnmatch
import os
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyoxigraph as ox

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("HYBRIDKG_DATA", ROOT.parent / "shared" / "data"))
ARCHIVE = SHARED / "w3c-rdf-tests" / "sparql-tests.tar.xz"
SKIPS = ROOT / "tests" / "query" / "w3c-skips.toml"

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
UPDATE = "update evaluation"
KINDS = {
    "PositiveSyntaxTest": "positive syntax",
    "PositiveSyntaxTest11": "positive syntax",
    "NegativeSyntaxTest": "negative syntax",
    "NegativeSyntaxTest11": "negative syntax",
    "PositiveUpdateSyntaxTest": "positive update syntax",
    "PositiveUpdateSyntaxTest11": "positive update syntax",
    "NegativeUpdateSyntaxTest": "negative update syntax",
    "NegativeUpdateSyntaxTest11": "negative update syntax",
    "QueryEvaluationTest": "evaluation",
    "CSVResultFormatTest": "result format",
    "UpdateEvaluationTest": UPDATE,
}
"""The kinds that ask or change; every other kind speaks a protocol."""

OTHER = "protocol"


@dataclass(frozen=True)
class Case:
    """One test.

    Args:
        suite: `sparql10`, `sparql11` or `sparql12`.
        name: its folder and name, unique: `sparql11/bind#bind01`.
        kind: a value of KINDS, or OTHER.
        query: the file of its query or update; None for OTHER.
        data: files of the default graph.
        graphs: files of named graphs; their names are the IRIs of the files.
        result: the file of the expected answer.
        lax: whether repeated rows may be left out.
        before: of an update: (name of a graph, file) of its data; an empty name for the default graph.
        after: the same for what must be there afterwards.
    """

    suite: str
    name: str
    kind: str
    query: Path | None = None
    data: tuple[Path, ...] = ()
    graphs: tuple[Path, ...] = ()
    result: Path | None = None
    lax: bool = False
    before: tuple[tuple[str, Path], ...] = ()
    after: tuple[tuple[str, Path], ...] = ()

    @property
    def base(self) -> str:
        """The IRI of the query's file."""
        assert self.query is not None
        return self.query.as_uri()

    @property
    def text(self) -> str:
        """The query or update."""
        assert self.query is not None
        return self.query.read_text("utf-8")


@dataclass(frozen=True)
class Skip:
    """Some tests that need not pass.

    Args:
        tests: patterns of names.
        kinds: kinds that are out of scope as a whole.
        why: the reason.
        oxigraph: whether it is Oxigraph that fails them, so that we would not even with a right query.
    """

    why: str
    tests: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    oxigraph: bool = False

    def matches(self, case: Case) -> bool:
        """Whether it speaks of a test."""
        return bool(self.part(case))

    def part(self, case: Case) -> str:
        """The kind or the pattern that speaks of a test; empty where none does."""
        patterns = (pattern for pattern in self.tests if fnmatch.fnmatchcase(case.name, pattern))
        return case.kind if case.kind in self.kinds else next(patterns, "")


def unpack(folder: Path) -> Path:
    """The suites' folder, unpacked below another."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
        archive.extractall(folder)
    return folder / "sparql"


def skips() -> list[Skip]:
    """The one list."""
    lines = tomllib.loads(SKIPS.read_text("utf-8"))["skip"]
    return [
        Skip(line["why"], tuple(line.get("tests", ())), tuple(line.get("kinds", ())), line.get("oxigraph", False))
        for line in lines
    ]


def cases(root: Path) -> Iterator[Case]:
    """Every test of the three suites, by manifest and name."""
    for path in sorted(root.glob("sparql1[012]/**/manifest*.ttl")):
        manifest = ox.Store()
        manifest.load(path=str(path), format=ox.RdfFormat.TURTLE, base_iri=path.as_uri())
        folder = path.parent.relative_to(root)
        for quad in sorted(manifest.quads_for_pattern(None, RDF_TYPE, None), key=lambda quad: str(quad.subject)):
            action = _objects(manifest, quad.subject, MF + "action")
            kind = quad.object.value.rpartition("#")[2]
            if action and kind.endswith(("Test", "Test11")):
                name = f"{folder}#{quad.subject.value.rpartition('#')[2]}"
                yield _case(folder.parts[0], name, kind, manifest, quad.subject, action[0])


def _case(suite: str, name: str, kind: str, manifest: ox.Store, subject: ox.NamedNode, action: ox.NamedNode) -> Case:
    if kind not in KINDS:
        return Case(suite, name, OTHER)
    if KINDS[kind] == UPDATE:
        request = _file(_objects(manifest, action, UT + "request")[0])
        (after,) = _objects(manifest, subject, MF + "result")
        return Case(suite, name, UPDATE, request, before=_graphs(manifest, action), after=_graphs(manifest, after))
    queries = _objects(manifest, action, QT + "query") or [action]
    results = _objects(manifest, subject, MF + "result")
    cardinality = _objects(manifest, subject, MF + "resultCardinality")
    return Case(
        suite,
        name,
        KINDS[kind],
        _file(queries[0]),
        tuple(_file(iri) for iri in _objects(manifest, action, QT + "data")),
        tuple(_file(iri) for iri in _objects(manifest, action, QT + "graphData")),
        _file(results[0]) if results else None,
        any(value.value.endswith("LaxCardinality") for value in cardinality),
    )


def _graphs(manifest: ox.Store, node: ox.NamedNode) -> tuple[tuple[str, Path], ...]:
    found = [("", _file(iri)) for iri in _objects(manifest, node, UT + "data")]
    for graph in _objects(manifest, node, UT + "graphData"):
        (name,), (data,) = _objects(manifest, graph, LABEL), _objects(manifest, graph, UT + "graph")
        found.append((name.value, _file(data)))
    return tuple(found)


def _objects(manifest: ox.Store, subject: ox.NamedNode, predicate: str) -> list[ox.NamedNode]:
    return [quad.object for quad in manifest.quads_for_pattern(subject, ox.NamedNode(predicate), None)]


def _file(iri: ox.NamedNode) -> Path:
    return Path(unquote(iri.value.removeprefix("file://")))
