"""The documentation is complete: every command and option has its line, every link a target."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import click
import pytest

from hybridkg import KnowledgeBase
from hybridkg.cli import cli
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import parse_update

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/*.md"), ROOT / "benchmarks/README.md", ROOT / "examples/README.md"]
)


def sections() -> dict[str, str]:
    """The text below the heading of each command, by the name of the command."""
    parts = re.split(r"^### `hybridkg (\S+).*$", COMMANDS, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(command: click.Command) -> list[str]:
    """Every spelling of every option that is shown in the help of a command."""
    shown = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    return [name for option in shown for name in (*option.opts, *option.secondary_opts)]


def test_commands_md_has_the_commands_of_the_command_line_and_no_others():
    assert sorted(sections()) == sorted(cli.commands)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_commands_md_names_every_option_of_a_command_and_no_others(name):
    named = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", " ".join(re.findall(r"^\| (`-.*?) \|", sections()[name], re.M)))
    assert sorted(set(named)) == sorted(set(options(cli.commands[name])))


def test_the_update_of_language_md_is_one():
    text = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    found = re.findall(r"^```sparql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found
    for block in found:
        check_update(parse_update(block))


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\((?!http)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("name", ["python.md", "text-index.md", "updates.md"])
def test_python_examples_print_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    KnowledgeBase.create("films.kb").load("examples/films.ttl", index=True)
    found = doctest.testfile(str(ROOT / "docs" / name), module_relative=False)
    assert found.attempted
    assert not found.failed


def test_the_glossary_has_each_term_once_in_the_order_of_the_alphabet():
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = [term.lower() for term in re.findall(r"^\| \*\*(.*?)\*\* \|", text, re.MULTILINE)]
    assert terms
    assert terms == sorted(set(terms))


@pytest.mark.parametrize("name", ["architecture.md", "glossary.md", "planner.md", "extensions.md", "contributing.md"])
def test_modules_and_folders_that_a_page_names_exist(name):
    package = ROOT / "hybridkg"
    folders = {path.name for path in package.iterdir() if path.is_dir()} - {"demo"} | {"tests", "docs", "benchmarks"}
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    named = [path for path in re.findall(r"`([a-z_]+/[\w./]*)`", text) if path.split("/")[0] in folders]
    assert named
    assert [path for path in named if not ((package / path).exists() or (ROOT / path).exists())] == []


@pytest.mark.parametrize("letter", "abcdef")
def test_architecture_md_has_every_law_that_docstrings_cite(letter):
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"- **({letter}) " in text


def cited() -> list[tuple[str, str, int]]:
    """(page, kind, number) of each "page.md, trap N" and "page.md, decision N" in the sources."""
    found = set()
    for path in (ROOT / "hybridkg").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(r"\.md,\s+(trap|decision)\s+(\d+)", text):  # a name before it takes 50 times as long
            page = re.split(r"\W", text[: match.start()])[-1] + ".md"
            found.add((page, match[1], int(match[2])))
    return sorted(found)


@pytest.mark.parametrize(("page", "kind", "number"), cited())
def test_a_numbered_trap_or_decision_that_docstrings_cite_exists(page, kind, number):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    section = text[text.index({"trap": "## Traps", "decision": "## Decisions"}[kind]) :]
    assert re.search(rf"^{number}\. ", section, re.MULTILINE)
