"""The W3C data: every WHERE clause of the evaluation tests that the projection accepts has the rows of Oxigraph."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph as ox
import pytest
from test_fragments_equal_oxigraph import Evaluator, by_oxigraph, by_projection, slowly

from hybridkg.algebra.pattern_text import pattern_text
from hybridkg.algebra.to_pattern import DeclinedPattern, pattern_of
from hybridkg.errors import HybridkgError
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.query.scope import in_scope

w3c_cases = pytest.importorskip("benchmarks.w3c_cases", reason="benchmarks/ is not part of the source package")

pytestmark = pytest.mark.needs_shared


Clause = tuple[str, ox.Store, ast.Group, tuple[ast.DatasetClause, ...]]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> list[Clause]:
    return list(clauses(w3c_cases.unpack(tmp_path_factory.mktemp("w3c"))))


def clauses(suite: Path) -> Iterator[Clause]:
    """(name, data, WHERE, FROM) of every evaluation test whose query is accepted."""
    for case in w3c_cases.cases(suite):
        if case.kind != "evaluation":
            continue
        try:
            query = parse(case.text, base=case.base)
            check(query)
        except HybridkgError:
            continue
        if query.form.where is None:
            continue
        store = ox.Store()
        for path in case.data:
            store.extend(ox.parse(path=str(path), base_iri=path.as_uri(), rename_blank_nodes=True))
        yield case.name, store, query.form.where, query.form.dataset


@pytest.mark.parametrize("evaluator", [slowly, by_projection])
def test_where_clauses_of_the_w3c_tests_have_the_rows_of_oxigraph(suite: list[Clause], evaluator: Evaluator) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for name, store, group, dataset in suite:
        pattern = pattern_of(group, dataset)
        if isinstance(pattern, DeclinedPattern):
            found[f"declined: {pattern.reason}"] += 1
            continue
        columns = tuple(sorted(in_scope(group)))
        triples = [quad.triple for quad in store if quad.graph_name == ox.DefaultGraph()]
        got = evaluator(pattern, triples, columns)
        if got is None:
            found["not held"] += 1
            continue
        found["accepted"] += 1
        if got != by_oxigraph(store, group, columns):
            wrong.append(f"{name}: {pattern_text(pattern)}")
    sys.stdout.writelines(f"{n:5,} {what}\n" for what, n in found.most_common())  # seen with pytest -s
    assert not wrong, "\n".join(wrong)
    assert found["accepted"] > 150
