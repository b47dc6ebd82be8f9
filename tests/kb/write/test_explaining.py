"""EXPLAIN of an update shows the plan of each WHERE and changes nothing."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase, UpdateExplanation
from hybridkg.errors import HybridkgError, LockedError

CHOSEN = 'INSERT { ?f <a:b> 1 } WHERE { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 3'


@pytest.fixture(scope="module")
def kb(tmp_path_factory, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("explained") / "films.kb")) as kb:
        yield kb


def unchanged(kb: KnowledgeBase) -> bool:
    before = repr(kb)
    kb.refresh()
    return repr(kb) == before


def test_each_operation_has_its_plan_or_says_that_it_has_no_where(kb):
    shown = kb.explain_update(CHOSEN)
    (head, *rest) = str(shown).splitlines()
    query = kb.explain('SELECT ?f { ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 3')
    assert head == "operation 1: INSERT"
    assert "TextTopK ?f k=3 ?s" in str(shown)
    assert rest[0].split(",")[0] == str(query).splitlines()[0].split(",")[0]
    text = str(kb.explain_update("CLEAR DEFAULT; INSERT DATA { <a:b> <a:b> 1 }; " + CHOSEN))
    assert text.startswith("operation 1: CLEAR, which has no WHERE\n\noperation 2: INSERT DATA, which has no WHERE\n\n")
    assert unchanged(kb)


def test_explain_before_an_update_is_the_same_and_analyze_has_actual_rows(kb):
    assert "rows" not in str(kb.update("EXPLAIN " + CHOSEN).explanation).replace("est.rows", "")
    done = kb.update("EXPLAIN ANALYZE " + CHOSEN)
    assert (done.added, done.removed) == (0, 0)
    (operation,) = done.to_json()["operations"]
    assert operation["operation"] == "INSERT"
    assert operation["where"]["operator"]["rows"] == 3
    assert kb.explain_update(CHOSEN, analyze=True).to_json()["operations"][0]["where"]["operator"]["rows"] == 3
    assert unchanged(kb)


def test_an_explanation_needs_no_lock(kb):
    with kb.transaction(dry_run=True) as t:
        assert isinstance(kb.update("EXPLAIN " + CHOSEN).explanation, UpdateExplanation)
        t.update("INSERT DATA { <a:b> <a:b> <a:c> }")
        assert t.update("EXPLAIN DELETE WHERE { ?s <a:b> ?o }").explanation is not None
        assert t.query("ASK { ?s <a:b> ?o }")
    with pytest.raises(LockedError), kb.transaction(), kb.transaction():
        pass


def test_the_prefixes_of_the_update_are_those_of_its_plan(kb):
    where = kb.explain_update("PREFIX x: <http://example.org/films/> DELETE WHERE { ?f x:year ?y }")
    assert "?f x:year ?y" in str(where)


def test_a_mistake_in_a_where_has_its_place(kb):
    with pytest.raises(HybridkgError) as caught:
        kb.explain_update('CLEAR ALL ;\nINSERT { ?f <a:b> 1 } WHERE { ?f MATCH "a" ON (lable) }')
    assert " --> update:2:48\n" in caught.value.render()


def test_the_words_of_a_request_without_operations():
    assert str(UpdateExplanation(())) == "no operation"
