"""Experiments: what is asked again and what is not, and that their figures are those of `hybridkg eval`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError, HybridkgError, ParameterError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.kinds.query import QuerySystem
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.evaluation.experiment.spec import PublishedFigure, SystemSpec
from hybridkg.evaluation.from_files import evaluate_files
from hybridkg.evaluation.run import Run, read_run

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
F = "http://example.org/films/"
TOPICS = {"q1": "space travel", "q2": "mars astronaut", "q3": "samurai village", "x-4": "deep space crew"}
QRELS = {
    "q1": {F + "Odyssey": 2, F + "Solaris": 1, F + "Alien": 0},
    "q2": {F + "TheMartian": 2},
    "q3": {F + "SevenSamurai": 1},
    "x-4": {F + "Alien": 2, F + "Solaris": 1},
    "unasked": {F + "Alien": 1},
}
PLAIN = "SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s"
LM = "SELECT ?e ?s { ?e MATCH $text USING lm AS ?s } RANK BY ?s"


@pytest.fixture(scope="module")
def films(tmp_path_factory, copy_films):
    kb = tmp_path_factory.mktemp("films") / "films.kb"
    copy_films(kb)
    return kb


@pytest.fixture
def folder(tmp_path, films):
    (tmp_path / "topics.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in TOPICS.items()))
    lines = [f"{topic} 0 {node} {grade}\n" for topic, own in QRELS.items() for node, grade in own.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    return tmp_path


def written(folder, films, systems, more=""):
    path = folder / "films.toml"
    path.write_text(
        f'kb = "{films}"\ntopics = "topics.tsv"\nqrels = "qrels.txt"\nmeasures = ["ndcg@10", "mrr", "judged@10"]\n'
        f'by = "prefix"\n{more}\n{systems}\n'
    )
    return path


TWO = f"[systems]\nplain = '{PLAIN}'\nlm = '{LM}'\n"


def asked_of(monkeypatch):
    """Names of the topics that are asked from now on, in order."""
    asked: list[str] = []
    here = QuerySystem._in_process

    def counted(self, todo):
        asked.extend(todo)
        return here(self, todo)

    monkeypatch.setattr(QuerySystem, "_in_process", counted)
    return asked


def test_figures_are_those_of_eval(folder, films):
    out = folder / "out"
    found = Experiment.read(written(folder, films, TWO)).run(out)
    (folder / "asked.txt").write_text(
        "".join(line for line in (folder / "qrels.txt").read_text().splitlines(True) if "unasked" not in line)
    )
    report = evaluate_files(
        folder / "asked.txt", [out / "runs" / "plain.run", out / "runs" / "lm.run"], ["ndcg@10", "mrr", "judged@10"]
    )
    assert found.means() == {
        run.name: {m: sum(own.values()) / 4 for m, own in run.values.items()} for run in report.runs
    }
    assert found.means()["plain"]["mrr"] == 1.0
    assert list(found.report.groups()) == ["q1", "q2", "q3", "x"]


def test_a_ranking_is_that_of_the_query(folder, films):
    out = folder / "out"
    Experiment.read(written(folder, films, TWO)).run(out)
    with KnowledgeBase.open(films) as kb:
        for topic, text in TOPICS.items():
            rows = [str(row["e"]) for row in kb.query(LM, {"text": text})]
            assert read_run(out / "runs" / "lm.run").documents(topic) == rows
    manifest = json.loads((out / "manifest.json").read_text())
    told = manifest["systems"]["plain"]["topics"]
    assert set(told) == set(TOPICS)
    assert all(one["ms"] > 0 and one["strategy"] and "(" in one["plan"] and one["exact"] for one in told.values())


def test_what_has_not_changed_is_not_asked_again(folder, films, monkeypatch):
    path, out = written(folder, films, TWO), folder / "out"
    first = Experiment.read(path).run(out)
    asked = asked_of(monkeypatch)
    again = Experiment.read(path).run(out)
    assert not asked
    assert all(one.kept for one in again.runs.values())
    assert again.to_json() == first.to_json()
    written(folder, films, TWO.replace("USING lm", "USING lm(mu=7)"))
    third = Experiment.read(path).run(out)
    assert asked == list(TOPICS)
    assert [name for name, one in third.runs.items() if not one.kept] == ["lm"]


@pytest.mark.parametrize("change", ["run", "manifest", "topics", "depth"])
def test_what_has_changed_is_asked_again(folder, films, monkeypatch, change):
    path, out = written(folder, films, TWO), folder / "out"
    Experiment.read(path).run(out)
    match change:
        case "run":
            (out / "runs" / "lm.run").write_text("q1 Q0 x 1 1.0 lm\n")
        case "manifest":
            (out / "manifest.json").write_text("[1")
        case "topics":
            (folder / "topics.tsv").write_text("q1\tspace ships\n")
        case "depth":
            written(folder, films, TWO, more="depth = 2")
    asked = asked_of(monkeypatch)
    found = Experiment.read(path).run(out)
    assert not found.runs["lm"].kept
    assert found.runs["plain"].kept == (change == "run")
    assert asked


def test_an_interrupted_run_goes_on(folder, films, monkeypatch):
    path, out = written(folder, films, TWO), folder / "out"
    here = QuerySystem._in_process

    def stopped(self, todo):
        for number, answer in enumerate(here(self, todo)):
            if self._query.name == "lm" and number == 2:
                raise KeyboardInterrupt
            yield answer

    monkeypatch.setattr(QuerySystem, "_in_process", stopped)
    with pytest.raises(KeyboardInterrupt):
        Experiment.read(path).run(out)
    monkeypatch.setattr(QuerySystem, "_in_process", here)
    kept = out / ".work" / "lm.jsonl"
    kept.write_text(kept.read_text() + '{"topic": "q3", "rank')  # killed while it wrote
    asked = asked_of(monkeypatch)
    found = Experiment.read(path).run(out)
    assert asked == ["q3", "x-4"]
    assert found.runs["plain"].kept
    assert not kept.exists()
    whole = Experiment.read(path).run(folder / "other")
    assert found.means() == whole.means()
    assert (out / "runs" / "lm.run").read_bytes() == (folder / "other" / "runs" / "lm.run").read_bytes()


def test_jobs_change_nothing_but_time(folder, films):
    path = written(folder, films, TWO)
    one, two = Experiment.read(path).run(folder / "one"), Experiment.read(path).run(folder / "two", jobs=2)
    assert one.means() == two.means()
    for name in ("plain", "lm"):
        runs = [(folder / out / "runs" / f"{name}.run").read_bytes() for out in ("one", "two")]
        assert runs[0] == runs[1]
    notes = [note for note in two.notes() if "parallel" in note]
    told = "up to 2 topics ran in parallel, so that each took longer than alone"
    assert notes == [f"{name}: {told}" for name in ("plain", "lm")]
    assert not [note for note in one.notes() if "parallel" in note]


def test_an_error_in_another_process_is_told(folder, films):
    (folder / "only.tsv").write_text(f"q1\t<{F}Alien>\nq3\t<no IRI>\n")
    query = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(?e = $only) } RANK BY ?s"
    path = written(folder, films, f"[values]\nonly = 'only.tsv'\n[systems]\nbad = '{query}'")
    with pytest.raises(HybridkgError, match=r"no IRI.*system bad, topic q3"):
        Experiment.read(path).run(folder / "out", jobs=2)


def test_a_mistake_in_the_last_query_shows_before_the_first_is_asked(folder, films, monkeypatch):
    asked = asked_of(monkeypatch)
    path = written(folder, films, TWO + "bad = 'SELECT ?e { ?e MATCH $text ON (lable) AS ?s } RANK BY ?s'\n")
    with pytest.raises(HybridkgError, match=r"no field 'lable'.*system bad"):
        Experiment.read(path).run(folder / "out")
    assert not asked


def test_values_of_topics_and_of_systems(folder, films):
    (folder / "years.tsv").write_text(f"q1\t<{F}Odyssey>\nq2\t<{F}Odyssey>\nq3\t<{F}SevenSamurai>\nx-4\t<{F}Alien>\n")
    query = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(?e = $only) } RANK BY ?s"
    systems = f"[values]\nonly = 'years.tsv'\n[systems]\nown = '{query}'\n[systems.same]\nquery = '{query}'\n"
    path = written(folder, films, systems + "[systems.same.params]\nonly = 'nothing'\n")
    found = Experiment.read(path).run()
    assert found.runs["own"].run.documents("q1") == [F + "Odyssey"]
    assert found.runs["own"].run.documents("q2") == []
    assert not any(found.runs["same"].run.rankings.values())


def test_runs_and_tuned_models(folder, films):
    plain = Experiment.read(written(folder, films, TWO)).run(folder / "out")
    (folder / "folds.json").write_text(
        json.dumps({"0": {"training": ["q1", "q2"], "testing": ["q3", "x-4"]},
                    "1": {"training": ["q3", "x-4"], "testing": ["q1", "q2"]}})
    )  # fmt: skip
    systems = "[systems.read]\nrun = 'out/runs/plain.run'\n[systems.tuned]\ntune = { model = 'bm25f', restarts = 1 }\n"
    path = written(folder, films, systems, more="folds = 'folds.json'")
    found = Experiment.read(path).run(folder / "second")
    assert found.means()["read"] == plain.means()["plain"]
    assert found.means()["tuned"]["mrr"] > 0
    assert all(one.kept for one in Experiment.read(path).run(folder / "second").runs.values())
    with pytest.raises(ConfigError, match="needs folds"):
        Experiment.read(written(folder, films, systems)).run()


@pytest.mark.parametrize(
    ("value", "tolerance", "found", "verdict"),
    [(0.46, 0.01, 0.47, "OK"), (0.46, 0.01, 0.4701, "close"), (0.46, 0.01, 0.43, "close"), (0.46, 0.01, 0.4299, "off")],
)
def test_verdicts(value, tolerance, found, verdict):
    assert PublishedFigure("ndcg@10", value, tolerance).verdict(found) == verdict


def test_the_report(folder, films, tmp_path):
    systems = (
        TWO + '[systems.wide]\nquery = """' + PLAIN + '"""\nabout = "<b>bold</b> | `x`"\nexpected = { mrr = 0.5 }\n'
    )
    path = written(folder, films, systems, more='title = "<script>alert(1)</script>"\nbaseline = "plain"')
    found = Experiment.read(path).run(folder / "out")
    files, missing = write_report(found, folder / "out")
    assert not missing
    assert {file.name for file in files} >= {
        "report.md",
        "report.html",
        "report.json",
        "topics-lm.svg",
        "categories.svg",
    }
    markdown, html = ((folder / "out" / f"report.{kind}").read_text() for kind in ("md", "html"))
    assert "| wide | mrr | 0.5000 | 1.0000 | +0.5000 | 0.01 | off |" in markdown
    assert "<script>" not in html
    assert "<b>" not in html
    assert html.count("<svg") == 3
    write_report(Experiment.read(path).run(folder / "out"), folder / "out")
    assert (folder / "out" / "report.html").read_text() == html
    assert json.loads((folder / "out" / "report.json").read_text())["expected"][0]["verdict"] == "off"


def test_the_command(folder, films, monkeypatch):
    path = written(folder, films, TWO)
    ran = CliRunner().invoke(cli, ["run", str(path)])
    assert ran.exit_code == 0, ran.output
    assert "plain     1.0000" in " ".join(ran.output.split("\n")) or "plain" in ran.output
    assert (folder / "films.results" / "report.html").exists()
    again = CliRunner().invoke(cli, ["run", str(path), "--jobs", "2"])
    assert "lm: unchanged, not run again" in again.output
    assert CliRunner().invoke(cli, ["run", str(folder / "none.toml")]).exit_code == 2


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("kb = 3", "'kb' must be a path", 1),
        ("kb = 'x'\nbaselin = 'a'", "did you mean 'baseline'", 2),
        (
            "topics = 't'\nqrels = 'q'\n[systems.a]\nquery = 'x'\nrun = 'y'",
            "a system is one of: ask, file, learn, missing",
            3,
        ),
        ("topics = 't'\nqrels = 'q'\n[systems.a]\nquery = 'x'\nexpect = 3", "did you mean 'expected'", 5),
        ("topics = 't'\nqrels = 'q'\n[systems.'../a']\nquery = 'x'", "cannot name a system", 3),
        ("topics = 't'\nqrels = 'q'\ndepth = 0\n[systems.a]\nquery = 'x'", "'depth' must be from 1", 3),
        ("topics = 't'\nqrels = 'q'\nbaseline = 'b'\n[systems]\na = 'x'", "the baseline 'b' is not a system", 3),
        ("topics = 't'\nqrels = 'q'\n[systems.a]\ntune = { modl = 'bm25' }", "did you mean 'model'", 4),
        ("topics = 't'\n[systems]\na = 'x'", "needs 'qrels'", None),
        ("topics = ", "not TOML", None),
    ],
)
def test_mistakes_in_the_file_are_shown_with_their_line(tmp_path, text, message, line):
    path = tmp_path / "e.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Experiment.read(path)
    assert message in str(caught.value)
    assert line is None or f"e.toml:{line}" in str(caught.value)


def test_queries_that_ask_nothing_of_the_topic_are_refused(films):
    for query, message in (
        ("SELECT ?e ?s { ?e MATCH 'space' AS ?s } RANK BY ?s", "answers every topic alike"),
        ("SELECT ?e ?s { ?e MATCH $txt AS ?s } RANK BY ?s", r"needs a value for \$txt"),
    ):
        with pytest.raises(ParameterError, match=message):
            Experiment(films, {"a": query}, TOPICS, QRELS).run()
    with pytest.raises(ParameterError, match="no topic is judged"):
        Experiment(films, {"a": PLAIN}, {"z": "space"}, QRELS)
    with pytest.raises(ParameterError, match="cannot name a system"):
        Experiment(films, {"../a": PLAIN}, TOPICS, QRELS)


def test_frames(films):
    pd = pytest.importorskip("pandas")
    topics = pd.DataFrame({"qid": list(TOPICS), "query": list(TOPICS.values())})
    rows = [(topic, node, grade) for topic, own in QRELS.items() for node, grade in own.items()]
    qrels = pd.DataFrame(rows, columns=["qid", "docno", "label"])
    run = Run("given", {"q1": ((F + "Alien", 2.0), (F + "Odyssey", 1.0))})
    systems = {"plain": PLAIN, "lm": SystemSpec("", "query", LM), "given": run}
    found = Experiment(films, systems, topics, qrels, measures=["ndcg@10", "mrr"]).run()
    frame = found.to_dataframe()
    assert frame.loc["given", "mrr"] == 0.125
    per_topic = found.per_topic()
    assert len(per_topic) == 12
    assert per_topic.groupby("system")["mrr"].mean().to_dict() == frame["mrr"].to_dict()
    assert set(found.comparisons()["run"]) == {"lm", "given"}
    assert found.plot_differences("lm").axes
    assert found.plot_categories("mrr").axes
    with pytest.raises(ParameterError, match="no column 'docno'"):
        Experiment(films, systems, topics, topics)


def test_a_query_is_a_transformer(films):
    pd = pytest.importorskip("pandas")
    from hybridkg.evaluation.experiment.frames import run_from, run_to_frame
    from hybridkg.evaluation.pyterrier import HybridQuery

    topics = pd.DataFrame({"qid": list(TOPICS), "query": list(TOPICS.values())})
    found = HybridQuery(films, PLAIN, depth=3).transform(topics)
    assert list(found.columns) == ["qid", "query", "docno", "score", "rank"]
    assert found[found.qid == "q2"]["docno"].tolist() == [F + "TheMartian"]
    assert found["rank"].max() == 2
    run = run_from(found)
    assert run_to_frame(run)["docno"].tolist() == found["docno"].tolist()
    whole = Experiment(films, {"plain": PLAIN, "transformed": run}, topics, QRELS, depth=3, measures=["ndcg@10"]).run()
    assert whole.means()["plain"] == whole.means()["transformed"]
    only = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(?e = $only) } RANK BY ?s"
    narrowed = HybridQuery(films, only).transform(topics.assign(only=f"<{F}Alien>"))
    assert set(narrowed["docno"]) == {F + "Alien"}
    assert HybridQuery(films, PLAIN).transform(topics.iloc[:0]).empty
