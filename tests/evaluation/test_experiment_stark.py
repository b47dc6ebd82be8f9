"""STaRK's measures over all candidates inside an experiment: the figures are those of `hybridkg eval --candidates`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.stark import hybrid_query, text_query
from benchmarks.stark_made import MADE, write_skb
from hybridkg.cli import cli
from hybridkg.datasets.stark.making import make_stark
from hybridkg.errors import ConfigError, HybridkgError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.measures.stark import STARK_TABLE

NODES = 300
KB = "mag"


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A dataset made of a made knowledge base, with the parts of its questions as values of topics."""
    folder = tmp_path_factory.mktemp("stark")
    write_skb(KB, NODES, folder)
    make_stark(folder / "skb", folder / "qa", folder / "made")
    questions = MADE[KB](NODES, 1).questions
    for part in ("first", "second", "word"):
        lines = (f"{number}\t{getattr(question, part)}\n" for number, question in enumerate(questions))
        (folder / "made" / f"{part}.tsv").write_text("".join(lines))
    return folder / "made"


def experiment(folder: Path, more: str = "", candidates: str = "candidates = 'candidates.txt'") -> Path:
    hybrid = hybrid_query(KB).replace("$text", "$word")
    path = folder / "stark.toml"
    path.write_text(
        f"kb = 'kb'\ntopics = 'topics-test.tsv'\nqrels = 'qrels-test.txt'\n{candidates}\n{more}\n"
        "[values]\nfirst = 'first.tsv'\nsecond = 'second.tsv'\nword = 'word.tsv'\n"
        f"[systems.text]\nquery = '''{text_query(KB)}'''\nexpected = {{ 'hit@1' = 0.2, 'recall@3' = 1 }}\n"
        f"[systems.hybrid]\nquery = '''{hybrid}'''\nexpected = {{ mrr = 1 }}\n"
    )
    return path


def test_figures_are_those_of_eval_over_candidates(made):
    ran = CliRunner().invoke(cli, ["run", str(experiment(made))])
    assert ran.exit_code == 0, ran.output
    out = made / "stark.results"
    runs = [str(out / "runs" / f"{name}.run") for name in ("text", "hybrid")]
    measured = CliRunner().invoke(
        cli,
        ["eval", str(made / "qrels-test.txt"), *runs, "--candidates", str(made / "candidates.txt"), "--format", "json"],
    )
    assert measured.exit_code == 0, measured.output
    report, eval_report = (json.loads(text) for text in ((out / "report.json").read_text(), measured.stdout))
    assert report["measures"] == list(STARK_TABLE)
    assert [one["all"] for one in report["runs"]] == [one["all"] for one in eval_report["runs"]]
    text, hybrid = (one["all"] for one in report["runs"])
    assert hybrid == {"hit@1": 1, "hit@5": 1, "recall@20": 1, "mrr": 1}
    assert 0 < text["mrr"] < 0.9
    told = (out / "report.md").read_text()
    count = len((made / "candidates.txt").read_text().splitlines())
    assert f"as STaRK has it: over all {count:,} candidates" in told
    assert json.loads((out / "manifest.json").read_text())["candidates"]["candidates"] == count
    assert "| hybrid | mrr | 1.0000 | 1.0000 | +0.0000 | 0.01 | OK |" in told


def test_an_answer_that_is_not_ranked_still_has_its_place(made):
    """Which makes these figures others than those without candidates."""
    shallow = experiment(made, more="depth = 3\nmeasures = ['mrr', 'recall@50']")
    over_all = Experiment.read(shallow).run()
    listed = Experiment.read(experiment(made, "depth = 3\nmeasures = ['mrr', 'recall@50']", candidates="")).run()
    assert over_all.means()["text"]["mrr"] > listed.means()["text"]["mrr"]
    assert over_all.means()["text"]["recall@50"] > listed.means()["text"]["recall@50"]
    assert not [note for note in over_all.notes() if "depth" in note]
    assert [note for note in listed.notes() if "rankings end before recall@50 would: depth is 3" in note]


def test_candidates_in_python(made):
    ids = (made / "candidates.txt").read_text().split()
    systems = {"text": text_query(KB)}
    asked = made / "kb", systems, made / "topics-test.tsv", made / "qrels-test.txt"
    by_file = Experiment(*asked, candidates=made / "candidates.txt").run()
    assert Experiment(*asked, candidates=ids).run().means() == by_file.means()
    assert list(by_file.to_dataframe().columns) == list(STARK_TABLE)


@pytest.mark.parametrize(
    ("more", "candidates", "message"),
    [
        ("measures = ['judged@10']", "candidates = 'candidates.txt'", "no measure 'judged@10' of STaRK"),
        ("", "candidates = 'none.txt'", "none.txt"),
        ("", "candidates = 3", "'candidates' must be a path"),
    ],
)
def test_mistakes(made, more, candidates, message):
    with pytest.raises(HybridkgError, match=message):
        Experiment.read(experiment(made, more, candidates))
    with pytest.raises(ConfigError, match="needs a measure"):
        Experiment.read(experiment(made, "measures = []"))
