"""The report of an update counts what has really changed, and says whether the indexes see it."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.kb.write.updating import UpdateRun

INSERT = "INSERT DATA { <http://e/a> <http://e/p> <http://e/b> }"


@pytest.fixture
def kb(tmp_path):
    (tmp_path / "f.ttl").write_text('<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "a red fish" .')
    with KnowledgeBase.create(tmp_path / "f.kb") as kb:
        kb.load(tmp_path / "f.ttl")
        yield kb


def test_an_update_without_an_effect_says_of_the_index_what_was_true_before(kb):
    nothing = "DELETE WHERE { <http://e/none> ?p ?o }"
    assert not kb.update(nothing, index=False).is_behind
    assert kb.update(INSERT, index=False).is_behind
    assert kb.update(nothing, index=True).is_behind
    assert not kb.update("INSERT DATA { <http://e/a> <http://e/p> <http://e/c> }", index=True).is_behind


def test_an_entity_whose_triples_and_document_change_counts_once(kb):
    with kb.transaction(index=False) as t:
        t.update(INSERT)
        t.text("http://e/a", note="a slow fish")
        t.text("http://e/c", note="a fast fish")
        t.delete_text("http://e/never")
    assert (t.report.entities, t.report.documents) == (2, 2)


def test_a_dry_run_counts_the_documents_too_and_changes_none(kb):
    with kb.transaction(dry_run=True) as t:
        t.text("http://e/a", note="a slow fish")
    assert (t.report.documents, t.report.entities) == (1, 1)
    assert len(kb.query('SELECT ?f { ?f MATCH "slow" }')) == 0


def test_the_report_of_a_transaction_has_the_warnings_of_its_updates(kb):
    with kb.transaction() as t:
        own = t.update("INSERT { ?s <http://e/p> ?typo } WHERE { ?s ?p ?o }")
        t.update(INSERT)
    assert [warning.code for warning in own.warnings] == ["W102"]
    assert t.report.warnings == own.warnings


def test_a_transaction_is_exact_only_if_each_of_its_updates_is(kb, monkeypatch):
    solutions = UpdateRun.solutions
    monkeypatch.setattr(UpdateRun, "solutions", lambda *given: inexact(solutions, *given))
    with kb.transaction() as t:
        assert not t.update("INSERT { ?s <http://e/p> 1 } WHERE { ?s ?p ?o }").exact
        assert t.update(INSERT).exact
    assert not t.report.exact


def inexact(solutions, run, operation):
    run.exact = False
    return solutions(run, operation)


def test_triples_whose_subject_would_be_a_literal_are_counted(kb):
    kb.update('INSERT DATA { <http://e/a> <http://e/p> "x" , "y" , <http://e/b> }')
    report = kb.update("INSERT { ?o <http://e/q> ?s . ?s <http://e/q> ?s } WHERE { ?s <http://e/p> ?o }")
    (warning,) = report.warnings
    assert (warning.code, report.added) == ("W121", 2)
    assert warning.message.startswith("2 triples of the templates were left out: ?o is a literal there")
    nothing = kb.update('INSERT { ?o <http://e/q> 1 } WHERE { <http://e/a> <http://e/p> ?o FILTER(?o = "x") }')
    assert nothing.warnings[0].message.startswith("1 triple of the template was left out: ?o is a literal")
    assert nothing.why_nothing == "nothing has changed"
    deleted = kb.update("DELETE { ?o <http://e/q> ?s } WHERE { ?s <http://e/p> ?o }")
    assert not deleted.warnings
