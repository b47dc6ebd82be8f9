"""doctor, analyze, schema and completion, as a user meets them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.cells import cell_len

from hybridkg.cli import cli
from hybridkg.cli.diagnosis import Check, _guarded, _kernels, diagnose, healthy, satisfies
from hybridkg.compute import compilation
from hybridkg.compute.kernel_list import KERNELS

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"


def run(*arguments: object, columns: int = 100) -> Result:
    runner = CliRunner(env={"COLUMNS": str(columns)})
    result = runner.invoke(cli, [str(a) for a in arguments], catch_exceptions=False)
    assert "Traceback" not in result.output
    return result


@pytest.fixture(autouse=True, scope="module")
def kernel_is_not_compiled():
    """Loading numba takes a second each time; one test does it."""
    patch = pytest.MonkeyPatch()
    patch.setattr("hybridkg.cli.diagnosis._kernels", lambda: ("ok", "not tried", ""))
    yield
    patch.undo()


# --- doctor ------------------------------------------------------------------------


def test_a_whole_installation_is_healthy(films):
    result = run("doctor", films)
    assert result.exit_code == 0, result.output
    assert "✗" not in result.output.replace("✗ needed", "")
    for name in ("Python", "hybridkg", "pyoxigraph", "cache folder", "grammar", "compiled kernels", "text index"):
        assert f"✓ {name}" in result.output


def test_the_compiled_kernels_are_counted(monkeypatch):
    monkeypatch.setattr(compilation, "compiled", lambda: list(KERNELS))
    state, detail, fix = _kernels()
    assert (state, fix) == ("ok", "")
    assert detail.startswith(f"all {len(KERNELS)} are compiled; the smallest loads in")
    monkeypatch.setattr(compilation, "compiled", lambda: list(KERNELS[:3]))
    state, detail, fix = _kernels()
    assert (state, fix) == ("note", "hybridkg doctor --compile")
    assert detail.startswith(f"3 of {len(KERNELS)} are compiled;")


def test_the_table_fits_sixty_columns_but_for_commands_to_copy(films):
    lines = run("doctor", films, columns=60).output.splitlines()
    # A path has no blank to break it at.
    too_wide = [line for line in lines if cell_len(line) > 60 and "fix:" not in line and "/" not in line]
    assert too_wide == []


def test_every_needed_package_is_looked_at():
    names = {check.name.lower().replace("_", "-") for check in diagnose() if check.part == "installed"}
    needed = [r for r in metadata.requires("hybridkg") or [] if ";" not in r]
    assert len(needed) > 5
    for requirement in needed:
        assert any(requirement.lower().startswith(name) for name in names), requirement


def test_every_absent_or_broken_package_comes_with_its_command(monkeypatch):
    def gone(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("hybridkg.cli.diagnosis.metadata.version", gone)
    checks = [check for check in diagnose() if check.part in ("installed", "optional") and check.name != "Python"]
    assert {check.state for check in checks} == {"broken", "absent"} or not metadata.requires("hybridkg")
    assert all("-m pip install" in check.fix for check in checks)
    assert not healthy(checks)


def test_a_missing_knowledge_base_is_exit_code_1(tmp_path):
    result = run("doctor", tmp_path / "nothing.kb")
    assert result.exit_code == 1
    assert "✗ opens" in result.output
    assert "no knowledge base" in result.output


def test_an_index_that_is_behind_is_a_note_with_the_command(films, tmp_path):
    kb = tmp_path / "it's.kb"
    shutil.copytree(films, kb)
    more = tmp_path / "more.ttl"
    more.write_text("<http://e/a> <http://e/p> 'new' .")
    run("load", kb, more, "--no-index")
    result = run("doctor", kb)
    assert result.exit_code == 0
    assert "! text index" in result.output
    (line,) = [line for line in result.output.splitlines() if "hybridkg index" in line]
    assert line.endswith("films.kb") is False
    assert "'\"'\"'" in line  # the command can be pasted into a shell, whatever the name of the folder


def test_a_damaged_knowledge_base_is_named(films, tmp_path):
    kb = tmp_path / "broken.kb"
    shutil.copytree(films, kb)
    (kb / (kb / "CURRENT").read_text().strip() / "manifest.json").write_text("{")
    result = run("doctor", kb)
    assert result.exit_code == 1
    assert "manifest.json" in result.output


def test_a_cache_that_others_can_write_is_a_note_with_the_command(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("HYBRIDKG_CACHE", str(folder))
    found = {check.name: check for check in diagnose()}
    assert found["cache folder"].state == "note"
    assert found["cache folder"].fix == f"chmod u+rwx,go-w {folder}"
    assert found["grammar"].state == "note"
    assert healthy(list(found.values()))


def test_the_doctor_speaks_of_an_installation_in_which_packages_are_broken(films, tmp_path):
    for package in ("numpy", "pyoxigraph", "rich", "lark"):
        (tmp_path / f"{package}.py").write_text(f"raise ImportError('no shared object', name={package!r})")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "80"}
    command = [sys.executable, "-m", "hybridkg", "doctor", str(films)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert found.returncode == 1
    assert found.stderr == ""
    assert "✗ graph store" in found.stdout
    assert "-m pip install --force-reinstall pyoxigraph" in found.stdout


def test_a_check_that_fails_in_any_way_is_a_finding():
    def fails():
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy.core")

    check = _guarded("works", "x", fails)
    assert (check.state, check.detail) == ("broken", "No module named 'numpy'")
    assert check.fix.endswith("-m pip install --force-reinstall numpy")
    assert _guarded("works", "x", lambda: 1 / 0).detail == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("version", "wanted", "is_met"),
    [
        ("1.10", ">=1.9", True),
        ("1.9", ">=1.10", False),
        ("2.0", "~=1.4", False),
        ("1.5", "~=1.4", True),
        ("1.4.2", "==1.4.*", True),
        ("1.4", "!=1.4", False),
        ("2.0.0", "<2", False),
        ("3.11.7", "<3.14,>=3.11", True),
    ],
)
def test_versions_are_compared_as_pip_does(version, wanted, is_met):
    assert satisfies(version, wanted) is is_met


def test_the_doctor_speaks_json(films):
    found = [Check(**item) for item in json.loads(run("doctor", films, "--format", "json").stdout)]
    assert healthy(found)
    assert found[0].name == "Python"


# --- analyze -----------------------------------------------------------------------


def test_words_terms_and_counts_are_shown(films):
    result = run("analyze", films, "The Crews", "--field", "description")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["word", "term", "description"] in rows
    assert ["Crews", "crew", "3"] in rows


def test_the_counts_are_those_of_the_query(films):
    document = json.loads(run("analyze", films, "space station", "--format", "json").stdout)
    for analysis in document["analyses"]:
        for word in analysis["words"]:
            for field, df in word["df"].items():
                query = f'SELECT (COUNT(*) AS ?n) {{ ?x MATCH "{word["word"]}" ON ({field}) }}'
                (row,) = [
                    json.loads(line) for line in run("query", films, query, "--format", "ndjson").stdout.splitlines()
                ]
                assert row["n"] == df


def test_the_language_chooses_the_stemmer(films):
    assert "german stemmer" in run("analyze", films, "Häuser", "--language", "de-AT").stdout
    assert "no stemmer" in run("analyze", films, "家", "--language", "ja").stdout


def test_an_unknown_field_is_an_error_with_the_known_ones(films):
    result = run("analyze", films, "a", "--field", "lable")
    assert result.exit_code == 2
    assert "no text field 'lable'; known: label, description" in result.stderr
    assert "did you mean 'label'?" in result.stderr


def test_dropped_words_say_so(films, tmp_path):
    profile = tmp_path / "stopped.ttl"
    profile.write_text(
        "@prefix hk: <https://w3id.org/hybridkg/ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        '<#p> a hk:Profile ; hk:fields ( [ hk:name "title" ; hk:path rdfs:label ; hk:analyzer "stopped" ] ) .'
    )
    kb = tmp_path / "stopped.kb"
    indexed = run("load", kb, FILMS, "--index", "--profile", profile)
    assert indexed.exit_code == 0, indexed.output
    result = run("analyze", kb, "the crew")
    assert "(dropped)" in result.stdout
    assert "no term of this text is indexed: it matches nothing" in run("analyze", kb, "the of").stdout


def test_operators_of_a_query_string_are_read_apart(films):
    result = run("analyze", films, '+label:space "the crew" -mars')
    assert "must    space" in result.stdout
    assert "should  the crew" in result.stdout
    assert "not     mar" in result.stdout
    mistake = run("analyze", films, 'an "open quote')
    assert mistake.exit_code == 0
    assert "this quote is not closed" in mistake.stderr


def test_a_text_without_a_word_says_that_it_matches_nothing(films):
    assert "matches nothing" in run("analyze", films, "!?").stdout


def test_without_an_index_there_are_terms_but_no_counts(tmp_path):
    run("load", tmp_path / "kb", FILMS, "--no-index")
    result = run("analyze", tmp_path / "kb", "Crews")
    assert result.exit_code == 0
    assert "crew" in result.stdout
    assert "there is no text index" in result.stderr


def test_a_text_with_too_many_words_is_refused(films):
    result = run("analyze", films, " ".join(f"w{i}" for i in range(2000)))
    assert result.exit_code == 2
    assert "more than 1,024 different words" in result.stderr


def test_what_moves_the_cursor_is_not_printed(films):
    assert "\x1b" not in run("analyze", films, "\x1b[2J red\x1b").stdout


@pytest.mark.parametrize("columns", [40, 60, 80, 200])
def test_the_table_of_words_fits_the_terminal(films, columns):
    result = run("analyze", films, "The crews of spaceships in space", columns=columns)
    table = result.stdout.partition("\n\n")[2]
    assert all(cell_len(line) <= columns for line in table.splitlines())


# --- schema ------------------------------------------------------------------------


def test_classes_and_predicates_are_shown_with_counts_and_examples(films):
    result = run("schema", films)
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [":Film", "15"] in [row[:2] for row in rows]
    assert ["rdfs:label", "30", "30", "30"] in [row[:4] for row in rows]


def test_the_schema_as_json_has_whole_iris_and_says_how_many_there_are(films):
    document = json.loads(run("schema", films, "--limit", 1, "--format", "json").stdout)
    assert document["predicate_count"] == 7
    (predicate,) = document["predicates"]
    assert predicate["predicate"] == "http://www.w3.org/2000/01/rdf-schema#label"
    assert set(predicate["example"]) == {"subject", "object"}
    assert "and 6 more; show them with --limit 7" in run("schema", films, "--limit", 1).stdout


def test_a_file_has_a_schema_too():
    assert "rdfs:label" in run("schema", FILMS).stdout


def test_a_graph_that_is_all_in_named_graphs_says_so(tmp_path):
    data = tmp_path / "named.nq"
    data.write_text("<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n")
    run("load", tmp_path / "kb", data)
    result = run("schema", tmp_path / "kb")
    assert result.exit_code == 0
    assert "all 1 statements are in named graphs" in result.stderr


@pytest.mark.parametrize("columns", [60, 120])
def test_the_schema_fits_the_terminal(films, columns):
    assert all(cell_len(line) <= columns for line in run("schema", films, columns=columns).stdout.splitlines())


# --- completion --------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell_says_how_to_install_it(shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_HYBRIDKG_COMPLETE" in result.stdout
    assert f"hybridkg completion {shell} >" in result.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=result.stdout, text=True, check=True, timeout=20)


def test_the_shell_gets_commands_and_options():
    def completed(words: str) -> list[str]:
        environment = {**os.environ, "_HYBRIDKG_COMPLETE": "bash_complete", "COMP_WORDS": words}
        environment["COMP_CWORD"] = str(len(words.split(" ")) - 1)
        found = subprocess.run(
            [sys.executable, "-m", "hybridkg"], env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        return [line.partition(",")[2] for line in found.stdout.splitlines()]

    assert completed("hybridkg sch") == ["schema"]
    assert "--limit" in completed("hybridkg schema --")
    assert set(completed("hybridkg schema --format ")) == {"table", "json"}


def test_an_unknown_shell_is_a_mistake():
    result = run("completion", "tcsh")
    assert result.exit_code == 2
    assert "'bash'" in result.stderr
