"""The command line in this process, for tests."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from hybridkg.cli import cli

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
SPACE = 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s'


def run(*arguments: object, text: str | None = None) -> Result:
    result = CliRunner().invoke(cli, [str(a) for a in arguments], input=text, catch_exceptions=False)
    assert "Traceback" not in result.output
    return result
