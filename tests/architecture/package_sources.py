"""Syntax trees of the package's modules: each file is parsed once for all tests of a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "hybridkg"


@cache
def files() -> tuple[Path, ...]:
    """The files of the package, sorted."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree(file: Path) -> ast.Module:
    """The syntax tree of a file; it is shared, so nobody changes it."""
    return ast.parse(file.read_text(encoding="utf-8"))
