"""Experiments in trouble: processes that die, files that change, names and texts that mean something to somebody."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from sampling import sampled

from hybridkg import KnowledgeBase
from hybridkg.errors import ConfigError, HybridkgError, LockedError, ParameterError, StorageError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.answers import Answers, Told, TopicRanking
from hybridkg.evaluation.experiment.asked import AskedSystem
from hybridkg.evaluation.experiment.document import Code, Heading, Paragraph, ReportTable, to_html, to_markdown
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.evaluation.experiment.stored import Stored

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
F = "http://example.org/films/"
TOPICS = {"q1": "space travel", "q2": "mars astronaut", "q3": "samurai village"}
QRELS = {"q1": {F + "Odyssey": 2, F + "Alien": 0}, "q2": {F + "TheMartian": 2}, "q3": {F + "SevenSamurai": 1}}
PLAIN = "SELECT ?e ?s { ?e MATCH $text AS ?s } RANK BY ?s"
LM = "SELECT ?e ?s { ?e MATCH $text USING lm AS ?s } RANK BY ?s"
NONE = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(false) } RANK BY ?s"
ENDLESS = """SELECT ?e ?s { ?e MATCH $text AS ?s . { SELECT (COUNT(*) AS ?n) {
  ?a ?p ?b . ?c ?q ?d . ?f ?r ?g . ?h ?t ?i . ?j ?u ?k FILTER(?a != ?d && ?g != ?i && ?b != ?k) } } } RANK BY ?s"""


@pytest.fixture
def films(tmp_path, copy_films):
    return copy_films(tmp_path / "films.kb")


def written(folder, systems, more=""):
    (folder / "topics.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in TOPICS.items()))
    lines = [f"{topic} 0 {node} {grade}\n" for topic, own in QRELS.items() for node, grade in own.items()]
    (folder / "qrels.txt").write_text("".join(lines))
    path = folder / "e.toml"
    path.write_text(f'kb = "films.kb"\ntopics = "topics.tsv"\nqrels = "qrels.txt"\n{more}\n{systems}\n')
    return path


def test_a_system_that_finds_nothing(films, tmp_path):
    path = written(tmp_path, f"[systems]\nnone = '{NONE}'\nplain = '{PLAIN}'")
    for kept in (False, True):
        found = Experiment.read(path).run(tmp_path / "out")
        assert found.runs["none"].kept == kept
        assert set(found.means()["none"].values()) == {0.0}
        assert "none: 3 topics without an answer, counted as 0" in found.notes()


@pytest.mark.parametrize("jobs", sampled([1, 2], 2))
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_queries_and_processes(films, tmp_path, jobs):
    path = written(tmp_path, f"[systems]\nplain = '{PLAIN}'\nendless = '''{ENDLESS}'''")
    command = [sys.executable, "-m", "hybridkg", "run", str(path), "--jobs", str(jobs)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as ran:
        kept = tmp_path / "e.results" / ".work" / "endless.jsonl"
        until = time.monotonic() + 120
        while not (kept.exists() and len(_at_work(ran.pid, films)) == jobs) and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.2)
        os.killpg(ran.pid, signal.SIGINT)  # as a terminal does: to all of them
        _, told = ran.communicate(timeout=120)
    assert ran.returncode == 130
    assert told.startswith("interrupted\nfinished topics are in ")
    assert len(told.splitlines()) == 2
    assert json.loads((tmp_path / "e.results" / "manifest.json").read_text())["systems"].keys() == {"plain"}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes")
def test_processes_end_with_the_one_that_started_them(films, tmp_path):
    path = written(tmp_path, f"[systems]\nendless = '''{ENDLESS}'''")
    command = [sys.executable, "-m", "hybridkg", "run", str(path), "--jobs", "2"]
    with subprocess.Popen(command, start_new_session=True) as ran:
        until = time.monotonic() + 120
        while len(_at_work(ran.pid, films)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(_workers(ran.pid)) == 2
        ran.kill()
    until = time.monotonic() + 120
    while _workers(ran.pid) and time.monotonic() < until:
        time.sleep(0.1)
    assert not _workers(ran.pid)


def _workers(session):
    """Processes of a session that work for its first."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == session:
                found += [entry.name] if b"spawn_main" in (entry / "cmdline").read_bytes() else []
        except OSError:
            continue
    return found


def _at_work(session, kb):
    """Processes of a session that have opened a knowledge base: the first where it works itself, else its workers."""
    found = _workers(session) or [str(session)]
    return [process for process in found if _has_open(process, kb)]


def _has_open(process, folder):
    try:
        return any(file.readlink().is_relative_to(folder) for file in Path("/proc", process, "fd").iterdir())
    except OSError:  # it has ended or closed a file meanwhile
        return False


def test_a_process_that_dies(films, tmp_path, monkeypatch):
    monkeypatch.setattr("hybridkg.evaluation.experiment.workers._work", os.getenv)  # ends at once: wrong arguments
    path = written(tmp_path, f"[systems]\nplain = '{PLAIN}'")
    with pytest.raises(StorageError, match="a process that answered topics of 'plain' has died"):
        Experiment.read(path).run(tmp_path / "out", jobs=2)


def test_one_run_at_a_time(films, tmp_path):
    path = written(tmp_path, f"[systems]\nplain = '{PLAIN}'")
    with Stored(tmp_path / "out").locked(), pytest.raises(LockedError, match="another run is writing"):
        Experiment.read(path).run(tmp_path / "out")
    assert Experiment.read(path).run(tmp_path / "out").means()


def test_a_knowledge_base_that_changes_meanwhile(films, tmp_path):
    with KnowledgeBase.open(films) as kb:
        asked = AskedSystem("plain", films, "another hash", PLAIN, "plain", None, 10)
        with pytest.raises(StorageError, match="changed during the experiment"):
            asked.open()
        kb.load(FILMS.parent / "films.ttl", index=True)
    path = written(tmp_path, f"[systems]\nplain = '{PLAIN}'")
    Experiment.read(path).run(tmp_path / "out")
    settings = films / "kb.toml"
    settings.write_text(settings.read_text().replace('default_graph = "default"', 'default_graph = "union"'))
    assert not Experiment.read(path).run(tmp_path / "out").runs["plain"].kept
    settings.write_text(settings.read_text() + "[limits]\ntimeout = 60\n")
    assert Experiment.read(path).run(tmp_path / "out").runs["plain"].kept


def test_a_file_of_parameters_that_changes(films, tmp_path, monkeypatch):
    (films / "models").mkdir()
    model = films / "models" / "m.toml"
    model.write_text('model = "bm25f"\n[arguments]\nk1 = 1.0\n')
    path = written(tmp_path, "[systems]\nm = 'SELECT ?e ?s { ?e MATCH $text USING bm25f(@m.toml) AS ?s } RANK BY ?s'")
    Experiment.read(path).run(tmp_path / "out")
    assert Experiment.read(path).run(tmp_path / "out").runs["m"].kept
    model.write_text('model = "bm25f"\n[arguments]\nk1 = 1.5\n')
    assert not Experiment.read(path).run(tmp_path / "out").runs["m"].kept
    answer = AskedSystem.answer

    def changing(self, prepared, topic, values):
        model.write_text(f'model = "bm25f"\n[arguments]\nk1 = {time.time()}\n')
        return answer(self, prepared, topic, values)

    model.write_text('model = "bm25f"\n[arguments]\nk1 = 1.7\n')
    monkeypatch.setattr(AskedSystem, "answer", changing)
    with pytest.raises(StorageError, match="a file that 'm' reads changed during the experiment"):
        Experiment.read(path).run(tmp_path / "out")


@pytest.mark.parametrize("text", ['{"systems": []}', '{"systems": {"plain": 3}}', "[]", "[" * 100_000, "\xff"])
def test_a_manifest_that_is_none(films, tmp_path, text):
    path, out = written(tmp_path, f"[systems]\nplain = '{PLAIN}'"), tmp_path / "out"
    Experiment.read(path).run(out)
    (out / "manifest.json").write_text(text, encoding="latin-1")
    assert not Experiment.read(path).run(out).runs["plain"].kept


def test_a_manifest_with_wrong_figures(films, tmp_path):
    path, out = written(tmp_path, f"[systems]\nplain = '{PLAIN}'"), tmp_path / "out"
    Experiment.read(path).run(out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["systems"]["plain"]["topics"]["q1"]["ms"] = "long"
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert not Experiment.read(path).run(out).runs["plain"].kept


def test_answers_that_were_kept_survive_what_comes_after_them(tmp_path):
    path = tmp_path / "a.jsonl"
    with Answers(path, "key") as answers:
        answers.add(TopicRanking("q1", (("d\ud800", 1.5),), Told(3.0, jobs=2)))
    path.write_bytes(path.read_bytes() + b'{"topic": "q2", "rank\n')
    with Answers(path, "key") as answers:
        assert answers.found == {"q1": TopicRanking("q1", (("d\ud800", 1.5),), Told(3.0, jobs=2))}
        answers.add(TopicRanking("q2", ()))
    assert list(Answers(path, "key").found) == ["q1", "q2"]
    assert not Answers(path, "another key").found
    with pytest.raises(StorageError, match="writing"), Answers(tmp_path / "none" / "a.jsonl", "key"):
        pass


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_is_told(tmp_path):
    answers = Answers(tmp_path / "a.jsonl", "key")
    with pytest.raises(StorageError, match="the disk is full"), answers:  # noqa: PT012 - it ends at the first write
        assert answers._file
        answers._file.close()
        answers._file = Path("/dev/full").open("wb")  # noqa: SIM115 - the answers close it
        answers.add(TopicRanking("q1", ()))


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("ASK { ?e MATCH $text }", "makes no ranking"),
        ("CONSTRUCT { ?e a ?e } WHERE { ?e MATCH $text }", "makes no ranking"),
        ("EXPLAIN " + PLAIN, "makes no ranking"),
        ("SELECT ?e { ?e MATCH $text }", "makes no ranking"),
        (PLAIN.replace("$text", "$text ON (lable)"), "no field 'lable'"),
        (PLAIN.replace(" }", " FILTER(?e = $x) }"), r"needs a value for \$x"),
        (PLAIN.replace("$text", "$text USING bm25f(@none.toml)"), "no file of parameters"),
    ],
)
def test_mistakes_show_before_anything_is_asked(films, tmp_path, query, message):
    with pytest.raises(HybridkgError, match=message):
        Experiment(films, {"first": PLAIN, "second": query}, TOPICS, QRELS).run(tmp_path / "out")
    assert not list((tmp_path / "out" / "runs").iterdir())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (f"depth = {'9' * 5000}", "not TOML"),
        (f"depth = {'9' * 4000}", "very many digits"),
        ("x = " + "[" * 3000, "not TOML"),
        (f"[systems.a]\nrun = 'x'\nexpected = {{ mrr = {'9' * 400} }}", "'mrr' must be a number"),
        ("[systems.a]\nrun = 'x'\ntolerance = -1", "at least 0"),
        ("[systems.a]\nquery = 'x'\nparams = { x = { y = 1 } }", "a value or a list"),
        ("[systems.a]\nquery = 'x'\nparams = { x = [[1]] }", "a value or a list"),
    ],
)
def test_strange_values_in_the_file(tmp_path, more, message):
    with pytest.raises(ConfigError, match=message):
        Experiment.read(written(tmp_path, more))


def test_params_are_written_as_behind_param(films, tmp_path):
    query = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(?e = $only) } RANK BY ?s"
    lines = [f"[systems.{name}]\nquery = '{query}'\nparams = {{ only = {value} }}\n" for name, value in (
        ("iri", f"'<{F}Odyssey>'"), ("list", f"['<{F}Odyssey>', '<{F}TheMartian>']"), ("word", "'Odyssey'")
    )]  # fmt: skip
    found = Experiment.read(written(tmp_path, "".join(lines))).run()
    assert [sum(map(len, one.run.rankings.values())) for one in found.runs.values()] == [1, 2, 0]


def test_options_in_python(films):
    only = {"only": {"q1": f"<{F}Odyssey>"}}
    query = "SELECT ?e ?s { ?e MATCH $text AS ?s FILTER(?e = $only) } RANK BY ?s"
    found = Experiment(str(films), {"a": query}, TOPICS, QRELS, measures="mrr", values=only).run()
    assert found.means() == {"a": {"mrr": 1 / 3}}
    for options, message in (
        ({"depth": 0}, "'depth' must be from 1"),
        ({"permutations": 0}, "'permutations' must be from 1"),
        ({"values": {"text": {}}}, "texts of the topics"),
    ):
        with pytest.raises(ParameterError, match=message):
            Experiment(films, {"a": PLAIN}, TOPICS, QRELS, **options)
    with pytest.raises(ParameterError, match="differ in capitals only"):
        Experiment(films, {"a": PLAIN, "A": LM}, TOPICS, QRELS)


def test_what_the_figures_leave_out_is_told(films, tmp_path):
    topics = {**TOPICS, "unjudged": "space"}
    qrels = {**QRELS, "unasked": {F + "Alien": 1}}
    elsewhere = {"q1": {"http://other/x": 1}, "q2": {"http://other/y": 1}}
    found = Experiment(films, {"a": PLAIN, "b": LM}, topics, qrels, depth=5, measures=["map@10"]).run()
    notes = found.notes()
    assert "1 of 4 topics are not judged, and left out" in notes
    assert "1 judged topics have no text, and are left out (hybridkg eval would count them as 0)" in notes
    assert "rankings end before map@10 would: depth is 5" in notes
    strange = Experiment(films, {"a": PLAIN}, TOPICS, elsewhere, depth=5).run().notes()
    assert any("no document judged, such as 'http://example.org/films/" in note for note in strange)


def test_categories_are_no_comparisons_and_the_pool_no_quality(films, tmp_path):
    systems = {"all": PLAIN, "categories": LM, "x": LM}
    found = Experiment(films, systems, TOPICS, QRELS, measures=["judged@10", "mrr"], by="prefix").run(tmp_path / "out")
    assert found.comparison is not None
    assert [(one.measure, one.run) for one in found.comparison.comparisons] == [("mrr", "categories"), ("mrr", "x")]
    files, _ = write_report(found, tmp_path / "out")
    assert len(set(files)) == len(files) == 6
    text = (tmp_path / "out" / "report.md").read_text()
    assert "mrr of categories minus that of all" in text
    assert "plots/categories.svg" in text


def test_names_and_texts_are_no_markup(films, tmp_path, recwarn):
    evil = "\x1b[31m\x9b1m<script>|`a` $x^$ **b** ![i](http://e/i.png)"
    categories = tmp_path / "c.tsv"
    categories.write_text(f"q1\t$x^$<b>\nq2\t\x1b[31m\u65e5\u672c\nq3\t_{evil}\n")
    systems = {"a": PLAIN, "b": LM.replace("?s }", "?s } # \x1b[31m ```\n")}
    topics = {topic: f"{text} {evil}" for topic, text in TOPICS.items()}
    found = Experiment(films, systems, topics, QRELS, title=evil, about="1. " + evil, by=categories).run()
    files, missing = write_report(found, tmp_path)
    assert not missing
    assert not [one for one in recwarn if "Glyph" in str(one.message)]
    for file in files:
        text = file.read_text(encoding="utf-8")
        if file.suffix != ".json":
            assert "\x1b" not in text
            assert "\x9b" not in text
            assert "<script" not in text.replace("\\<script", "")
        if file.suffix == ".svg":
            ET.fromstring(text)
    assert "\\!" not in (tmp_path / "report.md").read_text()
    assert "](http" not in (tmp_path / "report.md").read_text().replace("\\](http", "")


def test_marks_of_markdown():
    parts = [
        Heading("a_b", 1),
        Paragraph("- &lt; $x$ R&D"),
        ReportTable(("x",), (("-0.5",), ("a|b",))),
        Code("a\x1b```"),
    ]
    assert to_markdown(parts).splitlines() == [
        "# a\\_b", "", "\\- \\&lt; \\$x\\$ R&D", "", "| x |", "| --- |", "| -0.5 |", "| a\\|b |", "",
        "````", "a\ufffd```", "````",
    ]  # fmt: skip
    assert "\x1b" not in to_html("\x1b", parts)


def test_a_tuned_model_is_kept_and_told(films, tmp_path, monkeypatch):
    folds = {"0": {"training": ["q1", "q2"], "testing": ["q3"]}, "1": {"training": ["q3"], "testing": ["q1", "q2"]}}
    (tmp_path / "folds.json").write_text(json.dumps(folds))
    tuned = "[systems.tuned]\ntune = { model = 'bm25f', restarts = 1 }"
    path = written(tmp_path, tuned, more="folds = 'folds.json'")
    found = Experiment.read(path).run(tmp_path / "out")
    assert found.runs["tuned"].told["q1"].plan == found.runs["tuned"].told["q2"].plan
    assert 'model = "bm25f"' in found.runs["tuned"].told["q3"].plan
    write_report(found, tmp_path / "out")
    learned = (tmp_path / "out" / "report.md").read_text().partition("What tuned has learned in each fold")[2]
    assert "|  | fold 0 | fold 1 |" in learned
    assert "| topics, training + test | 2 + 1 | 1 + 2 |" in learned
    assert "| training, learned | 1.0000 | 1.0000 |" in learned
    shutil.rmtree(tmp_path / "out" / "runs")
    again = Experiment.read(path).run(tmp_path / "out")
    assert not again.runs["tuned"].kept
    assert again.means() == found.means()
