from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hybridkg.store.generations.folder import Folder
from hybridkg.store.loading import SourceCount, load
from hybridkg.store.oxigraph import OxigraphStore


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.create(tmp_path / "films.kb")


@pytest.fixture
def load_into() -> Callable[..., list[SourceCount]]:
    def go(folder: Folder, *sources: object, **options: object) -> list[SourceCount]:
        with folder.building() as building:
            return load(building, sources, **options)

    return go


@pytest.fixture
def dump() -> Callable[[Folder], list[str]]:
    def go(folder: Folder) -> list[str]:
        generation = folder.current()
        return sorted(str(quad) for quad in OxigraphStore.open(generation.graph).quads())

    return go
