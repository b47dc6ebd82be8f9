"""What somebody meets who tries the Python API for the first time: temporary ones, slips, what is printed."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
import rdflib

import hybridkg
from hybridkg import KnowledgeBase
from hybridkg.errors import LoadError, NotAKnowledgeBaseError, UserError
from hybridkg.kb.temporary import _remove

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
SPACE = 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s'


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_a_temporary_knowledge_base_works_without_with_and_goes_when_it_is_closed(room):
    kb = KnowledgeBase.temporary(FILMS)
    assert len(kb.query(SPACE)) == 4
    assert list(room.iterdir()) != []
    kb.close()
    assert list(room.iterdir()) == []
    kb.close()


def test_a_temporary_knowledge_base_goes_when_nobody_has_it(room):
    assert len(KnowledgeBase.temporary(FILMS).query(SPACE)) == 4
    gc.collect()
    assert list(room.iterdir()) == []


def test_a_temporary_knowledge_base_goes_with_its_process(tmp_path):
    code = """
import os, sys
from pathlib import Path
from hybridkg import KnowledgeBase
kb = KnowledgeBase.temporary(sys.argv[1])
print(len(list(Path(os.environ["TMPDIR"]).glob("hybridkg-*/kb/CURRENT"))))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    run = [sys.executable, "-W", "ignore", "-c", code, str(FILMS)]
    assert subprocess.run(run, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout == "1\n"
    assert list(tmp_path.glob("hybridkg-*")) == []


def test_another_process_than_its_own_removes_nothing(tmp_path):
    _remove(str(tmp_path), os.getpid() + 1)
    assert tmp_path.is_dir()
    _remove(str(tmp_path), os.getpid())
    assert not tmp_path.is_dir()


def test_mistakes_are_told_when_a_temporary_knowledge_base_is_made(room, tmp_path):
    with pytest.raises(LoadError, match="nothing to load"):
        KnowledgeBase.temporary()
    with pytest.raises(LoadError, match="no file"):
        KnowledgeBase.temporary(tmp_path / "none.ttl")
    assert list(room.iterdir()) == []


def test_a_temporary_knowledge_base_behind_its_with_says_that_it_is_closed(room):
    with KnowledgeBase.temporary(FILMS) as kb:
        pass
    for use in (lambda: kb.query(SPACE), kb.stats, kb.refresh, kb.index, lambda: kb.load(FILMS)):
        with pytest.raises(UserError, match="this temporary knowledge base has been closed and deleted") as raised:
            use()
        assert raised.value.__context__ is None
    assert list(room.iterdir()) == []


def test_a_list_of_files_is_told_how_to_be_given(tmp_path):
    kb = KnowledgeBase.create(tmp_path / "f.kb")
    for files in ([str(FILMS)], (FILMS,)):
        with pytest.raises(LoadError, match=r"file names, and they are taken one by one\n  hint: unpack it: kb\.load"):
            kb.load(files)
    label = rdflib.RDFS.label
    assert kb.load([(rdflib.URIRef("http://e/a"), label, rdflib.Literal("a"))]).triples == 1


def test_the_constructor_names_the_way_to_open():
    with pytest.raises(TypeError, match=r"KnowledgeBase\('films\.kb'\) opens nothing: KnowledgeBase\.open\(path\)"):
        KnowledgeBase("films.kb")


@pytest.mark.parametrize("use", [KnowledgeBase.open, KnowledgeBase.create, KnowledgeBase.remove])
def test_what_is_no_path_is_told_so(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TypeError, match="the path of a knowledge base is a str or a Path, not NoneType"):
        use(None)
    with pytest.raises(NotAKnowledgeBaseError, match=r"the path of the knowledge base is empty"):
        use("")
    assert list(tmp_path.iterdir()) == []


def test_results_and_plans_say_in_a_line_what_they_are_and_show_rows_in_print(room):
    with KnowledgeBase.temporary(FILMS) as kb:
        assert repr(kb).endswith("kb', generation 000002, 128 triples)")
        result = kb.query(SPACE, limit=1)
        assert repr(result) == "ResultSet(?film ?s; 1 row, exact)"
        assert [line.split() for line in str(result).splitlines() if "─" not in line] == [
            ["?film", "?s"],
            [":Odyssey", "1.1646"],
            ["1", "row,", "exact"],
        ]
        assert str(kb.query("SELECT ?s { ?s ?p ?o }")).endswith("128 rows, of which the first 20 are shown, exact")
        assert (repr(kb.query("ASK {}")), str(kb.query("ASK {}"))) == ("ResultSet(yes)", "yes")
        plan = kb.explain(SPACE)
        assert repr(plan) == f"Explanation(strategy {plan.plan.strategy}; print it to read it)"
        assert str(kb.query(f"EXPLAIN {SPACE}")).startswith("strategy: ")
        assert repr(kb.query(f"EXPLAIN {SPACE}")) == "ResultSet(a plan; print it to read it)"
    assert repr(kb).endswith("kb', closed)")


def test_dir_of_the_package_names_what_it_has():
    assert set(hybridkg.__all__) <= set(dir(hybridkg))
