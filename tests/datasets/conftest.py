"""The small datasets, made once in a process."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_sources import SMALL, lay_out

from hybridkg.datasets.building import make_dataset


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """All of them, from the small sources."""
    folder = tmp_path_factory.mktemp("datasets")
    for name, files in SMALL.items():
        make_dataset(name, lay_out(folder / "data", name, files), folder / name)
    return folder
