"""Doctests: a module without an example is not imported for them."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parent / "hybridkg"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leaves out modules of the package without `>>>`; some of them import torch."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(PACKAGE):
        return None
    return None if ">>>" in collection_path.read_text(encoding="utf-8") else True
