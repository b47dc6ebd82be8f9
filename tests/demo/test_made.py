"""The demo replaces what it has made itself, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.demo.made import NOTE, Made
from hybridkg.demo.queries import demo_queries
from hybridkg.errors import UserError

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
QUERY = f"{demo_queries()[0].name}.hq"


def demo(folder: Path):
    return CliRunner().invoke(cli, ["demo", str(folder)])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert demo(folder).exit_code == 0
    return folder


def test_the_demo_runs_again_where_it_has_run(made):
    assert demo(made).exit_code == 0


@pytest.mark.parametrize("name", ["packages.nt", QUERY])
def test_a_file_of_the_user_stays_and_nothing_is_written(tmp_path, name):
    (tmp_path / name).write_text("mine\n")
    result = demo(tmp_path)
    assert result.exit_code == 2
    assert "exists and was not made by the demo; nothing has been written" in result.stderr
    assert "hint: move it, or choose another folder: hybridkg demo FOLDER" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine\n"


def test_a_knowledge_base_of_the_user_stays(tmp_path):
    KnowledgeBase.create(tmp_path / "packages.kb").load(FILMS, index=False)
    result = demo(tmp_path)
    assert result.exit_code == 2
    assert "packages.kb' exists and was not made by the demo" in result.stderr
    assert KnowledgeBase.open(tmp_path / "packages.kb").stats()["triples"] == 128
    assert [path.name for path in tmp_path.iterdir()] == ["packages.kb"]


def test_what_the_user_has_changed_since_stays(made, tmp_path):
    kept = (made / QUERY).read_text()
    (made / QUERY).write_text("# mine\n" + kept)
    result = demo(made)
    assert "has been changed since the demo made it" in result.stderr
    assert (made / QUERY).read_text().startswith("# mine")
    (made / QUERY).write_text(kept)
    KnowledgeBase.open(made / "packages.kb").load(FILMS)
    assert "packages.kb' exists and has been changed since" in demo(made).stderr


def test_a_damaged_note_claims_nothing(tmp_path):
    (tmp_path / "a").write_text("x")
    for damaged in (b"\xff", b"[1]", b"[" * 100_000, b'{"a": 1}'):
        (tmp_path / NOTE).write_bytes(damaged)
        with pytest.raises(UserError, match=r"exists and (was not made by|has been changed since) the demo"):
            Made(tmp_path).check(["a"], {})
    Made(tmp_path).check(["a"], {"a": "x"})
