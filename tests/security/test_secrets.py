"""No secret that the environment or an address holds is written, logged, printed or kept anywhere."""

from __future__ import annotations

import io
import logging
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest
from sampling import sampled

from hybridkg.cli import main
from hybridkg.errors import HybridkgError, LoadError, QuerySyntaxError, SourceName, Span
from hybridkg.remote import credentials
from hybridkg.terminal_text import without_passwords

SECRET = "hunter2-Zx9!unsayable"
FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
ADDRESS = f"http://me:{SECRET}@127.0.0.1:1/x"
QUERY = 'SELECT ?f ?s { ?f MATCH "mars" AS ?s } RANK BY ?s'


def written(folder):
    """Everything below a folder, names and bytes."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def surroundings(folder):
    """A home and a cache of its own."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "HYBRIDKG_CACHE": str(folder / "cache")}


def process(folder, *words, **environment):
    """(exit code, everything printed) of a command with a home and a cache of its own, in a process of its own."""
    base = surroundings(folder) | {"PYTHONPATH": ":".join(sys.path)}
    code = "from hybridkg.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder, env=base | environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("secrets")
    code, said = process(folder, "load", "films.kb", str(FILMS), "--index")
    assert code == 0, said
    return folder


@pytest.fixture
def run(monkeypatch, capfd, caplog):
    """The same as `process`, in this process; what is logged counts as printed."""

    def run(folder, *words, **environment):
        for name, value in (surroundings(folder) | environment).items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        capfd.readouterr()
        with pytest.raises(SystemExit) as end:
            main(words)
        return end.value.code or 0, "".join(capfd.readouterr()) + caplog.text

    return run


COMMANDS = {
    "stats": (),
    "query": (QUERY,),
    "index": (),
    "migrate": ("--to", "elasticsearch"),
    "doctor": (),
}
SECRETS = {
    "key": {credentials.API_KEY: SECRET},
    "password": {credentials.USERNAME: "elastic", credentials.PASSWORD: SECRET},
    "address": {credentials.URL: ADDRESS},
}


@pytest.mark.parametrize(
    ("command", "secret"),
    sampled(
        product(COMMANDS, SECRETS),
        *[("migrate", secret) for secret in SECRETS],
        *[(command, "address") for command in COMMANDS if command != "migrate"],
    ),
)
def test_a_secret_of_the_environment_stays_there(folder, run, command, secret):
    where = {credentials.URL: "http://127.0.0.1:1"}
    _, said = run(folder, command, "films.kb", *COMMANDS[command], **(where | SECRETS[secret]))
    assert SECRET not in said
    assert "Traceback" not in said
    for path, content in written(folder).items():
        assert SECRET.encode() not in content, path


def test_a_secret_stays_in_a_process_of_its_own(folder):
    environment = {credentials.URL: ADDRESS, credentials.USERNAME: "elastic", credentials.PASSWORD: SECRET}
    code, said = process(folder, "migrate", "films.kb", "--to", "elasticsearch", **environment)
    assert code in (1, 2), said
    assert SECRET not in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "words",
    [
        ("load", "films.kb", ADDRESS),
        ("load", "films.kb", "--text", ADDRESS),
        ("query", ADDRESS, QUERY),
        ("query", "films.kb", "-f", ADDRESS),
        ("index", "films.kb", "--profile", ADDRESS),
        ("dataset", ADDRESS),
        ("dataset", "cacm", "--from", ADDRESS),
        ("run", ADDRESS),
        ("eval", ADDRESS, ADDRESS),
        ("query", "films.kb", f"SELECT * {{ SERVICE <{ADDRESS}> {{ ?s ?p ?o }} }}"),
        ("query", "films.kb", f"SELECT * {{ ?s ?p <{ADDRESS}> "),
    ],
)
def test_the_password_in_an_address_is_not_repeated(folder, run, words):
    code, said = run(folder, *words)
    assert code in (1, 2), said
    assert SECRET not in said
    assert "Traceback" not in said


@pytest.mark.parametrize("line", [f'url = "{ADDRESS}"', f'password = "{SECRET}"', f'api_key = "{SECRET}"'])
def test_a_secret_in_the_settings_is_refused_and_not_repeated(folder, run, line):
    settings = folder / "films.kb" / "kb.toml"
    before = settings.read_text()
    try:
        settings.write_text(f"{before.replace('embedded', 'elasticsearch', 1)}\n[elasticsearch]\n{line}\n")
        code, said = run(folder, "index", "films.kb")
    finally:
        settings.write_text(before)
    assert code == 2
    assert SECRET not in said


@pytest.mark.parametrize("place", ["message", "hint", "place", "source"])
def test_every_part_of_an_error_is_without_it(place, caplog):
    if place == "source":
        error = QuerySyntaxError("x", span=Span(0, 6), source=SourceName("q", f"SELECT <{ADDRESS}>"))
    else:
        error = LoadError(**{"message": "x", place: f"see {ADDRESS}"})
    logging.getLogger("hybridkg").warning("%s", error)
    shown = (
        error.render(),
        str(error),
        repr(error),
        error.message,
        error.hint,
        error.place,
        caplog.text,
        str(error.args),
    )
    assert not [text for text in shown if SECRET in text]


def test_stars_move_no_caret():
    assert len(without_passwords(ADDRESS)) == len(ADDRESS)
    for text in ("http://127.0.0.1:9200/a@b", "http://me@host:80/", "no address: a:b@c", "http://e/a?b=c:d@e"):
        assert without_passwords(text) == text
    assert SECRET not in str(HybridkgError(f"'{ADDRESS}', \"{ADDRESS}\""))
