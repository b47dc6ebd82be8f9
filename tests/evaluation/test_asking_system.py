"""Systems that ask in plain words: they answer as `hybridkg ask`, and gold queries grade what they read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.errors import ConfigError
from hybridkg.evaluation.experiment import Experiment
from hybridkg.evaluation.experiment.report import write_report
from hybridkg.evaluation.experiment.spec import SystemSpec
from hybridkg.evaluation.gold_queries import PARTS
from hybridkg.results.formats.trec import ranking

FILMS = Path(__file__).parents[2] / "examples" / "films.ttl"
NS = "http://example.org/films/"
TOPICS = {"1": "films by Ridley Scott", "2": "films by Kubrick about space travel", "3": "a film about a crew in space"}
DIRECTORS = {"1": "Scott", "2": "Kubrick"}
EXPERIMENT = """
kb = "films.kb"
topics = "topics.tsv"
qrels = "qrels.txt"
measures = ["mrr", "hit@1"]

[systems.words]
query = "SELECT ?f {{ ?f MATCH $text AS ?s }} RANK BY ?s"

[systems.ask]
ask = {{ gold = "gold.jsonl" }}

[systems.strict]
ask = "strict"
{more}"""


def gold(number, split, text, director):
    query = f"PREFIX : <{NS}> SELECT DISTINCT ?x {{ ?x a :Film ; :director :{director} }}"
    return json.dumps({"id": number, "split": split, "query": text, "hybridql": query}) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_films):
    path = tmp_path_factory.mktemp("ask")
    with KnowledgeBase.open(copy_films(path / "films.kb")) as kb:
        made = [[str(row["f"]) for row in kb.query(f"SELECT ?f {{ ?f <{NS}director> <{NS}{one}> }}")]
                for one in DIRECTORS.values()]  # fmt: skip
    (path / "topics.tsv").write_text("".join(f"{topic}\t{text}\n" for topic, text in TOPICS.items()))
    judged = [(topic, film) for topic, films in zip(DIRECTORS, made, strict=True) for film in films]
    judged.append(("3", f"{NS}Alien"))
    (path / "qrels.txt").write_text("".join(f"{topic} 0 {film} 1\n" for topic, film in judged))
    lines = [gold(topic, "test", TOPICS[topic], one) for topic, one in DIRECTORS.items()]
    lines += [
        gold("90", "train", "movies made by Ridley Scott", "Scott"),
        gold("91", "train", "movies made by Kubrick", "Kubrick"),
        gold("92", "train", "pictures made by Ridley Scott", "Scott"),
    ]
    (path / "gold.jsonl").write_text("".join(lines))
    return path


def outcome(folder, more="", out=None):
    path = folder / "experiment.toml"
    path.write_text(EXPERIMENT.format(more=more))
    return Experiment.read(path).run(out)


def test_the_rankings_are_those_of_ask_and_the_readings_are_graded(folder, tmp_path):
    found = outcome(folder, out=tmp_path)
    with KnowledgeBase.open(folder / "films.kb") as kb:
        for topic, text in TOPICS.items():
            assert found.runs["ask"].run.rankings[topic] == tuple(ranking(kb.ask(text, limit=1000)))
            strict = kb.interpret(text, limit=1000).strict
            assert bool(found.runs["strict"].run.rankings.get(topic)) == (strict is not None)
    assert found.means()["ask"]["hit@1"] >= found.means()["words"]["hit@1"]
    assert found.runs["ask"].told["1"].parts == dict.fromkeys(PARTS, 1.0)
    assert found.runs["ask"].told["3"].parts == {}
    assert found.runs["ask"].parts()["exec"] == 1.0
    assert found.to_json()["readings"] == {"ask": found.runs["ask"].parts()}
    write_report(found, tmp_path)
    report = (tmp_path / "report.md").read_text()
    assert "Readings of questions" in report
    assert "The query that hybridkg ask makes of each topic (mode = strict)." in report


def test_a_finished_system_is_kept_with_its_grades_until_the_gold_queries_change(folder, tmp_path):
    first, again = outcome(folder, out=tmp_path), outcome(folder, out=tmp_path)
    assert again.runs["ask"].kept
    assert again.runs["ask"].parts() == first.runs["ask"].parts()
    text = (folder / "gold.jsonl").read_text()
    (folder / "gold.jsonl").write_text(text + gold("99", "train", "films of Kubrick", "Kubrick"))
    try:
        changed = outcome(folder, out=tmp_path)
    finally:
        (folder / "gold.jsonl").write_text(text)
    assert (changed.runs["ask"].kept, changed.runs["strict"].kept) == (False, True)


def test_learning_reads_the_questions_of_the_split_train_alone(folder, monkeypatch):
    read = []
    from hybridkg.evaluation.experiment.kinds import ask

    learn = ask.learn
    monkeypatch.setattr(ask, "learn", lambda examples, base: learn(read_all(examples), base))

    def read_all(examples):
        read.extend(examples)
        return read

    outcome(folder, '[systems.learned]\nask = { gold = "gold.jsonl", learn = true }\n')
    assert [one.question for one in read] == [
        "movies made by Ridley Scott", "movies made by Kubrick", "pictures made by Ridley Scott"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("5", "'ask' must be"),
        ('"softly"', "the mode of ask is one of soft, strict, not 'softly'"),
        ('{ mod = "soft" }', "no setting 'mod' of ask"),
        ("{ learn = true }", "learns from the questions of a file"),
        ('{ parser = "llm" }', "needs a model"),
        ('{ model = "m" }', "needs a model"),
        ('{ learn = 1, gold = "gold.jsonl" }', "'learn' of ask cannot be 1"),
        ('{ learn = true, gold = "gold.jsonl", weights = "w.json" }', "one of learn, weights"),
    ],
)
def test_wrong_settings_are_errors_with_their_line(folder, value, message):
    with pytest.raises(ConfigError, match=message) as caught:
        outcome(folder, f"[systems.other]\nask = {value}\n")
    assert "experiment.toml:" in caught.value.place


def test_params_and_strategy_are_refused(folder):
    for more in ({"params": {"k": 1}}, {"strategy": "reference"}):
        spec = SystemSpec("", "ask", {"mode": "soft"}, **more)
        with pytest.raises(ConfigError, match="no params and no strategy"):
            Experiment(folder / "films.kb", {"ask": spec}, TOPICS, {"1": {f"{NS}Alien": 1}}, measures=["mrr"]).run()


def test_questions_to_learn_from_must_not_be_topics(folder, tmp_path):
    (tmp_path / "gold.jsonl").write_text(gold("1", "train", TOPICS["1"], "Scott"))
    spec = SystemSpec("", "ask", {"mode": "soft", "gold": str(tmp_path / "gold.jsonl"), "learn": True})
    with pytest.raises(ConfigError, match="that is no topic"):
        Experiment(folder / "films.kb", {"ask": spec}, TOPICS, {"1": {f"{NS}Alien": 1}}, measures=["mrr"]).run()


def test_the_command_runs_it(folder, tmp_path):
    (folder / "experiment.toml").write_text(EXPERIMENT.format(more=""))
    result = CliRunner().invoke(cli, ["run", str(folder / "experiment.toml"), "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "ask" in result.output
