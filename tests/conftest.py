"""What every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="also run long fuzzing and big data")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("exhaustive") and not config.getoption("--exhaustive"):
            item.add_marker(pytest.mark.skip(reason="exhaustive: runs in `make test-all`"))
        if item.get_closest_marker("needs_shared") and not shared_data().is_dir():
            item.add_marker(pytest.mark.skip(reason=f"no shared data at {shared_data()}"))


def shared_data() -> Path:
    return Path(os.environ.get("HYBRIDKG_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture(name="shared_data", scope="session")
def shared_data_fixture() -> Path:
    """The folder of real public data; tests that use it are marked needs_shared."""
    return shared_data()
