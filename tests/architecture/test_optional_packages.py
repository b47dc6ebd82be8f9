"""Optional packages are imported through one door (hybridkg/extras.py), which pyproject.toml agrees with."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest
from package_sources import PACKAGE, files, tree

from hybridkg.extras import EXTRAS, MODULES, PURPOSES

PROJECT = PACKAGE.parent / "pyproject.toml"
DOOR = "needs_extra"

BEHIND_THE_DOOR = {
    "bi_encoder",
    "contrastive",
    "graph_torch",
    "static_distilling",
    "static_trainable",
    "torch_tokens",
    "trainer",
    "transformer_cuda",
    "transformer_export",
    "transformer_trainable",
}
"""Modules that need torch from their first line: whoever imports them does it through the door, or is one of them."""

BASE_CLASS = {"pyterrier.py"}
"""The class of a transformer is a plain class where PyTerrier is not installed, and works as one."""


def imports_elsewhere(module: ast.Module, *, is_behind: bool = False) -> list[str]:
    """Modules of extras, and modules behind the door, that a module imports other than through the door."""
    return [name for name, through in _imports(module, is_behind) if not through]


def _installs(extra: str, module: str) -> bool:
    """Whether an extra has the package of a module; several have pyarrow."""
    return extra in (MODULES.get(module, "models"), "pyterrier") or module in EXTRAS.get(extra, ())


def _imports(node: ast.AST, through: bool) -> Iterator[tuple[str, bool]]:
    """(module, whether it is imported through the door), of a part of a source."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.With):
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        extras = [call.args[0].value for call in calls if getattr(call.func, "id", "") == DOOR]
        for name, inside in _imports(ast.Module(node.body, []), False):
            yield name, through or inside or (bool(extras) and _installs(extras[0], name))
        return
    for name in _modules(node):
        top, last = name.partition(".")[0], name.rpartition(".")[2]
        if top in MODULES:
            yield top, through
        elif top == "hybridkg" and last in BEHIND_THE_DOOR:
            yield last, through
    for child in ast.iter_child_nodes(node):
        yield from _imports(child, through)


def _modules(node: ast.AST) -> list[str]:
    match node:
        case ast.Import():
            return [alias.name for alias in node.names]
        case ast.ImportFrom():
            return [node.module or ""]
        case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(str() as name), *_]):
            return [name]
    return []


def test_every_module_imports_optional_packages_through_the_door():
    found = {}
    named = re.compile("|".join([*MODULES, *BEHIND_THE_DOOR]))
    for file in (file for file in files() if named.search(file.read_text(encoding="utf-8"))):
        names = imports_elsewhere(tree(file), is_behind=file.stem in BEHIND_THE_DOOR)
        if wrong := [name for name in names if not (name == "pyterrier" and file.name in BASE_CLASS)]:
            found[str(file.relative_to(PACKAGE))] = wrong
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import torch", ["torch"]),
        ("def f():\n    from pandas import DataFrame", ["pandas"]),
        ("try:\n    import orjson\nexcept ImportError:\n    orjson = None", ["orjson"]),
        ("faiss = import_module('faiss')", ["faiss"]),
        ("from hybridkg.vector.encoders.transformer_cuda import is_there", ["transformer_cuda"]),
        ("with needs_extra('hnsw', 'x'):\n    import faiss", []),
        ("with needs_extra('eval', 'x'):\n    import faiss", ["faiss"]),
        ("if TYPE_CHECKING:\n    import pandas as pd", []),
        ("import numpy", []),
    ],
)
def test_what_the_check_finds(source, found):
    assert imports_elsewhere(ast.parse(source)) == found


def test_the_table_of_extras_is_that_of_the_project():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    ours = {extra: [f"{name}{versions}" for name, versions in own.items()] for extra, own in EXTRAS.items()}
    assert {extra: own for extra, own in project.items() if extra not in ("all", "dev")} == ours
    assert PURPOSES.keys() == EXTRAS.keys()
    assert set(MODULES.values()) == EXTRAS.keys()


def test_the_extra_all_has_every_extra_but_that_which_needs_java():
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (everything,) = project["all"]
    found = re.fullmatch(r"hybridkg\[(.*)\]", everything)
    assert found is not None
    assert set(found[1].split(",")) == EXTRAS.keys() - {"pyterrier"}
