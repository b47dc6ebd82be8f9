"""examples/films.csv and docs/tables.md: what the page shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.csv"
PAGE = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")


def test_the_mapping_of_the_page():
    shown = re.search(r"```\n(prefix ex:.*?)```", PAGE, re.DOTALL)
    assert shown is not None
    tried = CliRunner().invoke(cli, ["load", "never.kb", str(FILMS), "--dry-run"])
    assert tried.stderr == shown[1]
    assert len(tried.stdout.splitlines()) == 13 + 11 + 13  # three films, one without a German title


def test_the_four_lines_of_the_page():
    frame = pd.read_csv(FILMS)
    with KnowledgeBase.temporary(frame, id="imdb_id", class_="Film") as kb:
        found = [str(row["f"]) for row in kb.query('SELECT ?f { ?f MATCH "space" AS ?s } RANK BY ?s')]
        assert sorted(found) == [f"http://example.org/Film/{name}" for name in ("tt0062622", "tt0069293", "tt0078748")]
    with KnowledgeBase.temporary(FILMS) as kb:
        year = "http://example.org/year"
        rows = kb.query(f'SELECT ?f ?y {{ ?f MATCH "space" AS ?s . ?f <{year}> ?y }} RANK BY ?s')
        assert {row["y"].toPython() for row in rows} == {1968, 1972, 1979}


def test_the_mapping_file_of_the_page_is_read(tmp_path):
    text = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert text is not None
    (tmp_path / "films.yml").write_text(text[1], encoding="utf-8")
    with KnowledgeBase.create(tmp_path / "f.kb") as kb:
        assert kb.load(FILMS, mapping=tmp_path / "films.yml", index=False).triples == 8 * 2 + 7 + 15
