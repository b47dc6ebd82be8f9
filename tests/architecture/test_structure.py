"""The structure of the package: a place for every concept, one meaning for every name, imports that only point down."""

from __future__ import annotations

import ast
import re
import statistics
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import package_sources
import pytest
from package_sources import PACKAGE, files

ROOT = PACKAGE.parent
MAX_ROOT_MODULES, MAX_LAYERS, MAX_LINES, MAX_MEDIAN_LINES = 6, 14, 500, 150

SPARQL_OPERATORS = {
    *(
        "Construct",
        "Describe",
        "Exists",
        "Extend",
        "Filter",
        "GraphEach",
        "Group",
        "Join",
        "LeftJoin",
        "Match",
        "MatchEach",
    ),
    *("Minus", "Project", "Rerank", "Slice", "Snippet", "Union"),
}
"""Operators of SPARQL's algebra and of HybridQL have one name in the syntax tree, the algebra, the pattern of the
projection and the physical plan; the module qualifies them, as `algebra.nodes.Join` and `operators.join.Join`."""


@cache
def modules() -> dict[str, Path]:
    """Dotted names and files of all modules; a package has the name of its folder."""
    found = {}
    for path in files():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def tree(name: str) -> ast.Module:
    return package_sources.tree(modules()[name])


KINDS = (ast.If, ast.ImportFrom, ast.ClassDef, ast.FunctionDef)


@cache
def nodes(name: str) -> list[ast.If | ast.ImportFrom | ast.ClassDef | ast.FunctionDef]:
    """The nodes of a module that the tests look at: one walk over the package takes a second."""
    return [node for node in ast.walk(tree(name)) if isinstance(node, KINDS)]


@cache
def imports() -> list[tuple[str, str]]:
    """(importing module, imported module), for what runs: imports for annotations do not count."""
    return [(name, target) for name in modules() for target in _imported(nodes(name))]


def _imported(found: list[ast.If | ast.ImportFrom | ast.ClassDef | ast.FunctionDef]) -> Iterator[str]:
    for_annotations = {
        id(inner)
        for node in found
        if isinstance(node, ast.If) and any("TYPE_CHECKING" in vars(part).values() for part in ast.walk(node.test))
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in found:
        if isinstance(node, ast.ImportFrom) and id(node) not in for_annotations and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if node.module.split(".")[0] == "hybridkg":
                    yield inner if inner in modules() else node.module


def test_few_modules_are_loose():
    loose = [path.name for path in PACKAGE.glob("*.py") if path.name != "__init__.py"]
    assert len(loose) <= MAX_ROOT_MODULES, loose


def test_there_are_few_layers():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [contract for contract in settings["contracts"] if contract.get("containers") == ["hybridkg"]]
    assert len(layers["layers"]) <= MAX_LAYERS
    assert layers["exhaustive"]


def test_files_have_a_size_that_can_be_read():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}
    assert statistics.median(lines.values()) < MAX_MEDIAN_LINES


def test_a_public_class_name_has_one_home():
    homes = defaultdict(list)
    for name in modules():
        for node in tree(name).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(name)
    several = {name: places for name, places in homes.items() if len(places) > 1 and name not in SPARQL_OPERATORS}
    assert several == {}


def test_quads_of_a_pattern_are_read_through_one_door():
    """Oxigraph's own method gives false quads for some literals (store/quad_patterns.py)."""
    using = [name for name, path in modules().items() if ".quads_for_pattern(" in path.read_text(encoding="utf-8")]
    assert using == ["hybridkg.store.quad_patterns"]


@pytest.mark.parametrize("parent", [name for name, path in modules().items() if path.name == "__init__.py"])
def test_folders_do_not_import_each_other_in_circles(parent):
    arrows = defaultdict(set)
    for source, target in (pair for pair in imports() if all(name.startswith(f"{parent}.") for name in pair)):
        a, b = _folder_in(parent, source), _folder_in(parent, target)
        if a and b and a != b:
            arrows[a].add(b)
    assert _circle(arrows) == []


def _folder_in(parent: str, module: str) -> str | None:
    """The folder directly in `parent` that holds a module; None for loose modules and those elsewhere."""
    if not module.startswith(parent + "."):
        return None
    folder = f"{parent}.{module.removeprefix(parent + '.').split('.')[0]}"
    return folder if modules()[folder].name == "__init__.py" else None


def _circle(arrows: dict[str, set[str]]) -> list[str]:
    """Folders that can be reached from themselves."""

    def reached(start: str) -> set[str]:
        seen, waiting = set(), list(arrows[start])
        while waiting:
            if (place := waiting.pop()) not in seen:
                seen.add(place)
                waiting += arrows.get(place, ())
        return seen

    return sorted(folder for folder in list(arrows) if folder in reached(folder))


def test_docstrings_name_their_concept_first():
    found = []
    for name in modules():
        for node in [tree(name), *(n for n in nodes(name) if isinstance(n, ast.ClassDef | ast.FunctionDef))]:
            first = (ast.get_docstring(node) or "").split("\n")[0]
            if re.match(r"(What|Who|Of)\b", first) and not getattr(node, "name", "").startswith("_"):
                found.append(f"{name}: {first}")
    assert found == []


MENTION = re.compile(r"(?<![\w/.~-])((?:[a-z_0-9]+/)+[a-z_0-9]+\.(?:py|md|lark|ttl|toml))\b")


@pytest.mark.parametrize("folder", ["hybridkg", "docs", "tests", "benchmarks"])
def test_files_that_texts_mention_exist(folder):
    """A docstring or a page that sends its reader to a file sends him to one that is there."""
    places = [ROOT, PACKAGE, ROOT / "docs", ROOT / "tests", ROOT / "benchmarks"]
    folders = {place.name for place in PACKAGE.iterdir() if place.is_dir()} | {"hybridkg", "docs", "tests"}
    missing = []
    for path in sorted([*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.md")]):
        for mention in MENTION.findall(path.read_text(encoding="utf-8")):
            is_ours = mention.split("/")[0] in folders
            if is_ours and not any((place / mention).exists() for place in [*places, path.parent]):
                missing.append(f"{path.relative_to(ROOT)}: {mention}")
    assert missing == []
