"""A ranking ends below the score that a FILTER demands."""

from __future__ import annotations

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.strategy import STRATEGIES

ENTITIES = 400


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("least")
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [f'<e:{n:03}> {label} "fish {"word " * (n % 40)}" .' for n in range(ENTITIES)]
    (folder / "d.nt").write_text("\n".join(lines))
    made = KnowledgeBase.create(folder / "kb")
    made.load(folder / "d.nt", index=True)
    return made


def query(condition: str, limit: int = 3) -> str:
    return f'SELECT ?x ?s {{ ?x MATCH "fish" AS ?s FILTER({condition}) }} RANK BY ?s LIMIT {limit}'


@pytest.mark.parametrize("strategy", ["filter_first", "filtered_topk", "rank_first"])
def test_no_row_is_made_for_an_entity_below_it(kb: KnowledgeBase, strategy: str):
    plan = kb.explain(query("?s > 30"), strategy=strategy, analyze=True).to_json()
    assert _rows(plan["operator"], "PrefixScan") <= 64
    assert len(kb.query(query("?s > 30"), strategy=strategy)) == 0


def _rows(node: dict, name: str) -> int:
    own = node["rows"] if node["name"] == name else 0
    return own + sum(_rows(child, name) for child in node.get("children", ()))


@pytest.mark.parametrize("condition", ["?s > {}", "?s >= {}", "{} < ?s", "?s > {} && ?s < 30", "?s >= {} || ?s > 30"])
@pytest.mark.parametrize("strategy", STRATEGIES.names())
def test_entities_at_it_and_above_stay(kb: KnowledgeBase, condition: str, strategy: str):
    best = [float(row["s"]) for row in kb.query(query("true", 60))]
    for limit, bound in ((3, best[5]), (50, best[30]), (50, best[0])):
        text = query(condition.format(f'"{bound!r}"^^<http://www.w3.org/2001/XMLSchema#double>'), limit)
        want = [row["x"] for row in kb.query(text, strategy="reference")]
        try:
            found = [row["x"] for row in kb.query(text, strategy=strategy)]
        except Exception as e:
            assert "does not apply" in str(e) or "cannot" in str(e), e  # noqa: PT017
            continue
        assert found == want
