"""What an experiment keeps: runs in little memory, time that was spent, runs of systems that change their names."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from hybridkg.cli import cli
from hybridkg.errors import HybridkgError, LoadError, ParameterError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment import answers as kept_answers
from hybridkg.evaluation.experiment.answers import Answers, TopicRanking
from hybridkg.evaluation.experiment.kinds.query import QuerySystem
from hybridkg.evaluation.experiment.packed import DocumentNames, PackedRankings
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.evaluation.measures import DEFAULT_MEASURES
from hybridkg.evaluation.run import read_run

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
F = "http://example.org/films/"
TOPICS = {"q1": "space travel", "q2": "mars astronaut", "q3": "samurai village"}
QRELS = {"q1": {F + "Odyssey": 2, F + "Alien": 0}, "q2": {F + "TheMartian": 2}, "q3": {F + "SevenSamurai": 1}}
PLAIN = "SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s"
LM = "SELECT ?e ?s { ?e MATCH $text USING lm AS ?s } RANK BY ?s"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    kb = tmp_path_factory.mktemp("films") / "films.kb"
    copy_films(kb)
    return kb


documents = st.text("abc", min_size=1, max_size=3)
rankings = st.dictionaries(documents, st.floats(allow_nan=False)).map(lambda own: tuple(own.items()))


@given(st.lists(st.dictionaries(st.sampled_from("xyz"), rankings), min_size=1, max_size=3))
def test_packed_rankings_are_the_rankings(runs):
    shared = DocumentNames()
    packed = [PackedRankings(run, shared) for run in runs]
    assert packed == runs
    assert [list(one) for one in packed] == [list(run) for run in runs]
    assert len(shared.names) == len({name for run in runs for own in run.values() for name, _ in own})


def test_runs_take_twelve_bytes_a_row(films):
    found = Experiment(films, {"a": PLAIN, "b": LM}, TOPICS, QRELS, measures="mrr").run()
    for one in found.runs.values():
        assert isinstance(one.run.rankings, PackedRankings)
        columns = one.run.rankings._columns.values()
        rows = sum(len(numbers) for numbers, _ in columns)
        assert sum(numbers.nbytes + scores.nbytes for numbers, scores in columns) == 12 * rows > 0


def asked_of(monkeypatch):
    """(system, topic) that are asked from now on."""
    asked: list[tuple[str, str]] = []
    here = QuerySystem._in_process

    def counted(self, todo):
        asked.extend((self._query.system, topic) for topic in todo)
        return here(self, todo)

    monkeypatch.setattr(QuerySystem, "_in_process", counted)
    return asked


def names(folder):
    return {path.name for path in (folder / "runs").iterdir()}, {path.name for path in (folder / "plots").iterdir()}


def ran(films, systems, out):
    found = Experiment(films, systems, TOPICS, QRELS, measures=["mrr"]).run(out)
    write_report(found, out)
    return found


def test_a_system_with_a_new_name_is_not_asked_again(films, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = ran(films, {"plain": PLAIN, "old": LM}, out)
    asked = asked_of(monkeypatch)
    second = ran(films, {"plain": PLAIN, "new": LM}, out)
    assert not asked
    assert second.runs["new"].kept
    assert second.means()["new"] == first.means()["old"]
    assert names(out) == ({"plain.run", "plain.scores", "new.run", "new.scores"}, {"topics-new.svg"})
    assert read_run(out / "runs" / "new.run").name == "new"
    assert not list((out / ".work").glob("old.*"))
    assert ran(films, {"plain": PLAIN, "new": LM}, out).to_json() == second.to_json()


def test_a_system_that_is_left_out_is_found_when_it_comes_back(films, tmp_path, monkeypatch):
    out = tmp_path / "out"
    first = ran(films, {"plain": PLAIN, "lm": LM}, out)
    ran(films, {"plain": PLAIN}, out)
    assert names(out) == ({"plain.run", "plain.scores"}, set())
    assert json.loads((out / "manifest.json").read_text())["systems"].keys() == {"plain"}
    ran(films, {"plain": PLAIN, "x": LM.replace("USING lm", "USING lm(mu=9)")}, out)
    asked = asked_of(monkeypatch)
    again = ran(films, {"plain": PLAIN, "lm": LM}, out)
    assert not asked
    assert again.to_json() == first.to_json()
    assert names(out) == ({"plain.run", "plain.scores", "lm.run", "lm.scores"}, {"topics-lm.svg"})
    assert (out / ".work" / "x.run").exists()


def test_what_was_put_aside_and_changed_is_asked_again(films, tmp_path, monkeypatch):
    out = tmp_path / "out"
    ran(films, {"plain": PLAIN, "lm": LM}, out)
    ran(films, {"plain": PLAIN}, out)
    (out / ".work" / "lm.run").write_text("q1 Q0 x 1 1.0 lm\n")
    asked = asked_of(monkeypatch)
    assert not ran(films, {"plain": PLAIN, "lm": LM}, out).runs["lm"].kept
    assert {system for system, _ in asked} == {"lm"}


@pytest.mark.parametrize("part", ["learned", "took", "topics"])
def test_figures_that_were_changed_by_hand_are_not_shown(films, tmp_path, part):
    out = tmp_path / "out"
    ran(films, {"plain": PLAIN}, out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["systems"]["plain"][part] = {"0": {}} if part != "took" else {"seconds": 1.0, "cpu_seconds": 1.0}
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert not ran(films, {"plain": PLAIN}, out).runs["plain"].kept


def test_names_in_a_manifest_lead_nowhere_else(films, tmp_path):
    out, outside = tmp_path / "out", tmp_path / "outside.run"
    ran(films, {"plain": PLAIN}, out)
    outside.write_text("q1 Q0 x 1 1.0 lm\n")
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["systems"]["../../outside"] = manifest["aside"]["../../outside"] = manifest["systems"]["plain"]
    (out / "manifest.json").write_text(json.dumps(manifest))
    ran(films, {"other": LM}, out)
    assert outside.exists()


def test_time_is_added_up_over_interruptions(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(kept_answers, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    path = tmp_path / "a.jsonl"
    for topic in ("q1", "q2"):
        with pytest.raises(KeyboardInterrupt), Answers(path, "key") as answers:  # noqa: PT012 - it ends in it
            answers.add(TopicRanking(topic, ()))
            now[0] += 0.02
            raise KeyboardInterrupt
    again = Answers(path, "key")
    assert list(again.found) == ["q1", "q2"]
    assert again.took.seconds == pytest.approx(0.04)
    with again:
        now[0] += 1
    assert again.took.seconds == pytest.approx(1.04)
    assert Answers(path, "key").took.seconds == pytest.approx(1.04)
    assert Answers(path, "another").took.seconds == 0


def test_time_is_told_and_kept(films, tmp_path):
    first = ran(films, {"plain": PLAIN}, tmp_path / "out")
    took = first.runs["plain"].took
    assert took is not None
    assert took.seconds > 0
    assert took.cpu_seconds >= 0  # some kernels count in ticks of 10 ms
    assert ran(films, {"plain": PLAIN}, tmp_path / "out").runs["plain"].took == took
    assert "| plain |" in (tmp_path / "out" / "report.md").read_text().partition("Time.")[2]


@pytest.mark.parametrize(
    ("tune", "folds", "message"),
    [
        ("{ model = 'bm25g' }", None, "no search space 'bm25g'|no .*'bm25g'"),
        ("{ model = 'bm25f', fields = ['lable'] }", None, "no text field 'lable'"),
        ("{ model = 'bm25f', measure = 'ndgc@10' }", None, "no measure 'ndgc@10'"),
        ("{ model = 'bm25f', fixed = { k9 = 1 } }", None, "'k9'"),
        ("{ model = 'elr', fixed = { links = '@none.tsv' } }", None, "none.tsv"),
        ("{ model = 'bm25f', by_category = true }", None, "has no category"),
        ("{ model = 'bm25f' }", {"0": {"training": ["q1"], "testing": ["q2"]}}, "no fold tests the topic"),
        ("{ model = 'bm25f' }", {"0": {"training": [], "testing": ["q1", "q2", "q3"]}}, "nothing to train on"),
    ],
)
def test_a_mistake_in_what_is_tuned_shows_before_the_first_system_is_asked(
    films, tmp_path, monkeypatch, tune, folds, message
):
    whole = {"0": {"training": ["q1"], "testing": ["q2", "q3"]}, "1": {"training": ["q2", "q3"], "testing": ["q1"]}}
    (tmp_path / "folds.json").write_text(json.dumps(folds or whole))
    (tmp_path / "topics.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in TOPICS.items()))
    lines = [f"{topic} 0 {node} {grade}\n" for topic, own in QRELS.items() for node, grade in own.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    path = tmp_path / "e.toml"
    path.write_text(
        f"kb = '{films}'\ntopics = 'topics.tsv'\nqrels = 'qrels.txt'\nfolds = 'folds.json'\n"
        f"[systems]\nplain = '{PLAIN}'\n[systems.tuned]\ntune = {tune}\n"
    )
    asked = asked_of(monkeypatch)
    with pytest.raises(HybridkgError, match=message):
        Experiment.read(path).run(tmp_path / "out")
    assert not asked


def test_a_run_that_cannot_be_read_shows_before_the_first_system_is_asked(films, tmp_path, monkeypatch):
    from hybridkg.evaluation.experiment.spec import SystemSpec

    bad = tmp_path / "bad.run"
    bad.write_text("q1 Q0 x 1\n")
    asked = asked_of(monkeypatch)
    with pytest.raises(LoadError, match=r"bad\.run"):
        Experiment(films, {"plain": PLAIN, "bad": SystemSpec("", "run", bad)}, TOPICS, QRELS).run()
    assert not asked


def test_a_run_by_the_name_of_its_file_and_measures_by_default(films, tmp_path):
    from hybridkg.evaluation.experiment.spec import SystemSpec

    (tmp_path / "good.run").write_text(f"q2 Q0 {F}TheMartian 1 1.0 x\n")
    systems = {"good": SystemSpec("", "run", str(tmp_path / "good.run"))}
    found = Experiment(None, systems, TOPICS, QRELS, measures=None).run()
    assert found.means()["good"]["ndcg@10"] == pytest.approx(1 / 3)
    assert found.names == DEFAULT_MEASURES
    with pytest.raises(ParameterError, match="needs a measure"):
        Experiment(None, systems, TOPICS, QRELS, measures=[])


def test_published_figures_of_categories(films, tmp_path):
    (tmp_path / "topics.tsv").write_text("a-1\tspace travel\nb-1\tmars astronaut\n")
    (tmp_path / "qrels.txt").write_text(f"a-1 0 {F}Odyssey 1\nb-1 0 {F}Alien 1\n")
    path = tmp_path / "e.toml"
    start = f"kb = '{films}'\ntopics = 'topics.tsv'\nqrels = 'qrels.txt'\nby = 'prefix'\nmeasures = ['mrr']\n"
    path.write_text(
        f"{start}[systems.plain]\nquery = '{PLAIN}'\n[systems.plain.expected]\nmrr = 0.5\n"
        "a = { mrr = 1, 'p@1' = 1 }\nb = { mrr = 0.98 }\n"
    )
    found = Experiment.read(path).run(tmp_path / "out")
    a, b = found.values["plain"]["mrr"].values()
    assert [(v.expected.category, v.expected.measure, v.found) for v in found.verdicts()] == [
        ("all", "mrr", (a + b) / 2), ("a", "mrr", a), ("a", "p@1", 1.0), ("b", "mrr", b),
    ]  # fmt: skip
    write_report(found, tmp_path / "out")
    assert "| plain | a | mrr | 1.0000 | 1.0000 | +0.0000 | 0.01 | OK |" in (tmp_path / "out/report.md").read_text()
    told = CliRunner().invoke(cli, ["run", str(path)])
    assert told.output.count("  mrr  ") == 1
    assert "published figures of categories (report.md): 2 OK, 0 close, 1 off" in told.output
    path.write_text(f"{start}[systems.plain]\nquery = '{PLAIN}'\nexpected = {{ c = {{ mrr = 1 }} }}\n")
    with pytest.raises(ParameterError, match="the category 'c', which no judged topic has; categories: a, b"):
        Experiment.read(path)
