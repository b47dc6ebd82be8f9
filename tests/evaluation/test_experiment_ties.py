"""Equal scores in an experiment: a folder changes no figure, and a run file that may have lost ties is reported."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.kinds.query import QuerySystem
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.experiment.stored import MANIFEST, RUNS
from hybridkg.evaluation.run import Run, read_run, write_run
from hybridkg.evaluation.trec_eval import falling, separated

E = "http://e/"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"
TOPICS = {"q1": "red fish", "q2": "blue", "q3": "nothing of this"}
QRELS = {"q1": {f"{E}r5": 1, f"{E}r0": 1, f"{E}odd": 1}, "q2": {f"{E}b1": 1}, "q3": {f"{E}r1": 1}}
PLAIN = "SELECT ?e { ?e MATCH $text AS ?s } RANK BY ?s"
TIED = ["mtrr", "tmhits@2", "condensed-mtrr"]
MEASURES = [*TIED, "ndcg@10", "grag_mrr"]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """Six entities with one text, twice two with another, and one between."""
    folder = tmp_path_factory.mktemp("tied")
    texts = {**{f"r{i}": "a red fish" for i in range(6)}, "b0": "blue", "b1": "blue", "odd": "fish"}
    texts |= {"9": "green", "10": "green"}
    (folder / "t.nt").write_text("".join(f'<{E}{name}> {LABEL} "{text}" .\n' for name, text in texts.items()))
    with KnowledgeBase.create(folder / "kb") as made:
        made.load(folder / "t.nt", index=True)
    return folder / "kb"


def experiment(kb, systems=None, **more):
    return Experiment(kb, systems or {"plain": PLAIN}, TOPICS, QRELS, **{"measures": MEASURES, **more})


def test_a_folder_changes_no_figure(kb, tmp_path):
    without = experiment(kb).run()
    # Ranks 1 to 6 tie, and 7 follows: (2/7 + 2/7 + 1/7) / 3 in q1, 2/3 in q2, 0 in q3.
    assert without.means()["plain"]["mtrr"] == pytest.approx((5 / 21 + 2 / 3 + 0) / 3)
    first = experiment(kb).run(tmp_path / "out")
    again = experiment(kb).run(tmp_path / "out")
    assert again.runs["plain"].kept
    assert first.values == without.values == again.values
    for one in (first, again):
        assert one.runs["plain"].run.rankings == without.runs["plain"].run.rankings


def test_nor_does_an_interruption(kb, tmp_path, monkeypatch):
    here = QuerySystem._in_process

    def stopped(self, todo):
        for number, answer in enumerate(here(self, todo)):
            if number == 1:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(QuerySystem, "_in_process", stopped)
    with pytest.raises(KeyboardInterrupt):
        experiment(kb).run(tmp_path / "out")
    monkeypatch.setattr(QuerySystem, "_in_process", here)
    resumed = experiment(kb).run(tmp_path / "out")
    assert resumed.values == experiment(kb).run().values


def test_nor_a_new_name_nor_a_return(kb, tmp_path, monkeypatch):
    without, out = experiment(kb, {"plain": PLAIN, "lm": PLAIN}).run(), tmp_path / "out"
    experiment(kb).run(out)
    experiment(kb, {"bm25f": PLAIN}).run(out)
    experiment(kb, {"lm": PLAIN.replace("$text", "$text USING lm")}).run(out)
    monkeypatch.setattr(QuerySystem, "_in_process", lambda self, todo: pytest.fail("asked again"))
    returned = experiment(kb, {"plain": PLAIN}).run(out)
    assert returned.runs["plain"].kept
    assert returned.values["plain"] == without.values["plain"]


def test_nor_of_a_system_that_learns(kb, tmp_path):
    folds = {"0": {"training": ["q1"], "testing": ["q2", "q3"]}, "1": {"training": ["q2", "q3"], "testing": ["q1"]}}
    (tmp_path / "folds.json").write_text(json.dumps(folds))
    systems = {
        "plain": PLAIN,
        "lm": PLAIN.replace("$text", "$text USING lm"),
        "learned": SystemSpec("", "learn", {"features": ("plain", "lm")}),
    }
    runs = [
        experiment(kb, systems, folds=tmp_path / "folds.json").run(out)
        for out in (None, tmp_path / "out", tmp_path / "out")
    ]
    assert runs[0].values == runs[1].values == runs[2].values
    assert all(one.kept for one in runs[2].runs.values())


def test_the_measures_of_stark_have_their_own_order_of_ties(kb, tmp_path):
    def run(out):
        more = {"measures": ["mrr", "hit@1"], "candidates": [f"{E}9", f"{E}10"]}
        return Experiment(kb, {"plain": PLAIN}, {"q": "green"}, {"q": {f"{E}9": 1}}, **more).run(out)

    assert run(None).runs["plain"].run.documents("q") == [f"{E}10", f"{E}9"]  # as texts
    assert run(None).means()["plain"] == {"mrr": 1, "hit@1": 1}  # as numbers
    assert run(tmp_path).means() == run(tmp_path).means() == run(None).means()


def test_the_run_file_is_still_in_our_order_for_trec_eval(kb, tmp_path):
    found = experiment(kb).run(tmp_path / "out")
    written = read_run(tmp_path / "out" / RUNS / "plain.run")
    for topic in ("q1", "q2"):
        assert written.documents(topic) == found.runs["plain"].run.documents(topic)
        scores = [score for _, score in written.rankings[topic]]
        assert len(set(scores)) == len(scores)


@pytest.mark.parametrize("damage", ["changed", "shorter", "gone"])
def test_exact_scores_that_were_changed_are_measured_anew(kb, tmp_path, damage):
    out = tmp_path / "out"
    first, path = experiment(kb).run(out), out / RUNS / "plain.scores"
    match damage:
        case "changed":
            path.write_text(path.read_text().replace("\n", "9\n", 1))
        case "shorter":
            path.write_text("")
        case "gone":
            path.unlink()
    again = experiment(kb).run(out)
    assert not again.runs["plain"].kept
    assert again.values == first.values


def test_the_exact_scores_stand_beside_the_run_line_by_line(kb, tmp_path):
    out = tmp_path / "out"
    found = experiment(kb).run(out)
    lines = (out / RUNS / "plain.run").read_text().splitlines()
    scores = (out / RUNS / "plain.scores").read_text().splitlines()
    read: dict[str, list[tuple[str, float]]] = {}
    for line, score in zip(lines, scores, strict=True):
        topic, _, document, *_ = line.split()
        read.setdefault(topic, []).append((document, float(score)))
    want = {topic: list(own) for topic, own in found.runs["plain"].run.rankings.items() if own}
    assert read == want
    assert json.loads((out / MANIFEST).read_text())["systems"]["plain"]["scores"]["file"] == "runs/plain.scores"


# --- the warning --------------------------------------------------------------------------


def test_an_experiment_warns_of_its_own_run_files(kb, tmp_path):
    assert experiment(kb).run().warnings() == []
    assert experiment(kb, measures=["ndcg@10"]).run(tmp_path / "plain").warnings() == []
    (warning,) = experiment(kb).run(tmp_path / "out").warnings()
    assert warning.code == "W201"
    assert warning.message == (
        "the run of 'plain' has 6 scores equal to the one before, and its file separates them for trec_eval: mtrr, "
        "tmhits@2 and condensed-mtrr of the file may differ from the figures here"
    )
    assert warning.place == str(tmp_path / "out" / RUNS / "plain.run")
    (again,) = experiment(kb).run(tmp_path / "out").warnings()
    assert again.render() == warning.render()


def test_eval_warns_of_a_run_that_may_have_lost_ties(kb, tmp_path):
    out = tmp_path / "out"
    found = experiment(kb).run(out)
    qrels, run = tmp_path / "qrels.txt", out / RUNS / "plain.run"
    qrels.write_text("".join(f"{topic} 0 {d} {g}\n" for topic, own in QRELS.items() for d, g in own.items()))
    told = CliRunner().invoke(cli, ["eval", str(qrels), str(run), "-m", "mtrr", "--format", "json"])
    assert json.loads(told.stdout)["runs"][0]["all"]["mtrr"] != pytest.approx(found.means()["plain"]["mtrr"])
    assert "warning[W201]: 6 scores of the run 'plain' are the next 32-bit number below the score before" in told.stderr
    assert "mtrr may miss ties\n" in told.stderr
    assert f" --> {run}" in told.stderr
    (shown,) = json.loads(told.stdout)["warnings"]
    assert shown["code"] == "W201"
    assert f"warning[W201]: {shown['message']}\n" in told.stderr
    quiet = CliRunner().invoke(cli, ["eval", str(qrels), str(run), "-m", "ndcg@10"])
    assert "W201" not in quiet.output
    # A run whose ties were kept is measured with them, without a word.
    tied = tmp_path / "tied.run"
    rankings = found.runs["plain"].run.rankings.items()
    tied.write_text("".join(f"{t} Q0 {d} 1 {s!r} kept\n" for t, own in rankings for d, s in own))
    kept = CliRunner().invoke(cli, ["eval", str(qrels), str(tied), "-m", "mtrr", "--format", "json"])
    assert json.loads(kept.stdout)["runs"][0]["all"]["mtrr"] == pytest.approx(found.means()["plain"]["mtrr"])
    assert "W201" not in kept.stderr
    compared = CliRunner().invoke(cli, ["compare", str(tied), str(run), "--qrels", str(qrels), "-m", "mtrr"])
    assert compared.stderr.count("warning[W201]") == 1


def test_a_run_made_elsewhere_is_reported_in_an_experiment(tmp_path):
    path = tmp_path / "far.run"
    write_run(Run("far", {"q1": ((f"{E}a", 2.0), (f"{E}b", 2.0), (f"{E}c", 1.0))}), path)
    for systems in ({"far": SystemSpec("", "run", path)}, {"far": read_run(path)}):
        found = Experiment(None, systems, TOPICS, QRELS, measures=["mtrr"]).run()
        assert [one.code for one in found.warnings()] == ["W201"]
        assert "1 score of the run 'far' is the next 32-bit number" in found.warnings()[0].message
    assert Experiment(None, systems, TOPICS, QRELS, measures=["mrr"]).run().warnings() == []


def test_the_command_and_the_reports_tell_it(kb, tmp_path):
    (tmp_path / "topics.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in TOPICS.items()))
    lines = [f"{topic} 0 {node} {grade}\n" for topic, own in QRELS.items() for node, grade in own.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    (tmp_path / "e.toml").write_text(
        f"kb = '{kb}'\ntopics = 'topics.tsv'\nqrels = 'qrels.txt'\nmeasures = ['mtrr']\n[systems]\nplain = '{PLAIN}'\n"
    )
    told = CliRunner().invoke(cli, ["run", str(tmp_path / "e.toml")])
    assert told.exit_code == 0, told.output
    message = "the run of 'plain' has 6 scores equal to the one before"
    assert f"warning[W201]: {message}" in told.stderr
    assert message in (tmp_path / "e.results" / "report.md").read_text()
    report = json.loads((tmp_path / "e.results" / "report.json").read_text())
    assert [one["code"] for one in report["warnings"]] == ["W201"]


@settings(max_examples=examples(60, 100), deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 1e30, -2.0]), max_size=20))
def test_what_was_separated_is_counted_in_what_was_written(scores):
    scores.sort(reverse=True)
    equal = sum(len(list(group)) - 1 for _, group in groupby(scores))
    assert separated(falling(scores).tolist()) == equal
    assert separated(sorted(set(scores), reverse=True)) == 0


def test_the_run_of_a_reader_has_the_ties_of_the_file(tmp_path):
    path = Path(tmp_path / "a.run")
    path.write_text("q Q0 a 1 2.0 x\nq Q0 b 2 2.0 x\n")
    assert separated([score for _, score in read_run(path).rankings["q"]]) == 0
