"""The program as a process: what becomes of its output, its input, and an interruption."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from click.testing import CliRunner
from sampling import sampled

import hybridkg.__main__
from hybridkg.cli import cli
from hybridkg.kb import KnowledgeBase

ROOT = Path(__file__).resolve().parents[2]
FILMS = ROOT / "examples" / "films.ttl"
SPACE = 'SELECT ?film ?s { ?film MATCH "space" AS ?s } RANK BY ?s'
NOT_LATIN = 'SELECT ("\u661f\u9645" AS ?t) {}'


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory, copy_films) -> Path:
    path = tmp_path_factory.mktemp("cli") / "films.kb"
    copy_films(path)
    return path


def shell(command: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Runs a line of sh in which `hk` is the program and $1 ... are the arguments."""
    program = f'hk() {{ "{sys.executable}" -m hybridkg "$@"; }}\n{command}'
    found = subprocess.run(
        ["sh", "-c", program, "sh", *map(str, arguments)],
        capture_output=True,
        check=False,
        timeout=600,
        env={**os.environ, **environment},
    )
    assert b"Traceback" not in found.stderr, found.stderr.decode()
    assert b"Exception ignored" not in found.stderr, found.stderr.decode()
    return found


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize(
    "command",
    [
        'hk query "$1" "$2"',
        pytest.param('hk query "$1" "$2" --format json', marks=pytest.mark.exhaustive),
        pytest.param('hk explain "$1" "$2"', marks=pytest.mark.exhaustive),
        pytest.param('hk stats "$1"', marks=pytest.mark.exhaustive),
        pytest.param("hk --help", marks=pytest.mark.exhaustive),
        pytest.param("hk --version", marks=pytest.mark.exhaustive),
    ],
)
def test_a_full_disk_behind_the_output_is_one_line_and_exit_code_1(films, command):
    found = shell(f"{command} > /dev/full", films, SPACE)
    assert found.returncode == 1
    assert found.stderr.decode().splitlines()[-1] == "cannot write the output: No space left on device"


@pytest.mark.parametrize(
    "command",
    [
        'hk query "$1" "$2" --format csv',
        pytest.param('hk query "$1" "$2"', marks=pytest.mark.exhaustive),
        pytest.param('hk stats "$1"', marks=pytest.mark.exhaustive),
    ],
)
def test_a_closed_output_is_one_line_and_exit_code_1(films, command):
    found = shell(f"{command} >&-", films, SPACE)
    assert found.returncode == 1
    assert found.stderr.decode().splitlines()[-1] == "cannot write the output: Bad file descriptor"


def test_a_command_that_prints_nothing_needs_no_output(tmp_path):
    assert shell('hk load "$1" "$2" >&- <&-', tmp_path / "new.kb", FILMS).returncode == 0
    assert len(KnowledgeBase.open(tmp_path / "new.kb").query("SELECT * { ?s ?p ?o }")) == 128


def test_closed_errors_do_not_end_the_work(films):
    found = shell('hk query "$1" "$2" --format csv 2>&-', films, SPACE)
    assert found.returncode == 0
    assert found.stdout.count(b"\n") == 5


def test_a_closed_input_is_an_empty_query(films):
    found = shell('hk query "$1" - <&-', films)
    assert found.returncode == 2
    assert found.stderr.startswith(b"error[Q")


def test_an_input_that_is_not_utf_8_is_an_error(films):
    found = shell("printf '\\377' | hk query \"$1\" -", films)
    assert found.returncode == 2
    assert b"cannot read the query from standard input: it is not UTF-8" in found.stderr


def test_a_reader_that_goes_away_is_told_nothing(films):
    assert shell('hk query "$1" "$2" --format tsv | true', films, "SELECT * { ?a ?b ?c . ?d ?e ?f }").stderr == b""


MILLIONS = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
"""Two million rows of 128 triples."""


def test_a_reader_that_goes_away_ends_the_query(films, within):
    with within(10):  # 0.6 s on an idle machine; all rows take 20
        found = shell('hk query "$1" "$2" --format ndjson | head -n 3', films, MILLIONS)
    assert found.stdout.count(b"\n") == 3
    assert found.stderr == b""


@pytest.mark.parametrize("option", sampled(["--timeout 1s", "--max-rows 5000"], "--max-rows 5000"))
def test_an_answer_that_breaks_off_ends_with_an_error(films, tmp_path, option):
    command = f'hk query "$1" "$2" --strategy oxigraph --format tsv {option}'
    found = shell(command, films, MILLIONS)
    assert found.returncode == 2
    assert found.stderr.startswith(b"error[Q10")
    assert found.stdout.count(b"\n") > 2_000  # the rows until then
    assert shell(f'{command} -o "$3"', films, MILLIONS, tmp_path / "rows.tsv").returncode == 2
    assert list(tmp_path.iterdir()) == []


SOME_ROWS = "SELECT * { ?a ?b ?c . ?d ?e ?f } LIMIT 5000"


@pytest.mark.exhaustive  # the next test, in this process, has the same of more formats
def test_a_file_has_what_standard_output_gets(films, tmp_path):
    printed = shell('hk query "$1" "$2" --format csv', films, SOME_ROWS)
    written = shell('hk query "$1" "$2" --format csv --output "$3"', films, SOME_ROWS, tmp_path / "rows")
    assert (tmp_path / "rows").read_bytes() == printed.stdout
    assert written.stdout == b""
    assert printed.stderr == written.stderr
    assert printed.stderr.decode().splitlines()[-1] == "5,000 rows, exact"


@pytest.mark.parametrize("fmt", ["json", "csv"])
@pytest.mark.parametrize("query", [SOME_ROWS, "SELECT * { ?a ?b ?c }", SPACE], ids=["some", "all", "ranked"])
def test_a_file_has_every_format_as_standard_output_gets_it(films, tmp_path, query, fmt):
    arguments = ["query", str(films), query, "--format", fmt]
    printed = CliRunner().invoke(cli, arguments)
    written = CliRunner().invoke(cli, [*arguments, "--output", str(tmp_path / "rows")])
    assert (tmp_path / "rows").read_bytes() == printed.stdout_bytes
    assert written.stdout_bytes == b""
    assert printed.stderr == written.stderr
    assert ("".join(printed.stderr.splitlines()[-1:])) == ("5,000 rows, exact" if query == SOME_ROWS else "")


def test_an_output_that_cannot_be_written_is_an_error(films, tmp_path):
    found = CliRunner().invoke(cli, ["query", str(films), SPACE, "--output", str(tmp_path)])
    assert found.exit_code == 1
    assert found.stderr.startswith("error[S401]: cannot write")


@pytest.mark.parametrize("arguments", [["--why", "1"], ["--explain"], ["--analyze"]])
def test_an_output_takes_rows_only(films, tmp_path, arguments):
    for command in ([SPACE, *arguments], [f"EXPLAIN {SPACE}"]):
        result = CliRunner().invoke(cli, ["query", str(films), *command, "--output", str(tmp_path / "rows")])
        assert result.exit_code == 2
        assert "--output takes the rows of a query" in result.stderr
        assert not (tmp_path / "rows").exists()


SAMPLE = {("table", "ascii"), ("csv", "latin-1")}
"""Each encoding that has no such characters."""


@pytest.mark.parametrize(
    ("fmt", "encoding"),
    [
        pytest.param(*pair, marks=() if pair in SAMPLE else pytest.mark.exhaustive)
        for pair in product(("table", "csv", "json"), ("ascii", "latin-1", "utf-8"))
    ],
)
def test_the_output_is_utf_8_whatever_the_environment_says(films, encoding, fmt):
    found = shell('hk query "$1" "$2" --format "$3"', films, NOT_LATIN, fmt, PYTHONIOENCODING=encoding)
    assert found.returncode == 0
    assert "\u661f\u9645" in found.stdout.decode()


@pytest.mark.parametrize(("command", "promise"), [("query", False), ("stats", False), ("load", True), ("index", True)])
def test_an_interruption_promises_something_only_where_something_was_written(
    films, command, promise, monkeypatch, tmp_path
):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for method in ("stream", "stats", "load", "index"):
        monkeypatch.setattr(KnowledgeBase, method, interrupted)
    arguments = {"query": [films, SPACE], "load": [tmp_path / "new.kb", FILMS]}.get(command, [films])
    result = CliRunner().invoke(cli, [command, *map(str, arguments)])
    assert result.exit_code == 130
    assert ("the knowledge base is as it was before" in result.stderr) == promise
    assert "interrupted" in result.stderr


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interruption_beside_the_creation_leaves_nothing_behind(tmp_path, monkeypatch, when):
    rename, path = Path.rename, tmp_path / "new.kb"

    def interrupted(self: Path, target: Path) -> Path:
        if target == path and when == "before":
            raise KeyboardInterrupt
        moved = rename(self, target)
        if target == path:
            raise KeyboardInterrupt
        return moved

    monkeypatch.setattr(Path, "rename", interrupted)
    assert CliRunner().invoke(cli, ["load", str(path), str(FILMS)]).exit_code == 130
    assert list(tmp_path.iterdir()) == []


def test_a_load_into_a_foreign_folder_leaves_it_alone(tmp_path):
    (tmp_path / "CURRENT.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    assert CliRunner().invoke(cli, ["load", str(tmp_path), str(FILMS)]).exit_code == 2
    assert (tmp_path / "CURRENT.txt").read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    assert CliRunner().invoke(cli, ["load", str(tmp_path / "file"), str(FILMS)]).exit_code == 2
    assert (tmp_path / "file").read_text() == "mine"


def test_an_interruption_while_the_program_is_imported_is_one_line(monkeypatch, capsys):
    def interrupted(name: str, *_: object) -> None:
        if name == "hybridkg.cli":
            raise KeyboardInterrupt

    finder = type("Finder", (), {"find_spec": staticmethod(interrupted)})
    monkeypatch.delitem(sys.modules, "hybridkg.cli")
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        hybridkg.__main__.main()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("rows.csv", [], "film,s"),
        ("rows.TSV", [], "?film\t?s"),
        ("rows.json", [], '{"head"'),
        ("rows.json", ["--format", "csv"], "film,s"),
        ("rows.out", [], "?film"),
        ("rows", [], "?film"),
    ],
)
def test_the_extension_of_the_output_names_its_format(films, tmp_path, name, options, start):
    found = CliRunner().invoke(cli, ["query", str(films), SPACE, "--output", str(tmp_path / name), *options])
    assert found.exit_code == 0
    assert "".join((tmp_path / name).read_text().split(" ")).startswith(start)
    with KnowledgeBase.open(films).stream(SPACE) as rows:
        rows.write(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text().startswith("film,s")
