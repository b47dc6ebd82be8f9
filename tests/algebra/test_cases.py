"""Golden cases: tests/cases/*.hq hold a query, its logical plan before and after the rules, EXPLAIN, and its rows.

The rows are computed with and without the rules, by every strategy that applies, on examples/films.ttl. A case
without a "=> rewritten" part is one that the rules must leave alone. The plan is the one that default unit costs
choose, or that of the strategy in a line "# strategy: name"; it is shown without times. `UPDATE_CASES=1 pytest
tests/algebra` rewrites the files; read the diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Plan
from hybridkg.algebra.render import render
from hybridkg.algebra.rules import rewrite
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.estimation_context import EstimationContext
from hybridkg.planner.calibration.calibrated_costs import FIXED
from hybridkg.planner.choose import choose
from hybridkg.planner.explain import Explanation
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.rdf.solutions import Solutions
from hybridkg.results.build import projected

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((ROOT / "tests" / "cases").glob("*.hq"))


@pytest.fixture(scope="module")
def films() -> Iterator[KnowledgeBase]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FIXED, "default")
        with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
            yield kb


def plan_of(logical: Plan, query_text: str, prefixes: tuple[tuple[str, str], ...], films: KnowledgeBase) -> str:
    wanted = re.search(r"^# strategy: (\w+)$", query_text, re.MULTILINE)
    snapshot = films._snapshot
    plan = choose(logical, snapshot.planning(), wanted.group(1) if wanted else None)
    shown = Explanation(plan, EstimationContext(snapshot.text, snapshot.graph), prefixes=prefixes)
    return f"{shown.strategy(times=False)}\n{shown.operators(times=False)}\n"


def rows_of(solutions: Solutions, columns: tuple[str, ...]) -> list[str]:
    columns = columns or solutions.variables
    at = [solutions.variables.index(name) for name in columns]
    return [" | ".join(_shown(row[i]) for i in at) for row in solutions.rows]


def _shown(term: object) -> str:
    text = "-" if term is None else str(term).split("^^")[0].strip('"')
    try:
        return f"{float(text):.4f}" if "." in text else text
    except ValueError:
        return text.replace("http://example.org/films/", ":")


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, films: KnowledgeBase):
    text = path.read_text(encoding="utf-8")
    query_text = text.split("=> logical\n")[0]
    query = parse(query_text)
    check(query)
    plain = from_ast(query)
    better = rewrite(plain)
    columns = projected(plain)
    answers = {}
    for kind, logical in (("plain", plain), ("rewritten", better)):
        for name in STRATEGIES.names():
            root = STRATEGIES.get(name).plan(logical, films._snapshot.planning())
            if root is not None:
                solutions = films._snapshot.context().run(root)
                answers[kind, name] = rows_of(solutions, columns)
    rows = answers["plain", "reference"]
    assert rows, "a case without rows shows nothing"
    for key, other in answers.items():
        assert other == rows, key
    parts = [query_text, "=> logical\n", render(plain, query.prefixes)]
    if better != plain:
        parts += ["=> rewritten\n", render(better, query.prefixes)]
    parts += ["=> plan\n", plan_of(better, query_text, query.prefixes, films)]
    parts += ["=> rows\n", *(f"{row}\n" for row in rows)]
    if os.environ.get("UPDATE_CASES"):
        path.write_text("".join(parts), encoding="utf-8")
    assert "".join(parts) == text


def test_every_strategy_is_shown():
    shown = {re.search(r"^strategy: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE).group(1) for path in CASES}
    assert shown == set(STRATEGIES.names())


def test_there_are_cases_that_the_rules_change_and_cases_that_they_leave_alone():
    changed = [path for path in CASES if "=> rewritten" in path.read_text()]
    assert len(changed) >= 3
    assert len(CASES) - len(changed) >= 4
