"""README is true: its console blocks are run, and print what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from sampling import examples
from sparql_server import OxigraphServer

from hybridkg import KnowledgeBase
from hybridkg.cli import cli

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ELASTICSEARCH = (ROOT / "docs" / "elasticsearch.md").read_text(encoding="utf-8")
LANGUAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
MODELS = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
VECTORS = (ROOT / "docs" / "vectors.md").read_text(encoding="utf-8")
RERANKERS = (ROOT / "docs" / "rerankers.md").read_text(encoding="utf-8")
SCALE = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
EVALUATION = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
UPDATES = (ROOT / "docs" / "updates.md").read_text(encoding="utf-8")
CARE = (ROOT / "docs" / "care.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PROFILES = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")


def console_blocks(text: str) -> list[str]:
    """What stands in the console blocks of a page."""
    return re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


BLOCKS, LANGUAGE_BLOCKS, ELASTICSEARCH_BLOCKS, MODELS_BLOCKS, VECTORS_BLOCKS, SCALE_BLOCKS, RERANKERS_BLOCKS = (
    console_blocks(text) for text in (README, LANGUAGE, ELASTICSEARCH, MODELS, VECTORS, SCALE, RERANKERS)
)


def commands(block: str) -> list[tuple[str, str]]:
    """(command, output) pairs of a block; a command goes on over lines while a quote is open."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and _open(found[-1][0]):
            found[-1] = (found[-1][0] + line, "")
        else:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def _open(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return True
    return False


def matches(got: str, shown: str) -> bool:
    """`...` alone on a line stands for any lines; trailing spaces of a table do not count."""
    pattern = "".join(
        r"(?:.*\n)*" if line.strip() == "..." else re.escape(line.rstrip()) + r" *\n" for line in shown.splitlines()
    )
    return re.fullmatch(pattern, got) is not None


def test_no_page_edits_kb_toml_by_a_command():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))):
        for block in console_blocks(page.read_text(encoding="utf-8")):
            assert all(shlex.split(command)[0] != "sed" for command, _ in commands(block) if command.strip()), page


@pytest.mark.quick
def test_readme_has_console_blocks():
    assert sum(len(commands(block)) for block in BLOCKS) >= 4


@pytest.mark.quick
@pytest.mark.parametrize(
    "blocks",
    [
        *(BLOCKS, LANGUAGE_BLOCKS, MODELS_BLOCKS, VECTORS_BLOCKS, RERANKERS_BLOCKS),
        *(console_blocks(UPDATES), console_blocks(CARE), console_blocks(COMMANDS)),
    ],
    ids=[
        "README.md",
        *(f"docs/{name}.md" for name in ("language", "models", "vectors", "rerankers", "updates", "care", "commands")),
    ],
)
def test_every_hybridkg_command_of_the_documents_prints_what_it_shows(blocks, tmp_path, monkeypatch):
    check_blocks(blocks, tmp_path, monkeypatch)


@pytest.mark.needs_elastic
def test_every_command_of_the_pages_about_elasticsearch_and_scale_prints_what_it_shows(elastic, tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRIDKG_ELASTICSEARCH_URL", elastic.url)
    try:
        check_blocks([*ELASTICSEARCH_BLOCKS, *SCALE_BLOCKS], tmp_path, monkeypatch)
    finally:
        for name in ("films.kb", "moved.kb", "scaled.kb"):
            KnowledgeBase.remove(tmp_path / name)


def test_every_command_of_the_page_about_endpoints_prints_what_it_shows(tmp_path, monkeypatch):
    if why := OxigraphServer.unavailable():
        pytest.skip(why)
    server = OxigraphServer()
    try:
        server.start()
        server.load(ROOT / "examples" / "films.ttl")
        text = (ROOT / "docs" / "endpoint.md").read_text(encoding="utf-8").replace("127.0.0.1:7878", server.address)
        check_blocks(console_blocks(text), tmp_path, monkeypatch)
    finally:
        server.stop()


def check_blocks(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HYBRIDKG_COMPILE", "off")  # else `load` says on a new machine that kernels are being compiled
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for block in blocks:
        for command, shown in commands(block):
            words = shlex.split(command)
            if words[0] != "hybridkg" or "acl" in command or "cacm" in command or words[1] == "demo":
                continue
            if "--index A" in command and not examples(0, 1):
                continue  # as the command before it for the other index
            result = CliRunner().invoke(cli, words[1:], catch_exceptions=False)
            assert matches(result.output, shown), f"$ {command}\n--- got\n{result.output}\n--- README\n{shown}"


@pytest.mark.needs_shared
def test_every_command_of_the_page_about_dbpedia_prints_what_it_shows(tmp_path, monkeypatch, shared_data):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "data").symlink_to(shared_data)
    (tmp_path / "here").mkdir()
    text = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    check_blocks(re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL), tmp_path / "here", monkeypatch)


@pytest.mark.needs_shared
def test_everything_that_the_document_of_evaluation_shows_happens(tmp_path, monkeypatch, shared_data):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "data").symlink_to(shared_data)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("COLUMNS", "100")
    (experiment,) = re.findall(r"^```toml\n(title = [^\n]*\nkb = .*?)^```$", EVALUATION, re.MULTILINE | re.DOTALL)
    Path("cacm.toml").write_text(experiment)
    for kind, block in re.findall(r"^```(console|python)\n(.*?)^```$", EVALUATION, re.MULTILINE | re.DOTALL):
        if kind == "python":
            if "stark-mag/kb" not in block:  # which is not in shared
                exec(block, {})
            continue
        for command, shown in commands(block):
            if " tune " in command:
                continue  # half a minute, and the time it takes is in what it prints
            if " run " in command and not examples(0, 1):
                continue  # three seconds; the experiment in Python has two of its three systems
            result = CliRunner().invoke(cli, shlex.split(command)[1:], catch_exceptions=False)
            assert result.exit_code == 0, command
            assert matches(result.output, shown), f"$ {command}\n--- got\n{result.output}\n--- document\n{shown}"


@pytest.mark.quick
def test_the_profile_of_the_page_about_profiles_indexes_the_films(tmp_path):
    turtle = re.findall(r"^```turtle\n(.*?)^```$", PROFILES, re.MULTILINE | re.DOTALL)[0]
    profile = tmp_path / "films-profile.ttl"
    profile.write_text(turtle)
    with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl", profile=profile) as kb:
        assert [field["field"] for field in kb.stats()["fields"]] == ["title", "plot", "people", "same_year"]
        found = kb.query('SELECT ?f { ?f MATCH "stalker" ON (same_year) AS ?s }')
        assert {str(row["f"]).rsplit("/", 1)[-1] for row in found} == {"Alien", "Stalker"}


@pytest.mark.quick
def test_every_command_of_the_readme_exists():
    for block in BLOCKS:
        for command, _ in commands(block):
            words = shlex.split(command)
            if words[0] == "hybridkg":
                assert words[1].startswith("-") or words[1] in cli.commands, command


def test_the_first_query_of_the_readme_is_the_one_that_the_command_line_runs():
    shown = re.findall(r"^```sparql\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    file = (ROOT / "examples" / "films.hq").read_text(encoding="utf-8")
    assert shown.split() == re.sub(r"^#.*\n", "", file, flags=re.MULTILINE).split()


def test_a_stranger_finds_everything_in_the_first_hundred_lines_of_the_readme():
    start = "\n".join(README.splitlines()[:100])
    for heading in ("## Install", "## Python", "## Command line", "## Where to go next"):
        assert heading in start
    assert "error[" in start
    assert "docs/architecture.md" in start  # the last row of what to read next
