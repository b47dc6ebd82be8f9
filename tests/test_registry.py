"""Names of implementations, which are imported when somebody asks for them."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from hybridkg.errors import MissingExtraError
from hybridkg.registry import Registry


def test_threads_that_ask_at_once_all_get_what_was_registered(tmp_path, monkeypatch):
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(0.3)\nVALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = Registry("thing", "hybridkg.tests.nothing", {"seven": "slowly_imported:VALUE"})
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: registry.get("seven"), range(4))) == [7] * 4
    assert registry.get("seven") == 7


def registered(tmp_path, monkeypatch, source: str) -> Registry:
    """A registry of one built-in thing, and of one of a package from outside."""
    (tmp_path / "outside.dist-info").mkdir()
    (tmp_path / "outside.py").write_text(source)
    (tmp_path / "outside.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    (tmp_path / "outside.dist-info" / "entry_points.txt").write_text(
        "[hybridkg.tests.outside]\nother = outside:VALUE\n"
    )
    monkeypatch.delitem(sys.modules, "outside", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return Registry("thing", "hybridkg.tests.outside", {"own": "math:pi", "second": "math:e"}, default="own")


def test_names_of_other_packages_stand_beside_built_in_ones(tmp_path, monkeypatch):
    registry = registered(tmp_path, monkeypatch, "VALUE = 8\n")
    assert registry.names() == ["other", "own", "second"]
    assert registry.builtin_names == ("own", "second")
    assert registry.plugins() == [8]
    assert ("other" in registry, "own" in registry, "third" in registry, [] in registry) == (True, True, False, False)
    assert [registry.other_than(name) for name in ("own", "second", "other")] == ["second", "own", "own"]


def test_a_package_that_a_plug_in_lacks_is_installed_by_its_own_name(tmp_path, monkeypatch):
    registry = registered(tmp_path, monkeypatch, "import no_such_package.part\n")
    with pytest.raises(MissingExtraError, match="thing 'other' needs the package 'no_such_package'") as caught:
        registry.get("other")
    assert caught.value.hint == "pip install no_such_package"
