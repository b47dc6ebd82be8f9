"""No query compiles: every kernel that Python calls has a signature, is in the list, and is loaded from whole files."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hybridkg.compute import kernel_cache
from hybridkg.compute.kernel_list import KERNELS

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"

LISTED = {kernel.module for kernel in KERNELS}


def modules_of_kernels() -> list[str]:
    """Modules of the package that import numba's `njit`."""
    return sorted(
        ".".join(path.relative_to(kernel_cache.PACKAGE.parent).with_suffix("").parts)
        for path in kernel_cache.PACKAGE.rglob("*.py")
        if re.search(r"^from numba import .*\bnjit\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    )


@pytest.mark.parametrize("module", modules_of_kernels())
def test_a_kernel_has_a_signature_or_is_called_by_kernels_only(module):
    """numba compiles a function without signatures for the types of each call; with some, it refuses other types."""
    source = kernel_cache.PACKAGE.parent.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    compiled = 0
    for function in ast.walk(ast.parse(source)):
        for decorator in function.decorator_list if isinstance(function, ast.FunctionDef) else ():
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "njit":
                is_helper = any(re.search("HELPER|INLINE", ast.unparse(option)) for option in decorator.keywords)
                assert is_helper != bool(decorator.args), function.name
                compiled += bool(decorator.args)
            else:
                assert "jit" not in ast.unparse(decorator), function.name
    assert bool(compiled) == (module in LISTED)


def test_the_list_has_every_module_whose_import_compiles():
    assert set(modules_of_kernels()) >= LISTED


QUERIES = """
import sys
from pathlib import Path
from hybridkg import KnowledgeBase
from hybridkg.compute import compilation, kernels
from hybridkg.interfaces.ranking_model import RANKING_MODELS
import numba.core.event as event

for _ in compilation.remaining():
    pass
kernels.LOAD_AFTER_POSTINGS = 0
compiled, asked = [], 0

class Compiled(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
folder = Path(sys.argv[-1])
with KnowledgeBase.create(folder / "films.kb") as kb:
    kb.load(sys.argv[-2], index=True, encoder="lsa")
with KnowledgeBase.open(folder / "films.kb", warm_up=True) as kb:
    texts = ["mars", "mars rescue", "space mars planet crew film", '"on mars"', '"in deep space"', '"a man on mars"',
             '"a crew sent to mars"', '"mars rescue"~5', '"rescue man mars"~8', "ma*", "ma* spa*", "mras~",
             "+mars -crew", '"on mars" rescue', "label:mars"]
    for text in texts:
        for model in ["", *(f" USING {name}" for name in RANKING_MODELS.names())]:
            for scope in ("?f MATCH {} AS ?s", "?f a ?c . ?f MATCH {} AS ?s"):
                for limit in ("LIMIT 1", "LIMIT 1000", "") if not model else ("LIMIT 2",):
                    match = scope.format(repr(text).replace("'", '"') if '"' not in text else f"'{text}'" + model)
                    try:
                        kb.query(f"SELECT ?f ?s {{ {match} }} RANK BY ?s {limit}")
                        asked += 1
                    except Exception as e:
                        if not type(e).__name__.endswith(("UserError", "QueryError", "NameError", "ParseError")):
                            raise
    for near in ("?f NEAR 'a planet' AS ?s", "?f NEAR 'a planet' WITHIN 0.1 AS ?s", "?f a ?c . ?f NEAR 'a crew' AS ?s"):
        kb.query(f"SELECT ?f ?s {{ {near} }} RANK BY ?s LIMIT 3")
        asked += 1
    kb.query("SELECT ?a ?b { ?a (<http://example.org/films/director>|^<http://example.org/films/director>)+ ?b }")
loaded = sorted(name for name in sys.modules if name in {kernel.module for kernel in compilation.KERNELS})
print(asked, compiled, *loaded, sep="\\n")
"""


def run(program: str, *arguments: object, **environment: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_no_shape_of_query_compiles_what_the_list_has_not(tmp_path):
    asked, compiled, *loaded = run(QUERIES, FILMS, tmp_path)
    assert compiled == "[]"
    assert int(asked) > 100
    assert {"hybridkg.text.index.positions.phrases_kernel", "hybridkg.text.index.topk.windowed_kernel"} <= set(loaded)


MODULE = "hybridkg.text.models.logarithm_kernel"

COMPILE = f"""
from hybridkg.compute import compilation, kernel_cache
print(kernel_cache.is_compiled("{MODULE}"))
compilation.compile_here("{MODULE}")
print(kernel_cache.is_compiled("{MODULE}"))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A cache folder with one module, compiled by a process of its own and found by the next."""
    folder = tmp_path_factory.mktemp("numba")
    assert run(COMPILE, NUMBA_CACHE_DIR=str(folder)) == ["False", "True"]
    assert run(COMPILE, NUMBA_CACHE_DIR=str(folder)) == ["True", "True"]
    return folder


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        (".nbc", "flipped"),
        pytest.param(".nbi", "missing", marks=pytest.mark.exhaustive),
        pytest.param(".nbi", "flipped", marks=pytest.mark.exhaustive),
        pytest.param(".nbc", "missing", marks=pytest.mark.exhaustive),
    ],
)
def test_what_has_changed_in_the_cache_counts_as_not_compiled(compiled, tmp_path, kind, change):
    """Before, the query that loaded such a kernel compiled it, and waited for seconds without a word."""
    shutil.copytree(compiled, tmp_path / "numba")
    for file in [file for file in tmp_path.rglob(f"*{kind}") if ".log-" in file.name]:
        content = file.read_bytes()
        file.unlink() if change == "missing" else file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert run(COMPILE, NUMBA_CACHE_DIR=str(tmp_path / "numba")) == ["False", "True"]
