"""Random knowledge bases that express all templates, made once for the folder."""

from __future__ import annotations

import pytest
from stark_graphs import KBS, made_kb

SIZES = {"amazon": (120, 150), "mag": (160, 150), "prime": (200, 90)}
"""Nodes, and edges of each relation."""


@pytest.fixture(scope="package")
def graphs(tmp_path_factory):
    """Layout, arrays and knowledge base, by name of the form."""
    folder = tmp_path_factory.mktemp("graphs")
    return {kb: made_kb(folder / kb, kb, *SIZES[kb], seed=3) for kb in KBS}
