"""`hybridkg eval` as a user meets it."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hybridkg.cli import cli

QRELS = """\
SemSearch_ES-1 0 a 2
SemSearch_ES-1 0 b 0
INEX_XER-2 0 a 1
INEX_XER-2 0 c 1
QALD2_te-3 0 d 1
"""
GOOD = (
    "SemSearch_ES-1 Q0 a 1 9 good\nSemSearch_ES-1 Q0 x 2 8 good\nINEX_XER-2 Q0 x 1 5 good\nINEX_XER-2 Q0 c 2 4 good\n"
)


def run(*arguments: object, width: int = 80) -> Result:
    result = CliRunner().invoke(
        cli, ["eval", *(str(a) for a in arguments)], catch_exceptions=False, env={"COLUMNS": str(width)}
    )
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "good.run").write_text(GOOD)
    return tmp_path / "qrels.txt", tmp_path / "good.run"


def test_the_default_measures_show_how_far_the_judgements_reach(files):
    result = run(*files)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["condensed-"]
    assert lines[1].split() == ["run", "ndcg@10", "ndcg@100", "map@100", "judged@10", "ndcg@10"]
    assert lines[3].split() == ["good", "0.4623", "0.4623", "0.4167", "0.3333", "0.5377"]
    assert max(map(len, lines)) <= 80
    assert result.stderr == "3 topics\ngood: 1 topic without an answer, counted as 0\n"


def test_topics_that_are_not_judged_are_told(files):
    qrels, good = files
    good.write_text(GOOD + "other-1 Q0 a 1 1 good\nother-2 Q0 a 1 1 good\n")
    result = run(qrels, good, "-m", "mrr")
    assert "good: 1 topic without an answer, counted as 0; 2 topics of the run not judged, left out" in result.stderr
    assert result.stdout.split() == ["run", "mrr", "\u2500" * len(result.stdout.splitlines()[1]), "good", "0.5000"]


def test_categories_stand_under_their_run(files, tmp_path):
    rows = [line.split() for line in run(*files, "-m", "mrr", "-m", "p@2", "--by", "prefix").stdout.splitlines()]
    assert rows[0] == ["run", "topics", "mrr", "p@2"]
    assert rows[2:] == [
        ["good", "3", "0.5000", "0.3333"],
        ["SemSearch_ES", "1", "1.0000", "0.5000"],
        ["ListSearch", "1", "0.5000", "0.5000"],
        ["QALD2", "1", "0.0000", "0.0000"],
    ]
    (tmp_path / "by.tsv").write_text("QALD2_te-3\thard ones\nSemSearch_ES-1\teasy\nunknown\teasy\n")
    text = run(*files, "-m", "mrr", "--by", tmp_path / "by.tsv", "--format", "tsv").stdout
    assert text.splitlines() == [
        "run\tcategory\ttopics\tmrr",
        "good\tall\t3\t0.5000",
        "good\teasy\t1\t1.0000",
        "good\t(none)\t1\t0.5000",
        "good\thard ones\t1\t0.0000",
    ]


def test_each_topic_is_shown_when_asked_for(files):
    result = run(*files, "-m", "mrr", "--per-topic", "--format", "csv")
    assert list(csv.reader(io.StringIO(result.stdout))) == [
        ["run", "topic", "topics", "mrr"],
        ["good", "all", "3", "0.5000"],
        ["good", "SemSearch_ES-1", "1", "1.0000"],
        ["good", "INEX_XER-2", "1", "0.5000"],
        ["good", "QALD2_te-3", "1", "0.0000"],
    ]
    table = [line.split() for line in run(*files, "-m", "mrr", "--per-topic").stdout.splitlines()]
    assert table[2:] == [
        ["good", "0.5000"],
        ["SemSearch_ES-1", "1.0000"],
        ["INEX_XER-2", "0.5000"],
        ["QALD2_te-3", "0.0000"],
    ]


def test_json_has_every_digit_and_the_counts(files):
    document = json.loads(run(*files, "-m", "ndcg@10", "--by", "prefix", "--per-topic", "--format", "json").stdout)
    assert document["measures"] == ["ndcg@10"]
    assert document["topics"] == 3
    [found] = document["runs"]
    assert found["run"] == "good"
    assert (found["topics_without_answer"], found["topics_not_judged"]) == (1, 0)
    assert found["per_topic"]["INEX_XER-2"]["ndcg@10"] == pytest.approx(0.38685280723454163, abs=1e-15)
    assert found["categories"]["ListSearch"] == {"topics": 1, **found["per_topic"]["INEX_XER-2"]}
    assert found["all"]["ndcg@10"] == pytest.approx((1 + 0.38685280723454163) / 3)


def test_runs_of_one_tag_are_told_apart_by_file_and_then_by_path(files, tmp_path):
    qrels, good = files
    (tmp_path / "other.run.gz").write_bytes(gzip.compress(GOOD.encode()))
    assert names(run(qrels, good, tmp_path / "other.run.gz", "-m", "mrr", "--format", "tsv")) == ["good", "other"]
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "good.run").write_text(GOOD)
    found = names(run(qrels, good, tmp_path / "b" / "good.run", "-m", "mrr", "--format", "tsv"))
    assert found == [str(good), str(tmp_path / "b" / "good.run")]


def names(result: Result) -> list[str]:
    return [line.split("\t")[0] for line in result.stdout.splitlines()[1:]]


def test_a_table_too_wide_for_the_terminal_becomes_blocks(files):
    text = run(*files, "-m", "ndcg@10", "-m", "map(rel=2)", "-m", "recall@1000", "-m", "rprec", width=40).stdout
    assert text.splitlines() == [
        "good",
        "    ndcg@10      0.4623",
        "    map(rel=2)   0.3333",
        "    recall@1000  0.5000",
        "    rprec        0.5000",
    ]


def test_names_from_a_file_are_no_markup_and_no_control_characters(files):
    qrels, good = files
    good.write_text(GOOD.replace(" good", " [red]\x1b[2J[/]"))
    result = run(qrels, good, "-m", "mrr")
    assert "\x1b" not in result.output
    assert "[red]\N{REPLACEMENT CHARACTER}[2J[/]" in result.stdout


def test_mistakes_are_told_in_a_line_and_end_with_2(files, tmp_path):
    qrels, good = files
    swapped = run(good, qrels)
    assert swapped.exit_code == 2
    assert "6 columns instead of 4" in swapped.stderr
    assert "the judgements come first, then the runs" in swapped.stderr
    foreign = tmp_path / "foreign.run"
    foreign.write_text("elsewhere Q0 a 1 1 t\n")
    result = run(qrels, foreign)
    assert result.exit_code == 2
    assert "no topic of the run is judged" in result.stderr
    assert "'elsewhere'" in result.stderr
    assert "'SemSearch_ES-1'" in result.stderr
    for arguments in (
        (qrels, good, "-m", "nope"),
        (qrels, tmp_path / "none.run"),
        (qrels,),
        (qrels, good, "--by", "no"),
    ):
        result = run(*arguments)
        assert (result.exit_code, result.stdout) == (2, "")


def test_help_has_an_example():
    assert "hybridkg eval qrels.txt bm25.run bm25f.run -m ndcg@10" in run("--help").stdout


def test_a_run_with_ids_of_another_kind_is_told(files):
    qrels, good = files
    good.write_text("SemSearch_ES-1 Q0 http://e/a 1 9 good\nQALD2_te-3 Q0 http://e/d 1 9 good\n")
    result = run(qrels, good, "-m", "mrr")
    assert "no document judged, such as 'http://e/a': are the ids those of the judgements?" in result.stderr
