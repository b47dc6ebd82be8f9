"""The commands of care: their examples run, and what they say."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import contextmanager

import pytest
from command_line import run

from hybridkg.cli import cli
from hybridkg.errors import StorageError
from hybridkg.kb import KnowledgeBase


def example(name: str) -> list[str]:
    """The words behind `hybridkg` of the example in the help of a command."""
    help_text = cli.commands[name].help or ""
    (line,) = [line for line in help_text.splitlines() if line.strip().startswith("hybridkg ")]
    return shlex.split(line)[1:]


def test_the_examples_of_the_helps_run(tmp_path, copy_films, monkeypatch):
    monkeypatch.chdir(tmp_path)
    copy_films(tmp_path / "films.kb")
    said = {}
    for name in ("check", "dump", "backup", "restore"):
        result = run(*example(name))
        assert result.exit_code == 0, (name, result.output)
        said[name] = result
    assert said["check"].stdout.count("\n") == said["check"].stdout.count(", ok\n") >= 6
    assert said["check"].stderr == said["dump"].stdout == said["backup"].stdout == ""
    assert said["dump"].stderr == "128 statements\n"
    assert said["backup"].stderr == said["restore"].stderr
    assert run("check", "restored.kb").stdout == said["check"].stdout
    assert run("load", "again.kb", "films.nq.gz").exit_code == 0


def test_restoring_over_a_knowledge_base_is_refused(tmp_path, copy_films):
    path = copy_films(tmp_path / "films.kb")
    run("backup", path, tmp_path / "b")
    result = run("restore", tmp_path / "b", path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error[S402]: '{path}' is not empty; it holds '")
    assert f"  hint: move it away first: mv {path} {path}.old\n" in result.stderr


def test_a_knowledge_base_without_an_index_or_a_graph_is_sound(tmp_path):
    KnowledgeBase.create(tmp_path / "a.kb").close()
    result = run("check", tmp_path / "a.kb")
    assert result.exit_code == 0
    assert "graph: 0 triples, ok" in result.stdout
    assert f"text: there is no index yet; hybridkg index {tmp_path / 'a.kb'} renews it" in result.stdout


def test_a_graph_at_an_endpoint_is_not_asked(tmp_path):
    KnowledgeBase.create(tmp_path / "a.kb", graph="http://127.0.0.1:1/sparql").close()
    result = run("check", tmp_path / "a.kb")
    assert result.exit_code == 0
    assert "graph: not read: it lies at http://127.0.0.1:1/sparql\n" in result.stdout
    made = run("backup", tmp_path / "a.kb", tmp_path / "b")
    assert "note: the graph lies at http://127.0.0.1:1/sparql and is not in the backup" in made.stderr


def test_a_reader_of_a_dump_that_goes_away_needs_no_message(tmp_path, copy_films):
    path = copy_films(tmp_path / "films.kb")
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "hybridkg", "dump", str(path), "-"]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.parametrize("name", ["all.nq", "all.nq.gz", "all.trig"])
def test_a_full_disk_is_said_to_be_that_of_the_dump(tmp_path, copy_films, monkeypatch, name):
    class Full:
        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            pass

    @contextmanager
    def part(path):
        try:
            yield Full()
        except OSError as e:
            raise StorageError(f"cannot write {str(path)!r}: {e.strerror}") from e

    monkeypatch.setattr("hybridkg.kb.write.dumping.output_file", part)
    result = run("dump", copy_films(tmp_path / "films.kb"), tmp_path / name)
    assert result.exit_code == 1
    assert f"cannot write '{tmp_path / name}': No space left on device" in result.stderr
