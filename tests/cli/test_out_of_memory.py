"""What is said and what goes on working when there is too little memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.vector.encoders.lsa import LsaEncoder
from hybridkg.vector.index.flat_files import FlatWriter

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"


@pytest.fixture
def base(tmp_path):
    KnowledgeBase.create(tmp_path / "kb")
    toml = tmp_path / "kb" / "kb.toml"
    toml.write_text(toml.read_text().replace('encoder = "none"', 'encoder = "lsa"'))
    with KnowledgeBase.open(tmp_path / "kb") as kb:
        kb.load(FILMS, index=True)
    return tmp_path / "kb"


def too_much(*_, **__):
    np.empty(10**16)


@pytest.mark.parametrize(("who", "method"), [(LsaEncoder, "passages"), (FlatWriter, "add")])
def test_too_little_memory_for_vectors_is_told_and_everything_goes_on(base, monkeypatch, who, method):
    before = sorted(path.relative_to(base) for path in base.rglob("*"))
    with monkeypatch.context() as patch:
        patch.setattr(who, method, too_much)
        result = CliRunner().invoke(cli, ["index", str(base)])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "out of memory; the knowledge base is as it was before",
        "Unable to allocate 71.1 PiB for an array with shape (10000000000000000,) and data type float64",
    ]
    assert sorted(path.relative_to(base) for path in base.rglob("*")) == before
    for pattern in ('MATCH "space"', 'NEAR "space travel"'):
        result = CliRunner().invoke(cli, ["query", str(base), f"SELECT ?f {{ ?f {pattern} AS ?s }} RANK BY ?s LIMIT 3"])
        assert result.exit_code == 0, result.stderr
        assert ":Odyssey" in result.stdout


def test_a_query_promises_nothing_of_what_it_does_not_change(base, monkeypatch):
    monkeypatch.setattr(KnowledgeBase, "stream", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    result = CliRunner().invoke(cli, ["query", str(base), "SELECT * { ?s ?p ?o }"])
    assert (result.exit_code, result.stderr) == (1, "out of memory\n")
