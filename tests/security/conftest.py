"""A knowledge base whose every value is hostile, and how commands are asked as a terminal would."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hostile_values import FORMULA, LABEL, MARKUP, NASTY, turtle

from hybridkg import KnowledgeBase
from hybridkg.cli import cli


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    lines = [f"<http://e/{name}> <{LABEL}> {turtle(text + ' fish')} .\n" for name, text in
             (("nasty", NASTY), ("formula", FORMULA), ("markup", MARKUP), ("plain", "a fish"))]  # fmt: skip
    (folder / "data.ttl").write_text("".join(lines))
    with KnowledgeBase.create(folder / "kb") as kb:
        kb.load(folder / "data.ttl", index=True)
    return folder / "kb"


@pytest.fixture
def ask():
    """Runs a command; colours stay in what it prints, as on a terminal (click would drop what it takes for one)."""

    def run(*words, stdin=None):
        result = CliRunner().invoke(cli, [str(word) for word in words], input=stdin, color=True)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return run
