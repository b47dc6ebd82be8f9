"""The benchmark of Table 2: its experiments lead to what it makes, and it stores what the report says."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from benchmarks.table2 import EXPERIMENTS, MADE, NAMES, UNPACKED, figures_of, written
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.run import Run


@pytest.mark.parametrize("name", NAMES.values())
def test_every_path_of_an_experiment_leads_into_the_folder_or_the_data(tmp_path, name):
    shared = tmp_path / "shared"
    experiment = tomllib.loads(written(name, tmp_path, shared).read_text(encoding="utf-8"))
    assert experiment["systems"].keys() == tomllib.loads((EXPERIMENTS / f"{name}.toml").read_text())["systems"].keys()
    paths = [experiment[key] for key in ("kb", "topics", "qrels", "folds") if key in experiment]
    paths += [own[key] for own in experiment["systems"].values() if isinstance(own, dict)
              for key in ("kb", "run") if key in own]  # fmt: skip
    for path in map(Path, paths):
        inside = path.is_relative_to(shared) if path.is_absolute() else path.parts[0] in {*MADE, *UNPACKED}
        assert inside, path


def test_what_is_stored_is_what_was_found():
    topics = {f"q{i}": "words" for i in range(6)}
    good = Run("good", dict.fromkeys(topics, (("d1", 2.0), ("d2", 1.0))))
    bad = Run("bad", dict.fromkeys(topics, (("d2", 2.0), ("d1", 1.0))))
    qrels = {topic: {"d1": 1} for topic in topics}
    figures = figures_of(Experiment(None, {"bad": bad, "good": good}, topics, qrels, measures=["mrr", "p@1"]).run())
    assert {name: own["mrr"] for name, own in figures["systems"].items()} == {"bad": 0.5, "good": 1.0}
    assert figures["topics"] == 6
    first = figures["comparisons"][0]
    assert (first["system"], first["measure"], first["n"], first["difference"]) == ("good", "mrr", 6, 0.5)
    assert (first["p"], first["holm_p"], first["wins_ties_losses"]) == (0.031, 0.062, "6/0/0")
    assert figures["verdicts"] == {"OK": 0, "close": 0, "off": 0}
