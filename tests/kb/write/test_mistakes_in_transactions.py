"""Mistakes of a program that writes: each is an error that names it, and nothing of it is committed."""

from __future__ import annotations

from contextlib import suppress

import pytest

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, LoadError, QueryStoppedError, UserError
from hybridkg.kb.write import open_transaction


@pytest.fixture(scope="module")
def kb(tmp_path_factory, copy_films):
    with KnowledgeBase.open(copy_films(tmp_path_factory.mktemp("mistakes") / "films.kb")) as kb:
        before = repr(kb)
        yield kb
        kb.refresh()
        assert repr(kb) == before


def test_a_large_load_that_fails_half_way_keeps_its_transaction_from_being_committed(kb, tmp_path, monkeypatch):
    monkeypatch.setattr(open_transaction, "is_small", lambda source: False)
    good, bad = tmp_path / "good.nt", tmp_path / "bad.nt"
    good.write_text("<http://e/a> <http://e/p> <http://e/b> .\n")
    bad.write_text("<http://e/a> oops .\n")

    def caught() -> None:
        with kb.transaction() as t, suppress(LoadError):
            t.load(good, bad)

    with pytest.raises(LoadError, match="has failed in the middle of its input, so nothing of it can be committed"):
        caught()


def test_a_load_that_fails_before_anything_was_added_leaves_its_transaction_alone(kb, tmp_path):
    with kb.transaction(dry_run=True) as t:
        with suppress(LoadError):
            t.load(tmp_path / "missing.nt")
        t.update("INSERT DATA { <http://e/a> <http://e/p> <http://e/b> }")
    assert t.report.added == 1


@pytest.mark.parametrize(
    ("entity", "field", "message"),
    [
        ("no iri", "x", "'no iri' is not an IRI: "),
        ("http://e/a", 3, "field 'review' must be a text or a list of texts, not a number"),
        ("http://e/a", [3], "field 'review' must be a text or a list of texts, not a number"),
    ],
)
def test_a_text_that_is_none_is_named(kb, entity, field, message):
    with pytest.raises(UserError) as caught, kb.transaction() as t:
        t.text(entity, review=field)
    assert caught.value.message.startswith(message)


def test_limits_are_checked_before_anything_is_done(kb):
    for limits in ({"timeout": -1}, {"timeout": "long"}, {"max_rows": 0}):
        with pytest.raises(UserError) as caught:
            kb.update("CLEAR ALL", **limits)
        assert next(iter(limits)) in caught.value.message


def test_the_time_of_a_request_is_that_of_all_its_operations(kb):
    long = "INSERT { ?a <a:b> 1 } WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    with pytest.raises(QueryStoppedError):
        kb.update(f"INSERT DATA {{ <a:b> <a:b> 1 }} ; {long}", timeout=0.2)


def test_nothing_to_remove_is_an_error(kb):
    with pytest.raises(LoadError, match="nothing to remove"):
        kb.delete()


def test_a_transaction_that_has_ended_says_so(kb):
    with kb.transaction() as t:
        pass
    for call in (lambda: t.update("CLEAR ALL"), lambda: t.query("ASK {}"), lambda: t.load("x.nt")):
        with pytest.raises(HybridkgError, match="this transaction has ended"):
            call()


def test_an_update_that_is_no_text_is_told_so(tmp_path):
    with (
        KnowledgeBase.create(tmp_path / "kb") as kb,
        pytest.raises(UserError, match="an update is a text, not 'bytes'"),
    ):
        kb.update(b"CLEAR ALL")
