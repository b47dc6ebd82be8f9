"""The W3C data: every query of the evaluation tests that columns answer has the answer of Oxigraph."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pyoxigraph as ox
import pytest
from test_columns_equal_oxigraph import outcome_of

from hybridkg.errors import HybridkgError
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse

w3c_cases = pytest.importorskip("benchmarks.w3c_cases", reason="benchmarks/ is not part of the source package")

pytestmark = pytest.mark.needs_shared


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return w3c_cases.unpack(tmp_path_factory.mktemp("w3c"))


def test_whole_queries_of_the_w3c_tests_have_the_answers_of_oxigraph(suite: Path) -> None:
    found: Counter[str] = Counter()
    wrong = []
    for case in w3c_cases.cases(suite):
        if case.kind != "evaluation":
            continue
        try:
            query = parse(case.text, base=case.base)
            check(query)
        except HybridkgError:
            continue
        if query.form.dataset:
            continue
        store = ox.Store()
        for path in case.data:
            store.extend(ox.parse(path=str(path), base_iri=path.as_uri(), rename_blank_nodes=True))
        triples = [quad.triple for quad in store if quad.graph_name == ox.DefaultGraph()]
        try:
            form = type(query.form).__name__.removesuffix("Query")
            found[f"{form} {outcome_of(triples, query, case.text)}"] += 1
        except AssertionError as e:
            wrong.append(f"{case.name}: {e}")
    sys.stdout.writelines(f"{n:5,} {what}\n" for what, n in found.most_common())  # seen with pytest -s
    assert not wrong, "\n".join(wrong)
    assert found["Select answered"] > 150
    assert found["Construct answered"] > 5
    assert found["Ask answered"] > 5
