"""`hybridkg config`: settings without an editor."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run


@pytest.fixture
def films(copy_films: Callable[[Path], Path], tmp_path: Path) -> Path:
    return copy_films(tmp_path / "films.kb")


def test_it_lists_gets_sets_and_unsets(films, monkeypatch):
    listed = json.loads(run("config", films, "--format", "json").stdout)
    assert {"key", "value", "default", "is_set", "meaning", "allowed"} == set(listed[0])
    assert run("config", films, "limits.timeout").stdout == "0\n"
    result = run("config", films, "limits.timeout", "30")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "limits.timeout = 30\n", "")
    assert run("config", films, "limits.timeout").stdout == "30\n"
    assert json.loads(run("config", films, "limits.timeout", "--format", "json").stdout)["default"] == 0
    assert run("config", films, "--unset", "limits.timeout").stdout == "limits.timeout = 0 (the default)\n"
    for width in ("60", "140"):
        monkeypatch.setenv("COLUMNS", width)
        out = run("config", films).stdout
        assert "limits.timeout" in out
        assert "seconds; 0 for no limit" in " ".join(out.split())


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


@pytest.mark.parametrize("arguments", [["--unset"], ["--unset", "service", "allow"], ["nope"], ["nope", "1"]])
def test_a_mistake_is_an_error_of_the_user(films, arguments):
    before = (films / "kb.toml").read_text()
    assert run("config", films, *arguments).exit_code == 2
    assert (films / "kb.toml").read_text() == before


def test_no_knowledge_base_is_told_as_everywhere(tmp_path):
    result = run("config", tmp_path / "no.kb")
    assert result.exit_code == 2
    assert "no knowledge base at" in result.stderr
