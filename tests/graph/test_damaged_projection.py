"""What is seen of a projection whose files are gone or damaged."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from resealed import reseal

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import CorruptError

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
QUERY = """PREFIX : <http://example.org/films/>
SELECT ?f ?d ?s { ?f a :Film ; :director ?d . ?f MATCH "space" AS ?s } RANK BY ?s LIMIT 2"""


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> Path:
    path = tmp_path_factory.mktemp("kb") / "films.kb"
    copy_films(path)
    return path


@pytest.fixture
def copied(films: Path, tmp_path: Path) -> tuple[Path, Path]:
    kb = tmp_path / "copy.kb"
    shutil.copytree(films, kb)
    return kb, kb / (kb / "CURRENT").read_text().strip() / "projection"


def run(*arguments: object) -> str:
    return CliRunner().invoke(cli, [str(a) for a in arguments], env={"COLUMNS": "200"}).output


def test_doctor_names_a_projection_that_cannot_be_used_and_the_command(copied):
    kb, folder = copied
    assert "✓ projection" in run("doctor", kb)
    (folder / "keys").unlink()
    told = run("doctor", kb)
    assert "! projection" in told
    assert "keys' is missing; queries are slower" in told
    assert f"fix: hybridkg index {kb}" in told
    shutil.rmtree(folder)
    assert "none; queries are slower" in run("doctor", kb)


def test_verify_says_that_an_index_step_mends_it_and_it_does(copied):
    kb, folder = copied
    (folder / "keys").unlink()
    (folder / "keys").write_bytes(b"x")
    with pytest.raises(CorruptError) as told, KnowledgeBase.open(kb) as base:
        base.verify()
    assert told.value.hint == "hybridkg index KB rebuilds it"
    run("index", kb)
    with KnowledgeBase.open(kb) as base:
        assert base.verify() > 0


def test_doctor_names_a_projection_of_another_version(copied):
    kb, folder = copied
    header = json.loads((folder / "projection.json").read_text())
    (folder / "projection.json").unlink()
    (folder / "projection.json").write_text(json.dumps({**header, "version": 1}))
    reseal(folder.parent, "projection/projection.json")
    told = run("doctor", kb)
    assert "projection of the graph of version 1; this hybridkg reads 2, 3 and 4; queries are slower" in told
    run("index", kb)
    assert "✓ projection" in run("doctor", kb)


def test_the_warning_says_what_to_do(copied, caplog):
    kb, folder = copied
    (folder / "keys").unlink()
    with KnowledgeBase.open(kb) as base:
        assert len(base.query(QUERY)) == 2
    (record,) = [r for r in caplog.records if "projection" in r.getMessage()]
    assert record.getMessage() == (
        "the projection of the graph cannot be used, and queries are slower "
        f"({str(folder / 'keys')!r} is missing); hybridkg index builds it again"
    )


def broken(*_: object) -> None:
    raise IndexError("an array is not what it was")


@pytest.mark.parametrize("analyze", [False, True])
def test_a_query_that_fails_on_a_rotten_file_names_it(copied, monkeypatch, analyze):
    kb, folder = copied
    damaged = folder / "forward.targets"
    data = damaged.read_bytes()
    damaged.unlink()
    damaged.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    # Which rotten byte makes which code fail is for this test to choose, not for chance.
    monkeypatch.setattr("hybridkg.kb.query_session.QuerySession.run", broken)
    monkeypatch.setattr("hybridkg.kb.query_session.QuerySession.explanation", broken)
    with KnowledgeBase.open(kb) as base:
        ask = partial(base.explain, analyze=True) if analyze else base.query
        with pytest.raises(CorruptError, match=r"forward\.targets") as told:
            ask(QUERY)
    assert isinstance(told.value.__cause__, IndexError)
    assert told.value.hint == "hybridkg index KB rebuilds it"


def test_an_error_that_no_damage_explains_is_raised_as_it_is(films, monkeypatch):
    monkeypatch.setattr("hybridkg.kb.query_session.QuerySession.run", broken)
    with KnowledgeBase.open(films) as base, pytest.raises(IndexError, match="an array is not what it was"):
        base.query(QUERY)
