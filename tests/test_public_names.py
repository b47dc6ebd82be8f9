"""The public surface: every name that a user may need is in `hybridkg`, documented, and costs nothing until used."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import hybridkg
from hybridkg import errors

PACKAGE = Path(hybridkg.__file__).parent

HEAVY = ("click", "lark", "numba", "numpy", "pyoxigraph", "rdflib", "regex", "rich", "scipy")


@cache
def error_classes() -> dict[str, str]:
    """Names of the family of errors by the module that defines them, read from the sources."""
    bases: dict[str, tuple[str, set[str]]] = {}
    for module in pkgutil.walk_packages([str(PACKAGE)], "hybridkg."):
        file = PACKAGE.parent / Path(*module.name.split("."))
        source = file / "__init__.py" if module.ispkg else file.with_suffix(".py")
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                bases[node.name] = module.name, {base.id for base in node.bases if isinstance(base, ast.Name)}
    family, before = {"HybridkgError"}, 0
    while len(family) > before:
        before = len(family)
        family |= {name for name, (_, above) in bases.items() if above & family}
    return {name: bases[name][0] for name in family}


def test_every_error_that_a_user_may_catch_is_exported():
    public = {name for name in error_classes() if not name.startswith("_")}
    assert len(public) > 25
    assert public <= set(hybridkg.__all__)
    assert {home for name, home in error_classes().items() if name in public} == {"hybridkg.errors"}
    for name in public:
        assert getattr(hybridkg, name) is getattr(errors, name)


@pytest.mark.parametrize("name", [name for name in hybridkg.__all__ if name != "__version__"])
def test_every_exported_name_is_documented(name):
    value = getattr(hybridkg, name)
    own = vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    assert own, name
    assert not own.startswith(f"{name}("), name  # what a dataclass writes of itself
    assert name in dir(hybridkg)


@pytest.mark.parametrize("name", ["KnowledgeBase", "PreparedQuery", "ResultSet", "Row", "Why", "Explanation"])
def test_every_public_method_of_what_a_user_holds_is_documented(name):
    for method, value in inspect.getmembers(getattr(hybridkg, name)):
        if not method.startswith("_") and (callable(value) or isinstance(value, property)):
            assert inspect.getdoc(value), f"{name}.{method}"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'hybridkg' has no attribute 'Knowledgebase'"):
        _ = hybridkg.Knowledgebase
    with pytest.raises(AttributeError, match=r"module 'hybridkg\.kb' has no attribute 'knowledgebase'"):
        _ = import_module("hybridkg.kb").knowledgebase


@pytest.mark.parametrize("used", ["", "hybridkg.HybridkgError, hybridkg.LoadError", "hybridkg.Progress"])
def test_the_import_is_cheap(used):
    code = f"import sys, hybridkg\n{used}\nprint(*(name for name in sys.modules if '.' not in name))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert set(HEAVY).isdisjoint(out.split())


def test_the_help_of_the_command_line_imports_no_engine():
    code = "import sys, hybridkg.cli\nprint(*(name for name in sys.modules if '.' not in name))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert {"lark", "numba", "numpy", "pyoxigraph", "rdflib", "scipy"}.isdisjoint(out.split())
