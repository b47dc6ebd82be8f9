"""The first load builds the indexes, and settings given to `load` and `index` take effect at once and stay."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from sampling import sampled

from hybridkg.cli import cli
from hybridkg.config.settings_reader import read_config
from hybridkg.errors import LoadError, LockedError, ParameterError, UnknownNameError
from hybridkg.kb import KnowledgeBase
from hybridkg.store.generations.folder import Folder

FILMS = Path(__file__).resolve().parents[3] / "examples" / "films.ttl"
SPACE = 'SELECT ?f { ?f MATCH "space" AS ?s } RANK BY ?s'
NEAR = 'SELECT ?f { ?f NEAR "space" AS ?s } RANK BY ?s LIMIT 3'
COMMENT = "# a line of the owner\n"


@pytest.fixture
def kb(tmp_path):
    with KnowledgeBase.create(tmp_path / "kb") as kb:
        yield kb


@pytest.fixture
def more(tmp_path):
    path = tmp_path / "more.ttl"
    path.write_text('<http://e/new> <http://www.w3.org/2000/01/rdf-schema#label> "a new space film" .')
    return path


def commented(kb):
    """Puts a comment into kb.toml."""
    settings = kb._snapshot.generation.path.parent / "kb.toml"
    settings.write_text(COMMENT + settings.read_text())
    return settings


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


def test_the_first_load_indexes_and_the_indexes_follow_a_later_one_unless_they_are_not_to(kb, more):
    report = kb.load(FILMS)
    assert report.index is not None
    assert report.index.entities == 31
    assert len(kb.query(SPACE)) > 0
    assert kb.load(more, index=False).index is None
    assert "text" in kb.query(SPACE).stale_indexes
    assert kb.load(more).index is None
    assert kb.load(more, index=True).index.entities == 32
    more.write_text(f"{more.read_text()}\n<http://e/later> <http://www.w3.org/2000/01/rdf-schema#label> 'space' .")
    report = kb.load(more)
    assert (report.triples, report.index.entities, report.has_followed) == (1, 33, True)
    assert kb.query(SPACE).stale_indexes == ()


def test_a_load_without_index_leaves_the_first_index_to_the_next(kb, more):
    assert kb.load(FILMS, index=False).index is None
    assert kb.load(more).index.entities == 32


def test_the_command_has_both_switches(tmp_path, more):
    first = run("load", tmp_path / "kb", FILMS, "--no-index")
    assert "index:" not in first.stderr
    assert f"run: hybridkg index {tmp_path / 'kb'}" in first.stderr
    second = run("load", tmp_path / "kb", more)
    assert second.stderr.startswith("statements: 1\ntriples: 1 new\nindex:\n  fields: ")
    assert "the change is not searchable yet" not in second.stderr
    more.write_text(f"{more.read_text()}\n<http://e/later> <http://www.w3.org/2000/01/rdf-schema#label> 'space' .")
    assert "the change is not searchable yet; run" in run("load", tmp_path / "kb", more, "--no-index").stderr
    assert "index:" in run("load", tmp_path / "kb", more, "--index").stderr


@pytest.mark.parametrize("step", ["load", "index"])
def test_an_encoder_is_used_in_the_same_call_and_stays_in_kb_toml(kb, step):
    settings = commented(kb)
    if step == "load":
        vectors = kb.load(FILMS, encoder="lsa").index.vectors
    else:
        assert kb.load(FILMS).index.vectors is None
        vectors = kb.index(encoder="lsa").vectors
    assert (vectors.kind, vectors.entities) == ("lsa", 31)
    assert len(kb.query(NEAR)) == 3
    assert COMMENT in settings.read_text()
    assert Folder.open(settings.parent).config.encoder == "lsa"
    assert kb.index().vectors is not None
    assert kb.index(encoder="none").vectors is None


def test_a_setting_of_the_index_builds_it_in_a_later_load(kb, more):
    kb.load(FILMS)
    assert kb.load(more, encoder="lsa").index.vectors.entities == 32


def test_settings_change_only_with_the_generation(kb, tmp_path):
    settings = commented(kb)
    before = settings.read_text()
    (tmp_path / "broken.ttl").write_text("<a> <b>")
    with pytest.raises(LoadError):
        kb.load(tmp_path / "broken.ttl", encoder="lsa")
    with Folder.open(settings.parent).locked(), pytest.raises(LockedError):
        kb.index(encoder="lsa", profile="default")
    assert settings.read_text() == before
    assert sorted(path.name for path in settings.parent.iterdir() if path.name == "PENDING") == []


def test_what_the_owner_writes_while_an_index_is_built_stays(kb):
    settings = commented(kb)
    kb.load(FILMS, index=False)

    class Editing:
        def start(self, label, total_bytes):
            settings.write_text(settings.read_text().replace(COMMENT, "# edited\n"))

        def advance(self, bytes_read, items):
            pass

        def done(self, items):
            pass

    kb.index(encoder="lsa", progress=Editing())
    assert settings.read_text().startswith("# edited\n")
    assert Folder.open(settings.parent).config.encoder == "lsa"


def test_names_that_there_are_not_are_told_before_anything_is_done(kb):
    with pytest.raises(UnknownNameError, match="no encoder 'lsd'; known: none, lsa") as encoder:
        kb.load(FILMS, encoder="lsd:small")
    assert encoder.value.hint == "did you mean 'lsa'?"
    with pytest.raises(UnknownNameError, match="no text engine 'embeded'; known: elasticsearch, embedded"):
        kb.load(FILMS, text_engine="embeded")
    with pytest.raises(ParameterError, match="takes a model"):
        kb.index(encoder="sentence-transformers")
    assert kb._snapshot.quads == 0


def test_reports_become_json_and_print_what_the_command_prints(kb, tmp_path):
    report = kb.load(FILMS, encoder="lsa")
    told = report.to_json()
    assert json.loads(json.dumps(told)) == told
    assert (told["triples"], told["index"]["entities"], told["index"]["vectors"]["kind"]) == (128, 31, "lsa")
    command = run("load", tmp_path / "other", FILMS, "--encoder", "lsa")
    assert str(report) + "\n" == command.stderr
    assert type(report.index).from_json(told["index"]) == report.index
    shown = "LoadReport(statements=128, triples=0, documents=None, index=None, warnings=(), removed=None)"
    assert repr(kb.load(FILMS)) == shown


EMPTY = {"empty.ttl": "", "prefixes.ttl": "@prefix e: <http://e/> .\n", "empty.nt": "# nothing yet\n", "o.jsonld": "{}"}


@pytest.mark.parametrize("name", sampled(EMPTY, *list(EMPTY)[::3]))
def test_a_file_without_a_statement_is_named_in_a_warning(kb, tmp_path, name):
    file = tmp_path / name
    file.write_text(EMPTY[name])
    report = kb.load(FILMS, file)
    (warning,) = report.warnings
    assert (warning.code, warning.message) == ("W301", f"no statement in {str(file)!r}")
    assert (report.statements, report.triples) == (128, 128)
    assert report.to_json()["warnings"] == [{"code": "W301", "message": warning.message, "hint": warning.hint}]
    assert str(report).endswith(str(warning))
    assert f"warning[W301]: no statement in {str(file)!r}" in run("load", tmp_path / "other", FILMS, file).stderr
    assert kb.load(FILMS).warnings == ()  # nothing new in it, and still statements


def test_a_query_over_a_file_without_a_statement_warns(tmp_path):
    file = tmp_path / "empty.ttl"
    file.write_text("")
    assert "warning[W301]: no statement in" in run("query", file, "ASK {}").stderr
    with KnowledgeBase.temporary(file) as kb:
        assert [warning.code for warning in kb.load_report.warnings] == ["W301"]
    with KnowledgeBase.temporary(FILMS) as kb:
        assert kb.load_report.warnings == ()


def test_a_profile_is_named_also_where_a_folder_of_that_name_is(kb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "acl").mkdir()
    (tmp_path / "default").write_text("no profile")
    assert kb.load(FILMS, profile="default").index is not None
    kb.index("acl")
    assert read_config(commented(kb)).profile == "acl"


def test_a_load_that_the_indexes_do_not_follow_says_why(tmp_path, more):
    kb, lines = tmp_path / "kb", tmp_path / "lines.jsonl"
    lines.write_text("".join(f'{{"id": {i}, "name": "a name", "size": {i}}}\n' for i in range(4_000)))
    run("load", kb, more)
    too_many = run("load", kb, lines).stderr
    assert f"not searchable yet ({lines} has more than 10,000 triples, and by themselves" in too_many
    more.write_text("<http://e/b> <http://e/p> 1 .")
    assert "not searchable yet (the indexes were older than the graph before)" in run("load", kb, more).stderr
