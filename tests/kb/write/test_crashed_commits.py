"""A process that dies in the middle of a commit leaves the state before it, or the one after it, and no leftovers.

The points are every opening of a file for writing, rename, link, removal and fsync of a commit; the default run takes
a few of them, `--exhaustive` all.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crashed_commits
import pytest
from crashed_commits import DEAD, LABEL, SCENARIOS
from rebuilt import answer, documents_of, quads_of
from sampling import examples

from hybridkg import KnowledgeBase
from hybridkg.store.generations.place import GENERATION

ENTRIES = {"kb.toml", "CURRENT", "LOCK", "cost.json", "ENGINES"}
SAMPLE = ("load",)
"""Scenarios of the default run."""

QUERIES = ('SELECT ?x ?s { ?x MATCH "fish" AS ?s } RANK BY ?s', 'SELECT ?x { ?x MATCH "found" }')


class Program:
    """The running program of crashed_commits.py."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, crashed_commits.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def commit(self, folder: Path, scenario: str, point: int) -> dict[str, Any]:
        line = json.dumps({"folder": str(folder), "scenario": scenario, "point": point})
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    program = Program()
    yield program
    program.end()


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("crashes") / "kb"
    with KnowledgeBase.create(folder) as kb, kb.transaction() as t:
        for n in range(4):
            t.update(f'INSERT DATA {{ <http://e/f{n}> {LABEL} "a red fish {n}" }}')
        t.text("http://e/f2", review="a boat")
    return folder


def state(kb: KnowledgeBase) -> tuple[Any, ...]:
    answers = [answer(kb, query) for query in QUERIES]
    return quads_of(kb), documents_of(kb), answers, kb._snapshot.generation.behind(), kb._folder.config.profile


@pytest.mark.parametrize(
    "scenario",
    [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.exhaustive) for name in SCENARIOS],
)
def test_a_crash_leaves_the_old_or_the_new_state_and_no_leftovers(program, base, tmp_path, scenario):
    with KnowledgeBase.open(base) as kb:
        old, before = state(kb), kb._snapshot.generation.name
    whole = shutil.copytree(base, tmp_path / "whole")
    points = program.commit(whole, scenario, -1)["points"]
    with KnowledgeBase.open(whole) as kb:
        new, after = state(kb), kb._snapshot.generation.name
    assert old != new
    assert len(points) > 30
    assert {"open", "fsync", "os.rename", "os.link"} <= set(points)
    seen = []
    for point in chosen(points):
        folder = shutil.copytree(base, tmp_path / "kb")
        done = program.commit(folder, scenario, point)
        assert done["status"] in (0, DEAD), (point, points[point])
        with KnowledgeBase.open(folder) as kb:
            assert kb._snapshot.generation.name in (before, after)
            is_new = kb._snapshot.generation.name == after
            assert state(kb) == (new if is_new else old), (point, points[point])
            kb.verify()
            seen.append(is_new)
            report = kb.update(f'INSERT DATA {{ <http://e/next> {LABEL} "next" }}', index=True)
            assert report.added == 1
            kb.verify()
            assert answer(kb, "ASK { <http://e/next> ?p ?o }") is True
            names = {entry.name for entry in folder.iterdir()}
            generations = {name for name in names if GENERATION.fullmatch(name)}
            assert max(generations) == kb._snapshot.generation.name
            assert names - generations <= ENTRIES, (point, points[point])
        shutil.rmtree(folder)
    assert seen == sorted(seen)
    assert {True, False} == set(seen)


def chosen(points: list[str]) -> list[int]:
    """All points, or a few, and those around the last renames, where the new state becomes the live one."""
    renames = [n for n, kind in enumerate(points) if kind == "os.rename"]
    around = {*renames[-2:], *(n + 1 for n in renames[-1:] if n + 1 < len(points))}
    step = examples(len(points), 1)
    return sorted({*range(0, len(points), step), *around})
