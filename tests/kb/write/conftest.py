"""A knowledge base with everything that has to be cared for, made once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from care_cases import make


@pytest.fixture(scope="session")
def original(tmp_path_factory) -> Path:
    return make(tmp_path_factory.mktemp("care") / "films.kb")


@pytest.fixture
def path(original, tmp_path) -> Path:
    """A copy of it, to be changed."""
    return shutil.copytree(original, tmp_path / "films.kb")
