"""The W3C test suites of RDF 1.2 in Turtle, TriG, N-Triples, N-Quads and RDF/XML, through our reading of files."""

from __future__ import annotations

import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox
import pytest

from hybridkg.errors import LoadError
from hybridkg.rdf.input_file import InputFile
from hybridkg.store.rdf_io.blank_nodes import BlankNodeNames
from hybridkg.store.rdf_io.rdf_parsing import quads_of

pytestmark = [pytest.mark.needs_shared, pytest.mark.quick]

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
COUNTS = {"Eval": 83, "NegativeSyntax": 88, "PositiveC14N": 82, "PositiveSyntax": 79}
"""Tests of each kind; those of entailment ask for inference."""


OTHER_QUADS = {"rdf12-xml-an-13", "rdf12-xml-an-14"}
"""Oxigraph 0.5.13 writes the namespaces in scope into an XML literal."""


class Case(NamedTuple):
    kind: str
    action: Path
    result: Path | None


@pytest.fixture(scope="module")
def cases(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    folder = tmp_path_factory.mktemp("rdf12")
    with tarfile.open(shared_data / "w3c-rdf-tests" / "rdf-syntax-tests.tar.xz") as archive:
        members = [member for member in archive if member.name.startswith("rdf/rdf12/")]
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
        archive.extractall(folder, members)
    return [case for path in sorted(folder.rglob("manifest.ttl")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[Case]:
    manifest = ox.Dataset(ox.parse(path=str(path), base_iri=path.as_uri()))
    for typed in manifest.quads_for_predicate(TYPE):
        kind = typed.object.value.rpartition("#")[2]
        found = {quad.predicate.value: quad.object for quad in manifest.quads_for_subject(typed.subject)}
        action, result = found.get(MF + "action"), found.get(MF + "result")
        if kind.startswith("Test") and isinstance(action, ox.NamedNode):
            own = next(name for name in COUNTS if kind.endswith(name))
            yield Case(own, _path(action), _path(result) if own == "Eval" else None)


def _path(iri: ox.NamedNode) -> Path:
    return Path(iri.value.removeprefix("file://"))


def read(path: Path) -> list[ox.Quad]:
    """The quads that are loaded from a file."""
    quads: list[ox.Quad] = []
    with InputFile(path) as file:
        for batch in quads_of(file, BlankNodeNames(7), path.as_uri()):
            quads += batch.renamed
            quads += ox.parse(batch.plain, ox.RdfFormat.N_QUADS, lenient=True)
    return quads


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    """The quads with names of blank nodes that depend on the graph alone."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def test_every_file_is_accepted_or_refused_as_the_suites_say(cases):
    assert Counter(case.kind for case in cases) == COUNTS
    for case in cases:
        if case.kind == "NegativeSyntax":
            with pytest.raises(LoadError):
                read(case.action)
        else:
            read(case.action)


def test_every_file_has_the_quads_that_oxigraph_reads_and_the_suites_say(cases):
    for case in cases:
        if case.kind == "NegativeSyntax":
            continue
        found, base = canonical(read(case.action)), case.action.as_uri()
        assert found == canonical(ox.parse(path=str(case.action), base_iri=base)), case.action
        if case.result is not None:
            is_right = found == canonical(ox.parse(path=str(case.result), base_iri=base))
            assert is_right == (case.action.stem not in OTHER_QUADS), case.action
