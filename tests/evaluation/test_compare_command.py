"""`hybridkg compare` as a user meets it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from hybridkg.cli import cli
from hybridkg.cli.compare import compare as command
from hybridkg.errors import ParameterError
from hybridkg.evaluation.comparison import compare, compare_values
from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.qrels import Qrels, read_qrels
from hybridkg.evaluation.run import Run, read_run, write_run
from hybridkg.evaluation.significance import TESTS

TOPICS = [f"{kind}-{i}" for kind in ("INEX_LD", "QALD2_te") for i in range(10)]


def run(*arguments: object, width: int = 80) -> Result:
    result = CliRunner().invoke(
        cli, ["compare", *(str(a) for a in arguments)], catch_exceptions=False, env={"COLUMNS": str(width)}
    )
    assert "Traceback" not in result.output
    return result


def ranking(rank: int) -> tuple[tuple[str, float], ...]:
    """The relevant document on this rank."""
    return tuple((f"x{i}" if i != rank else "good", -float(i)) for i in range(1, 6))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Judgements and two runs: the second wins the INEX topics, and ties or loses those of QALD2."""
    (tmp_path / "qrels.txt").write_text("".join(f"{t} 0 good 1\n" for t in TOPICS))
    old = {t: ranking(2) for t in TOPICS}
    new = {t: ranking(1 if i < 10 else 2 if i < 18 else 4) for i, t in enumerate(TOPICS)}
    for name, rankings in (("old", old), ("new", new)):
        write_run(Run(name, rankings), tmp_path / f"{name}.run")
    return tmp_path / "qrels.txt", tmp_path / "old.run", tmp_path / "new.run"


def test_two_runs_by_hand(files):
    qrels, old, new = files
    result = run(old, new, "--qrels", qrels, "-m", "mrr")
    assert result.exit_code == 0
    head, base, other, *_ = result.stdout.splitlines()
    assert head.split() == ["mrr", "mean", "diff", "95", "%", "interval", "p", "Holm", "p", "W/T/L"]
    assert base.split() == ["old", "0.5000"]
    # ten gains of .5, two losses of .25: 4.5 / 20; of the 4,096 swaps 4.5 or more are left by
    # no loss of .5 (4: the two of .25 either way) or one (10: with both of .25 gained), on either side: 28 / 4,096
    assert other.split()[:3] == ["new", "0.7250", "+0.2250"]
    assert other.split()[5:] == ["0.0068", "0.0068", "10/8/2"]
    assert "all permutations counted" in result.stdout
    assert "Holm over 1 comparison;" in " ".join(result.stdout.split())


def test_categories_stand_under_the_total_and_count_in_the_correction(files):
    qrels, old, new = files
    lines = run(old, new, "--qrels", qrels, "-m", "mrr", "--by", "prefix").stdout.splitlines()
    assert [line for line in lines if "topics" in line] == ["all, 20 topics", "INEX_LD, 10 topics", "QALD2, 10 topics"]
    inex = lines[lines.index("INEX_LD, 10 topics") + 2].split()
    assert inex[2:7] == ["+0.5000", "+0.5000", "+0.5000", "0.0020", "0.0059"]  # 2 / 1,024, times 3
    assert "Holm over 3 comparisons" in " ".join(lines)


def test_a_file_of_categories_need_not_name_all(files, tmp_path):
    qrels, old, new = files
    (tmp_path / "c.tsv").write_text(f"{TOPICS[0]}\tmine\n")
    lines = run(old, new, "--qrels", qrels, "-m", "mrr", "--by", tmp_path / "c.tsv").stdout.splitlines()
    assert "mine, 1 topic" in lines
    assert "(none), 19 topics" in lines


@pytest.mark.parametrize("fmt", ["csv", "tsv"])
def test_separated_formats_hold_one_line_for_each_comparison(files, fmt):
    qrels, old, new = files
    result = run(old, new, "--qrels", qrels, "--format", fmt, "--by", "prefix", "--test", "t")
    rows = list(csv.DictReader(io.StringIO(result.stdout), delimiter="," if fmt == "csv" else "\t"))
    assert len(rows) == 5 * 3
    assert rows[0]["measure"] == "ndcg@10"
    assert rows[1]["group"] == "INEX_LD"
    assert (rows[0]["wins"], rows[0]["ties"], rows[0]["losses"], rows[0]["exact"]) == ("10", "8", "2", "true")
    assert "paired t-test, two-sided; Holm over 15 comparisons" in result.stderr
    topics = run(old, new, "--qrels", qrels, "-m", "mrr", "--format", fmt, "--per-topic").stdout
    rows = list(csv.DictReader(io.StringIO(topics), delimiter="," if fmt == "csv" else "\t"))
    assert [row["difference"] for row in rows] == ["0.5000"] * 10 + ["0.0000"] * 8 + ["-0.2500"] * 2


def test_json_says_everything_and_the_api_says_the_same(files):
    qrels, old, new = files
    found = json.loads(run(old, new, "--qrels", qrels, "-m", "mrr", "--format", "json", "--seed", 4).stdout)
    runs = {"old": read_run(old), "new": read_run(new)}
    report = compare(read_qrels(qrels), runs, [parse_measure("mrr")], seed=4)
    assert found == json.loads(json.dumps(report.to_json()))
    assert (found["test"], found["permutations"], found["seed"]) == ("randomisation", 100_000, 4)
    with_topics = json.loads(run(old, new, "--qrels", qrels, "-m", "mrr", "--format", "json", "--per-topic").stdout)
    assert [row["topic"] for row in with_topics["per_topic"]][-2:] == ["QALD2_te-8", "QALD2_te-9"]
    values = {name: evaluate(read_qrels(qrels), run, [parse_measure("mrr")]) for name, run in runs.items()}
    assert compare_values(values, seed=4) == report


def test_topics_are_listed_from_the_largest_gain_to_the_largest_loss(files):
    qrels, old, new = files
    lines = run(old, new, "--qrels", qrels, "-m", "mrr", "--per-topic").stdout.splitlines()
    start = lines.index("mrr of new - old, largest gain first")
    assert lines[start + 2].split() == ["INEX_LD-0", "0.5000", "1.0000", "+0.5000"]
    assert lines[-1].split() == ["QALD2_te-9", "0.5000", "0.2500", "-0.2500"]


@pytest.mark.parametrize("width", [80, 60, 30])
def test_it_fits_the_terminal(files, width, tmp_path):
    qrels, old, new = files
    long = tmp_path / "long.run"
    write_run(Run("a-run-with-a-long-name.2026-11", read_run(new).rankings), long)
    text = run(old, new, long, "--qrels", qrels, "-m", "ndcg@10", "--by", "prefix", "--per-topic", width=width).stdout
    assert max(map(len, text.splitlines())) <= max(width, 34)
    assert "a-run-with-a-long-name.2026-11" in text
    assert (
        text
        == run(old, new, long, "--qrels", qrels, "-m", "ndcg@10", "--by", "prefix", "--per-topic", width=width).stdout
    )


def test_what_a_run_leaves_out_is_told(files, tmp_path):
    qrels, old, _ = files
    write_run(Run("part", {TOPICS[0]: ranking(1), "other-1": ranking(1)}), tmp_path / "part.run")
    result = run(old, tmp_path / "part.run", "--qrels", qrels, "-m", "mrr", "--format", "json")
    assert "part: 19 topics without an answer, counted as 0; 1 topic of the run not judged" in result.stderr
    assert json.loads(result.stdout)["without_answer"] == {"part": 19}
    assert json.loads(result.stdout)["not_judged"] == {"part": 1}


def test_mistakes_are_told(files, tmp_path):
    qrels, old, new = files
    for arguments, message in [
        ((old, "--qrels", qrels), "error[Q203]: a comparison needs two runs or more"),
        ((old, old, "--qrels", qrels), "is given twice"),
        ((old, new, "--qrels", qrels, "-m", "ndgc@10"), "no measure 'ndgc@10'"),
        ((old, new, "--qrels", qrels, "--test", "t", "--permutations", 5), "the t-test draws no permutations"),
        ((old, new, "--qrels", qrels, "--permutations", 10**12), "permutations must be between 1 and 100,000,000"),
        ((old, new, "--qrels", tmp_path / "none"), "no file"),
        ((old, new), "Missing option '--qrels'"),
    ]:
        result = run(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert result.stdout == ""


def test_the_command_offers_every_test():
    (option,) = [p for p in command.params if p.name == "test"]
    assert set(option.type.choices) == set(TESTS)


def test_values_of_other_topics_are_no_comparison():
    with pytest.raises(ParameterError, match="the run 'b' has other measures or topics"):
        compare_values({"a": {"mrr": {"q1": 1.0}}, "b": {"mrr": {"q2": 1.0}}})
    with pytest.raises(ParameterError, match="no topic to compare"):
        compare(Qrels({}), {"a": Run("a", {}), "b": Run("b", {})}, [parse_measure("mrr")])


def test_a_rounding_error_is_a_tie():
    report = compare_values({"a": {"m": {"q1": 0.3, "q2": 0.1}}, "b": {"m": {"q1": 0.1 + 0.2, "q2": 0.1}}})
    found = report.comparisons[0]
    assert (found.wins, found.ties, found.losses, found.p, found.difference) == (0, 2, 0, 1.0, 0.0)


def test_another_run_changes_nothing_but_holms_correction():
    values = {
        name: {"m": {f"q{i}": ((i * k) % 17) / 17 for i in range(40)}} for name, k in [("a", 3), ("b", 5), ("c", 7)]
    }
    alone = compare_values({"a": values["a"], "c": values["c"]}).comparisons[0]
    among = compare_values(values).comparisons[1]
    assert (alone.p, alone.low, alone.high) == (among.p, among.low, among.high)
    assert among.holm_p >= alone.holm_p
