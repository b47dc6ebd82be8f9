"""What fails changes nothing: a request, a transaction, a load; and says where and why."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rebuilt import documents_of, quads_of

from hybridkg import KnowledgeBase
from hybridkg.errors import HybridkgError, LoadError, QueryLimitError, QueryStoppedError, UserError
from hybridkg.kb.query_run import QueryRun
from hybridkg.kb.write.open_transaction import Transaction
from hybridkg.store.generations.place import BUILDING, GENERATION

PREFIX = "PREFIX : <http://e/> "
PRODUCT = f"{PREFIX} INSERT {{ ?a :all ?b }} WHERE {{ ?a :p ?x . ?b :p ?y . ?c :p ?z . ?d :p ?w }}"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> KnowledgeBase:
    kb = KnowledgeBase.create(tmp_path_factory.mktemp("failed") / "kb")
    lines = " ".join(f':n{n} :p :n{n % 7} ; rdfs:label "red fish {n}" .' for n in range(60))
    kb.update(f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {PREFIX} INSERT DATA {{ {lines} }}")
    return kb


@pytest.fixture
def kb(made):
    """A knowledge base that must be the same after the test, with no folder of an unfinished commit."""
    before = quads_of(made), documents_of(made), made._snapshot.generation.name
    yield made
    made.refresh()
    assert (quads_of(made), documents_of(made), made._snapshot.generation.name) == before
    entries = [entry.name for entry in made._folder.path.iterdir()]
    assert [name for name in entries if name.startswith(BUILDING)] == []
    assert max(name for name in entries if GENERATION.fullmatch(name)) == before[2]
    with made._folder.locked():
        pass


def test_an_error_of_a_later_operation_undoes_the_earlier_ones_of_a_commit(kb):
    with pytest.raises(UserError, match="there is no graph") as caught:
        kb.update(f"{PREFIX}\nINSERT DATA {{ :new :p :new }} ;\nDELETE WHERE {{ ?s ?p ?o }} ;\nDROP GRAPH :none")
    assert "--> update:4:12" in caught.value.render()


def test_a_syntax_error_takes_no_lock(kb):
    with kb._folder.locked(), pytest.raises(HybridkgError, match="triple"):
        kb.update("INSERT DATA { <x:a> }")


def test_an_exception_in_the_block_of_a_transaction_is_that_exception(kb):
    own = ValueError("of the user")

    def work(t: Transaction) -> None:
        t.update(f'{PREFIX} INSERT DATA {{ :new :p "a new fish" }}')
        t.text("http://e/n1", review="fine")
        assert len(t.query('SELECT ?x { ?x MATCH "fine" }')) == 1
        raise own

    with pytest.raises(ValueError, match="of the user") as caught, kb.transaction() as t:
        work(t)
    assert caught.value is own
    with pytest.raises(UserError, match="has ended"):
        t.update(f"{PREFIX} INSERT DATA {{ :new :p :new }}")


def test_ctrl_c_in_the_block_of_a_transaction_ends_it(kb):
    def work(t: Transaction) -> None:
        t.update(f"{PREFIX} INSERT DATA {{ :new :p :new }}")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), kb.transaction(index=False) as t:
        work(t)


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_where_over_its_limits_undoes_the_request(kb, in_transaction):
    text = f"{PREFIX} INSERT DATA {{ :new :p :new }} ; {PRODUCT}"

    def run(**limits: Any) -> None:
        if not in_transaction:
            kb.update(text, index=False, **limits)
        with kb.transaction(index=False) as t:
            t.update(text, **limits)

    for error, limits in (
        (QueryLimitError, {"max_rows": 1_000}),
        (QueryStoppedError, {"timeout": 1e-4}),
        (QueryStoppedError, {"cancel": _set_event()}),
    ):
        with pytest.raises(error):
            run(**limits)


def _set_event() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def test_ctrl_c_in_a_where_undoes_the_request(kb, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(QueryRun, "execute", interrupted)
    with pytest.raises(KeyboardInterrupt):
        kb.update(f"{PREFIX} INSERT DATA {{ :new :p :new }} ; INSERT {{ ?x :q ?y }} WHERE {{ ?x :p ?y }}", index=False)


def test_a_failed_request_leaves_what_its_transaction_has_done(made):
    before = quads_of(made)
    with made.transaction(index=False) as t:
        t.update(f"{PREFIX} INSERT DATA {{ :kept :p :kept }}")
        with pytest.raises(UserError):
            t.update(f"{PREFIX} DELETE WHERE {{ ?s ?p ?o }} ; DROP GRAPH :none")
        with pytest.raises(QueryStoppedError):
            t.update(f"{PREFIX} INSERT DATA {{ :new :p :new }} ; {PRODUCT}", timeout=1e-4)
        assert t.query(f"{PREFIX} ASK {{ :kept :p :kept . :n1 :p ?o }}").boolean
    assert (t.report.added, t.report.removed) == (1, 0)
    assert len(quads_of(made) - before) == 1
    made.update(f"{PREFIX} DELETE DATA {{ :kept :p :kept }}")
    assert quads_of(made) == before


def attempt(action: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Does what fails with an error of ours, and goes on."""
    with pytest.raises(LoadError):
        action(*args, **options)


def malformed(folder: Path) -> Path:
    path = folder / "bad.nt"
    path.write_text("<http://e/new> <http://e/p> <http://e/new> .\n" * 3 + "<http://e/new> <http://e/p> .\n")
    return path


@pytest.fixture
def all_are_large(monkeypatch):
    """Every input goes through the bulk loader."""
    monkeypatch.setattr("hybridkg.kb.write.open_transaction.is_small", lambda source: False)


def test_a_small_load_that_fails_changes_nothing_in_its_transaction(made, tmp_path):
    before = quads_of(made)
    good = tmp_path / "good.nt"
    good.write_text("<http://e/good> <http://e/p> <http://e/good> .\n")
    with made.transaction(index=False) as t:
        attempt(t.load, good, malformed(tmp_path))
    assert quads_of(made) == before


def test_a_load_that_fails_cannot_be_committed_half_way(kb, tmp_path, all_are_large):
    good = tmp_path / "good.nt"
    good.write_text("<http://e/good> <http://e/p> <http://e/good> .\n")
    with pytest.raises(LoadError, match="has failed"), kb.transaction(index=False) as t:
        attempt(t.load, good, malformed(tmp_path))


def test_nothing_runs_in_a_transaction_after_a_load_that_fails(kb, tmp_path, all_are_large):
    def work(t: Transaction) -> None:
        attempt(t.load, malformed(tmp_path))
        attempt(t.update, f"{PREFIX} INSERT DATA {{ :new :p :new }}")
        attempt(t.query, "SELECT * { ?s ?p ?o }")
        attempt(t.load, malformed(tmp_path), replace="default")
        attempt(t.text, "http://e/n1", review="fine")

    with pytest.raises(LoadError, match="has failed") as caught, kb.transaction(index=False) as t:
        work(t)
    assert "bad.nt" in str(caught.value)


@pytest.mark.parametrize("action", ["replace", "delete"])
def test_a_replacement_or_removal_that_fails_changes_nothing_in_its_transaction(made, tmp_path, action):
    before = quads_of(made)
    with made.transaction(index=False) as t:
        if action == "replace":
            attempt(t.load, malformed(tmp_path), replace="default")
        else:
            attempt(t.delete, malformed(tmp_path))
    assert quads_of(made) == before
    assert (t.report.added, t.report.removed) == (0, 0)


def test_a_removal_of_several_files_is_done_whole_or_not_at_all(made, tmp_path):
    before = quads_of(made)
    good = tmp_path / "good.nt"
    good.write_text("<http://e/n1> <http://e/p> <http://e/n1> .\n")
    with made.transaction(index=False) as t:
        attempt(t.delete, good, malformed(tmp_path))
    assert quads_of(made) == before


def test_a_text_that_is_not_allowed_fails_where_it_is_given(made):
    before = documents_of(made)
    with made.transaction(index=False) as t:
        for fields in ({"Review": "x"}, {"review": 3}, {"review": ["\ud800"]}):
            with pytest.raises(HybridkgError):
                t.text("http://e/n1", **fields)
        t.text("http://e/n1", review="fine")
    assert documents_of(made) == {**before, "http://e/n1": {"review": ["fine"]}}
    with made.transaction() as t:
        t.delete_text("http://e/n1")
