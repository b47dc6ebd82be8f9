"""The experiments that measure published runs again: every figure comes out as it was published."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from test_published import COMPUTED_ELR, GROUPS, PUBLISHED_ELR, PUBLISHED_V2

from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.report import write_report

EXPERIMENTS = Path(__file__).parents[2] / "examples" / "experiments"
NAMES = {
    "BM25F": "kewer/bm25f_v2_5fold.run.xz",
    "monoBERT-1st": "GEEER_monobert_1st",
    "monoBERT": "GEEER_monobert",
    "EMBERT-1st": "GEEER_embert_1st",
    "EMBERT": "GEEER_embert",
}

pytestmark = pytest.mark.needs_shared


@pytest.fixture
def examples(request, tmp_path, shared_data):
    """examples/experiments as in a checkout, with the data beside it, and the runs of a test where its file says."""
    archives = {"geeer-runs": "geeer-embert-runs.tar.xz", "elr-runs": "elr-v1/runs.tar.xz"}
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "data").symlink_to(shared_data)
    folder = tmp_path / "checkout" / "examples" / "experiments"
    folder.mkdir(parents=True)
    with tarfile.open(shared_data / "dbpedia-entity-v2" / archives[request.param]) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # absent before Python 3.11.4
        tar.extractall(tmp_path / "checkout" / request.param)
    for path in EXPERIMENTS.glob("*-runs.toml"):
        (folder / path.name).write_text(path.read_text())
    return folder


@pytest.mark.parametrize("examples", ["geeer-runs"], indirect=True)
@pytest.mark.exhaustive  # of two of the same runs test_published.py measures the same figures by default
def test_the_runs_of_dbpedia_entity_v2(examples, tmp_path):
    found = Experiment.read(examples / "dbpedia-entity-v2-runs.toml").run(tmp_path / "out")
    verdicts = found.verdicts()
    assert len(verdicts) == 5 * 5 * 2
    assert {one.verdict for one in verdicts} == {"OK"}
    for name, run in NAMES.items():
        cells = PUBLISHED_V2[run].split()
        expected = {(one.expected.category, one.expected.measure): one.expected.value
                    for one in verdicts if one.system == name}  # fmt: skip
        for group, cell in zip((*GROUPS, "all"), cells, strict=False):
            assert cell == "/".join(f"{expected[group, m]:.4f}".removeprefix("0") for m in ("ndcg@10", "ndcg@100"))
        means = found.means()[name]
        assert [f"{means[m]:.3f}".removeprefix("0") for m in ("judged@10", "condensed-ndcg@10")] == cells[5:]
    write_report(found, tmp_path / "out")
    assert "50 OK. OK: within the tolerance" in (tmp_path / "out" / "report.md").read_text()


@pytest.mark.parametrize("examples", ["elr-runs"], indirect=True)
def test_the_runs_of_elr(examples):
    found = Experiment.read(examples / "dbpedia-entity-v1-runs.toml").run()
    assert {one.system: f"{one.expected.value:.4f}".removeprefix("0") for one in found.verdicts()} == PUBLISHED_ELR
    assert {one.verdict for one in found.verdicts()} == {"OK"}
    for name, cells in COMPUTED_ELR.items():
        assert " ".join(f"{value:.4f}".removeprefix("0") for value in found.means()[name].values()) == cells
