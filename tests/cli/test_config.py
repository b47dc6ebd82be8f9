"""`hybridkg config`: settings without an editor."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run

from hybridkg.config.setting_list import all_settings
from hybridkg.config.settings import TABLES


@pytest.fixture
def films(copy_films: Callable[[Path], Path], tmp_path: Path) -> Path:
    return copy_films(tmp_path / "films.kb")


def test_it_lists_gets_sets_and_unsets(films):
    listed = json.loads(run("config", films, "--format", "json").stdout)
    assert {"key", "value", "default", "is_set", "meaning", "allowed"} == set(listed[0])
    assert run("config", films, "limits.timeout").stdout == "0\n"
    result = run("config", films, "limits.timeout", "30")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "limits.timeout = 30\n", "")
    assert run("config", films, "limits.timeout").stdout == "30\n"
    assert json.loads(run("config", films, "limits.timeout", "--format", "json").stdout)["default"] == 0
    assert run("config", films, "--unset", "limits.timeout").stdout == "limits.timeout = 0 (the default)\n"


def test_it_lists_what_differs_from_the_defaults_and_says_how_to_see_the_others(films):
    nothing = run("config", films)
    assert nothing.stdout == ""
    assert nothing.stderr.startswith(f"all {len(all_settings())} settings have their defaults: hybridkg config {films}")
    run("config", films, "limits.timeout", "30")
    run("config", films, "vectors.encoder", "lsa")
    differs = run("config", films)
    assert [line.split()[0] for line in differs.stdout.splitlines() if line[:1].isalpha()] == [
        "vectors.encoder",
        "limits.timeout",
    ]
    assert "30 (default 0) seconds; 0 for no limit" in " ".join(differs.stdout.split())
    assert differs.stderr.startswith(f"the other {len(all_settings()) - 2} settings have their defaults")


@pytest.mark.parametrize("width", [44, 60, 100, 140])
def test_all_settings_are_listed_by_section_within_the_terminal(films, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("config", films, "--all").stdout
    assert max(map(len, out.splitlines())) <= width
    keys = [line.split()[0] for line in out.splitlines() if line[:1].isalpha()]
    assert keys == [one.key for one in all_settings()]
    assert out.count("\n\n") == len(TABLES)


def test_a_section_is_explained_and_a_setting_prints_its_bare_value(films):
    explained = run("config", films, "limits").stdout
    assert explained.startswith("limits.timeout = 0\n    seconds; 0 for no limit"), explained
    assert explained.count("valid: ") == 3
    assert len(json.loads(run("config", films, "limits", "--format", "json").stdout)) == 3
    assert len(json.loads(run("config", films, "--format", "json").stdout)) == len(all_settings())
    assert run("config", films, "service").stdout == "refuse\n"


def test_a_value_for_a_section_names_its_settings(films):
    result = run("config", films, "text", "elasticsearch")
    assert result.exit_code == 2
    assert "'text' is a section, not a setting" in result.stderr
    assert "text.engine" in result.stderr


def test_a_name_without_its_section_names_every_setting_it_may_be(films):
    hint = run("config", films, "timeout").stderr
    assert "'limits.timeout'" in hint
    assert "'vectors.timeout'" in hint
    assert "did you mean 'limits'?" in run("config", films, "limit").stderr


def test_the_example_of_the_help_can_be_typed_as_it_stands(films, monkeypatch):
    monkeypatch.chdir(films.parent)
    shown = run("config", "--help").stdout
    example = shown[shown.index("Example:\n") + len("Example:\n") : shown.index("\nOptions:")]
    assert run(*shlex.split(example)[1:]).stdout == "limits.timeout = 30\n"


def test_a_setting_of_the_index_says_when_it_has_an_effect(films):
    result = run("config", films, "vectors.encoder", "lsa")
    assert result.stdout == "vectors.encoder = lsa\n"
    assert result.stderr == f"note: it has an effect with the next: hybridkg index {films}\n"


def test_a_broken_file_is_shown_and_mended(films):
    path = films / "kb.toml"
    path.write_text(path.read_text().replace('encoder = "none"', "encoder = minilm"))
    for arguments in (["query", films, "ASK {}"], ["config", films], ["config", films, "service"]):
        result = run(*arguments)
        assert result.exit_code == 2
        assert 'hint: a text is in quotes: encoder = "minilm"' in result.stderr
    assert run("config", films, "vectors.encoder", "lsa").exit_code == 0
    assert run("query", films, "ASK {}").exit_code == 0


@pytest.mark.parametrize(
    "arguments", [["--unset"], ["--unset", "service", "allow"], ["--all", "service"], ["nope"], ["nope", "1"]]
)
def test_a_mistake_is_an_error_of_the_user(films, arguments):
    before = (films / "kb.toml").read_text()
    assert run("config", films, *arguments).exit_code == 2
    assert (films / "kb.toml").read_text() == before


def test_no_knowledge_base_is_told_as_everywhere(tmp_path):
    result = run("config", tmp_path / "no.kb")
    assert result.exit_code == 2
    assert "no knowledge base at" in result.stderr
