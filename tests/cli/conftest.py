from __future__ import annotations

from pathlib import Path

import pytest
from command_line import FILMS, run


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kb = tmp_path_factory.mktemp("cli") / "films.kb"
    result = run("load", kb, FILMS, "--index")
    assert result.exit_code == 0, result.output
    return kb
