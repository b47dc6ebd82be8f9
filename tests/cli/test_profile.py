"""`hybridkg profile`: the profile in use, and a suggested one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import FILMS, run


@pytest.fixture
def films(copy_films: Callable[[Path], Path], tmp_path: Path) -> Path:
    return copy_films(tmp_path / "films.kb")


def test_alone_it_shows_the_profile_in_use(films):
    out = run("profile", films).stdout
    assert out.startswith("profile: default\n")
    assert "label: weight 3, b 0.5, analyzer standard\n  strings of (rdfs:label|skos:prefLabel|" in out
    assert "related: weight 0.5, b 0.75, analyzer standard\n  the other labels of linked nodes\n" in out
    assert json.loads(run("profile", films, "--format", "json").stdout)["name"] == "default"


def test_an_index_of_another_profile_is_told(films):
    run("config", films, "profile", "acl")
    assert f"note: the index was built with another profile; renew it with: hybridkg index {films}" in (
        run("profile", films).stderr
    )


def test_the_example_of_the_help_writes_a_file_that_index_takes(films, monkeypatch):
    monkeypatch.chdir(films.parent)
    shown = run("profile", "--help").stdout
    example = shown[shown.index("Example:\n") + len("Example:\n") : shown.index("\nOptions:")]
    result = run(*shlex.split(example)[1:])
    assert (result.exit_code, result.stdout) == (0, "")
    assert Path("films-profile.ttl").read_text() == run("profile", films, "--suggest").stdout
    assert run("index", films, "--profile", "films-profile.ttl").exit_code == 0
    assert "comment: weight 0.5" in run("profile", films).stdout
    again = run(*shlex.split(example)[1:])
    assert again.exit_code == 1
    assert "there is a file 'films-profile.ttl'" in again.stderr


def test_options_that_do_not_fit_are_errors(films, tmp_path):
    assert run("profile", films, "--output", tmp_path / "p.ttl").exit_code == 2
    assert run("profile", films, "--suggest", "--format", "json").exit_code == 2


def test_an_rdf_file_has_a_suggestion():
    assert 'hk:name "comment"' in run("profile", FILMS, "--suggest").stdout
