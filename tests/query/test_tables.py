"""The grammar has no conflicts, and its tables are kept where only their owner can write."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache

import pytest

from hybridkg.query import tables
from hybridkg.resources import cache_dir


@pytest.fixture(scope="module", autouse=True)
def _each_grammar_is_built_once():
    """Lark takes half a second for each; what is kept, read and built anew around it is the matter here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "build", cache(tables.build))
        yield


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A cache with tables that were built once."""
    folder = tmp_path_factory.mktemp("built") / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYBRIDKG_CACHE", str(folder))
        tables.load.cache_clear()
        tables.load()
    tables.load.cache_clear()
    return folder


@pytest.fixture
def kept(built, tmp_path, monkeypatch):
    """A cache of our own that has the tables."""
    shutil.copytree(built, tmp_path / "cache")
    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "cache"))
    tables.load.cache_clear()
    yield tmp_path / "cache"
    tables.load.cache_clear()


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A cache of our own."""
    monkeypatch.setenv("HYBRIDKG_CACHE", str(tmp_path / "cache"))
    tables.load.cache_clear()
    yield tmp_path / "cache"
    tables.load.cache_clear()


@pytest.mark.parametrize("grammar", tables.GRAMMARS)
def test_a_grammar_builds_without_conflicts(grammar):
    assert len(tables.build(grammar)["rows"]) > 400


def test_every_rule_has_a_builder():
    from hybridkg.query.parser import machine

    assert all(rule.handler is not None or rule.size == 1 for rule in machine().rules)


def test_tables_are_the_same_from_the_cache(fresh):
    built = tables.load()
    (path,) = fresh.glob("parser-*.json")
    tables.load.cache_clear()
    again = tables.load()
    assert (built.rows, built.rules, built.terminals) == (again.rows, again.rules, again.terminals)
    assert path.stat().st_mode & 0o077 == 0
    assert fresh.stat().st_mode & 0o077 == 0
    assert [file.name for file in fresh.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "damage", [b"{", b"{}", *(pytest.param(text, marks=pytest.mark.exhaustive) for text in (b"", b"[]", b"\xff\xfe"))]
)
def test_a_damaged_cache_is_built_anew(kept, damage):
    (path,) = kept.glob("parser-*.json")
    path.write_bytes(damage)
    assert tables.load().rows
    assert json.loads(path.read_bytes())["rows"]


def test_without_a_writable_place_the_tables_are_built_in_memory(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    monkeypatch.setenv("HYBRIDKG_CACHE", str(blocked / "below"))
    assert cache_dir() is None
    tables.load.cache_clear()
    assert tables.load().rows
    tables.load.cache_clear()


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("HYBRIDKG_CACHE", str(shared))
    assert cache_dir() is None


def test_the_cache_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("HYBRIDKG_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "hybridkg"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_dir() is not None
    assert tmp_path / "home" in cache_dir().parents


def test_parsing_from_the_cache_does_not_import_lark(kept):
    code = "import sys; from hybridkg.query.parser import parse; parse('ASK {}'); print('lark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
