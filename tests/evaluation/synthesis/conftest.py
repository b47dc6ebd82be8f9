"""Random knowledge bases that express all templates, made once for the folder."""

from __future__ import annotations

import pytest
from stark_graphs import KBS, made_kb

SIZES = {"amazon": (120, 150), "mag": (160, 150), "prime": (200, 90)}
"""Nodes, and edges of each relation."""


@pytest.fixture(scope="package")
def graphs(tmp_path_factory):
    """Layout, arrays and knowledge base, by name of the form; `mag-both` is mag with the edges of STaRK's own code."""
    folder = tmp_path_factory.mktemp("graphs")
    made = {kb: made_kb(folder / kb, kb, *SIZES[kb], seed=3, both=kb == "prime") for kb in KBS}
    return made | {"mag-both": made_kb(folder / "mag-both", "mag", *SIZES["mag"], seed=3, both=True)}
