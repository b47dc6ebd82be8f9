"""Packages from outside, each a folder here with its module and its `NAME.dist-info`, as pip would leave them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hybridkg.registry import Registry

HERE = Path(__file__).parent


@pytest.fixture
def install(monkeypatch) -> Callable[..., None]:
    """Installs some of the packages beside this file for the time of a test: `install("toy_text_engine")`."""

    def forget() -> None:
        """Registries read entry points once in a process."""
        modules = [vars(module) for name, module in [*sys.modules.items()] if name.startswith("hybridkg.")]
        for registry in [value for names in modules for value in names.values() if type(value) is Registry]:
            registry.__dict__.pop("_plugins", None)

    def installed(*names: str) -> None:
        for name in names:
            monkeypatch.syspath_prepend(HERE / name)
        importlib.invalidate_caches()
        forget()

    forget()
    yield installed
    monkeypatch.undo()
    forget()


@pytest.fixture
def environment(monkeypatch) -> Callable[..., dict[str, str]]:
    """The same for a program of its own: the environment in which `python -m hybridkg` finds the packages."""
    import os

    def made(*names: str) -> dict[str, str]:
        paths = [str(HERE / name) for name in names] + [os.environ.get("PYTHONPATH", "")]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    return made
