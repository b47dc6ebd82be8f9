"""The example that runs Table 2 on the sample: thirteen models, as the experiment file has them."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

import pytest
from sampling import examples

from hybridkg.datasets.dbpedia.making import make_dbpedia

ROOT = Path(__file__).parents[2]
EXPERIMENT = ROOT / "examples" / "experiments" / "dbpedia-entity-v2.toml"


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("pandas")
    spec = importlib.util.spec_from_file_location("table2_sample", ROOT / "examples" / "table2_sample.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_its_systems_are_those_of_the_experiment(example):
    """The same models and figures; links are found by hybridkg, so that no file has to be named."""
    written = tomllib.loads(EXPERIMENT.read_text(encoding="utf-8"))["systems"]
    made = example.systems(Path("a/kb"), Path("b/kb"))
    shown = [name for name, own in written.items() if not own.get("hidden")]
    assert [name for name, own in made.items() if not own.hidden] == shown
    for name in shown:
        own, other = made[name], written[name]
        assert str(own.kb) == other.get("kb", "a/kb"), name
        assert own.expected[0].value == other["expected"]["ndcg@10"], name
        if own.kind == "query":
            query = other["query"].replace(", links=@a/links/tagme.tsv", "")
            assert own.value.replace("$text  USING", "$text USING") == query, name
        elif own.kind == "tune":
            want = {**other["tune"], "fixed": {**other["tune"].get("fixed", {})}}
            want["fixed"].pop("links", None)
            assert {"fixed": {}, **own.value} == want, name


@pytest.mark.needs_shared
def test_it_runs_on_the_sample(example, shared_data, tmp_path):
    dumps, collection = shared_data / "dbpedia-rdf-samples", shared_data / "dbpedia-entity-v2"
    for index in ("A", "B"):
        make_dbpedia(dumps, collection, tmp_path / index.lower(), index=index)
    every = examples(30, 9)
    found = example.table2(tmp_path / "a", tmp_path / "b", every=every, restarts=1)
    frame = found.to_dataframe()
    assert list(frame.index) == list(example.PUBLISHED)
    assert len(found.judged) == {30: 16, 9: 52}[every]
    assert (frame["ndcg@10"] > 0).all()
    assert set(found.comparisons()["run"]) == set(example.PUBLISHED) - {"BM25"}
    assert len(found.verdicts()) == 13
