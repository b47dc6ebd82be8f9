"""Triple terms in a knowledge base that changes: its indexes follow or are built anew, and a dump has them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset

from hybridkg import KnowledgeBase
from hybridkg.kb.write.follow_change import IndexFollower

HEAD = "PREFIX : <http://e/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
ANNOTATED = (
    HEAD
    + """
INSERT { ?f :seen true {| :by :ann ; :note "twice"@ar--rtl |} . :list :has <<( ?f :seen true )>> }
WHERE { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 2"""
)
SEEN = HEAD + 'SELECT ?f ?by ?s { ?f :seen true {| :by ?by |} . ?f MATCH "space" AS ?s } RANK BY ?s'


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "kb") as kb:
        data = tmp_path / "data.ttl"
        data.write_text(
            HEAD + ':a rdfs:label "space opera" . :b rdfs:label "space and time" . :c rdfs:label "cooking" .'
        )
        kb.load(data)
        yield kb


@pytest.fixture
def followed(monkeypatch) -> list[str]:
    """How each commit has made its indexes: `followed`, or the reason why not."""
    found: list[str] = []
    run = IndexFollower.run

    def recorded(self: IndexFollower):
        try:
            report = run(self)
        except Exception as e:
            found.append(str(e))
            raise
        found.append("followed")
        return report

    monkeypatch.setattr(IndexFollower, "run", recorded)
    return found


def canonical(kb: KnowledgeBase) -> Dataset:
    dataset = Dataset(list(kb._snapshot.store.quads()))
    dataset.canonicalize(CanonicalizationAlgorithm.UNSTABLE)
    return dataset


def test_annotations_of_an_update_are_asked_beside_a_match(kb, followed):
    report = kb.update(ANNOTATED)
    assert (report.added, report.removed) == (10, 0)
    assert followed == ["a triple has a triple term or a literal with a base direction"]
    assert [str(row.term("f")) for row in kb.query(SEEN)] == ["<http://e/a>", "<http://e/b>"]
    assert kb.check(full=True).ok


def test_indexes_follow_a_change_without_triple_terms_in_a_graph_that_has_some(kb, followed):
    kb.update(ANNOTATED)
    kb.update(HEAD + 'INSERT DATA { :c rdfs:label "space food" ; :note "once" }')
    kb.update(HEAD + "DELETE { ?r :by ?by } WHERE { ?r :by ?by }")
    kb.update(HEAD + 'INSERT { ?r :by ?by } WHERE { ?r :note "twice"@ar--rtl BIND(:ann AS ?by) }')
    assert followed[1:] == ["followed"] * 3
    assert kb.check(full=True).ok
    why = "the projection lacks triples of :note"
    assert why in str(kb.explain(HEAD + 'SELECT * { ?c :note ?n . ?c MATCH "space" }'))
    kb.update(HEAD + "INSERT DATA { :c :seen true {| :by :bob |} }")
    assert {str(row.term("by")) for row in kb.query(SEEN)} == {"<http://e/ann>", "<http://e/bob>"}
    report = kb.update(HEAD + "DELETE { ?r ?p ?o . :list :has ?t } WHERE { ?r ?p ?o ; :by ?by . :list :has ?t }")
    assert report.removed == 3 + 3 + 2 + 2
    assert list(kb.query(SEEN)) == []
    kb.update(HEAD + 'INSERT DATA { :a rdfs:label "space again" }')
    assert followed[-1] == "followed"


def test_a_dump_has_the_triple_terms_and_a_file_of_them_is_removed(kb, tmp_path):
    kb.update(ANNOTATED)
    for name in ("all.nq", "all.trig", "all.ttl", "all.nt"):
        kb.dump(tmp_path / name)
        with KnowledgeBase.create(tmp_path / f"{name}.kb") as other:
            other.load(tmp_path / name)
            assert canonical(other) == canonical(kb), name
    file = Path(tmp_path, "old.ttl")
    file.write_text(HEAD + ":list :has <<( :a :seen true )>> , <<( :b :seen true )>> , <<( :c :seen true )>> .")
    assert kb.delete(file).removed == 2
