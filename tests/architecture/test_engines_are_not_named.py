"""No text engine and no vector index is named outside its own folder and its line of the registry."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from package_sources import PACKAGE, files, tree

from hybridkg import extras
from hybridkg.config import settings
from hybridkg.interfaces import text_engine, vector_index
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.vector_index import VECTOR_INDEXES

NAMES = {*TEXT_ENGINES.builtin_names, *VECTOR_INDEXES.builtin_names}
CLASSES = [registry.get(name) for registry in (TEXT_ENGINES, VECTOR_INDEXES) for name in registry.builtin_names]
OWN_FOLDERS = {PACKAGE.joinpath(*one.__module__.split(".")[1:-1]) for one in CLASSES}
SHARED_FOLDERS = {"elastic", "elasticsearch"}
"""Names of folders of what the text engine and the vector index of one server have in common."""

OTHER_MEANINGS = {
    Path(extras.__file__): {"elasticsearch", "hnsw"},  # the package of a client, and an extra
    Path(settings.__file__): {"embedded"},  # of a graph that is in the folder, whatever searches the text
}


def allowed(file: Path) -> set[str]:
    if file in (Path(text_engine.__file__), Path(vector_index.__file__)):
        return NAMES
    own = any(folder in file.parents for folder in OWN_FOLDERS)
    shared = SHARED_FOLDERS & set(file.relative_to(PACKAGE).parts)
    return NAMES if own or shared else OTHER_MEANINGS.get(file, set())


def named(module: ast.Module) -> set[str]:
    """The names of engines that stand in a module as whole strings; in prose they may."""
    return {
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES
    }


def test_no_module_names_an_engine_of_another_folder():
    texts = {file: file.read_text(encoding="utf-8") for file in files()}
    candidates = [file for file, text in texts.items() if any(name in text for name in NAMES)]  # a walk takes longer
    wrong = {
        str(file.relative_to(PACKAGE)): found for file in candidates if (found := named(tree(file)) - allowed(file))
    }
    assert wrong == {}


def test_a_name_would_be_found():
    module = ast.parse('if kind == "elasticsearch" or kind in ("flat", "tree"):\n    pass')
    assert named(module) == {"elasticsearch", "flat"}


@pytest.mark.parametrize("engine", CLASSES, ids=lambda one: one.__name__)
def test_an_engine_declares_what_the_rest_needs(engine):
    assert isinstance(engine.title, str)
    assert engine.title
    assert isinstance(engine.is_remote, bool)
    assert engine.section == "" or engine.section in settings.TABLES
    if hasattr(engine, "vector_index"):
        assert engine.vector_index in VECTOR_INDEXES
        assert all(us > 0 for us in engine.unit_costs.values())
    else:
        assert engine.engine == "" or engine.engine in TEXT_ENGINES
        assert isinstance(engine.takes_pieces, bool)
