"""What Ctrl-C says of a build that goes on later."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.text.index.engine import RESUMABLE

TURTLE = '<http://x/a> <http://www.w3.org/2000/01/rdf-schema#label> "red sea" .\n'


@pytest.fixture
def base(tmp_path):
    (tmp_path / "data.ttl").write_text(TURTLE)
    KnowledgeBase.create(tmp_path / "kb").load(tmp_path / "data.ttl", index=False)
    return tmp_path / "kb"


def broken(*_, **__):
    error = KeyboardInterrupt()
    error.add_note(RESUMABLE)
    raise error


def test_an_interrupted_index_says_what_is_kept(base, monkeypatch):
    monkeypatch.setattr("hybridkg.text.index.engine.EmbeddedTextEngine.build", broken)
    result = CliRunner().invoke(cli, ["index", str(base)])
    assert result.exit_code == 130
    assert result.stderr == f"interrupted; the knowledge base is as it was before\n{RESUMABLE}\n"


def test_nothing_is_said_to_be_kept_of_a_knowledge_base_that_goes(base, monkeypatch):
    monkeypatch.setattr("hybridkg.text.index.engine.EmbeddedTextEngine.build", broken)
    new = base.parent / "new.kb"
    result = CliRunner().invoke(cli, ["load", str(new), str(base.parent / "data.ttl"), "--index"])
    assert result.exit_code == 130
    assert result.stderr == "interrupted; the knowledge base is as it was before\n"
    assert not new.exists()


def test_a_folder_with_kept_batches_is_a_knowledge_base(base):
    (base / ".text-work").mkdir()
    (base / ".text-work" / "x.batch").write_bytes(b"damaged")
    assert KnowledgeBase.open(base).index().entities == 1
    assert not (base / ".text-work").exists()
