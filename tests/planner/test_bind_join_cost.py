"""What the text-first plan is said to cost where its rows pass through several MATCHes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybridkg import KnowledgeBase
from hybridkg.interfaces.strategy import STRATEGIES
from hybridkg.operators.text_relation import TextRelation
from hybridkg.planner.cost_model import default_costs

ROOT = Path(__file__).resolve().parents[2]
FIRST, SECOND = '?film MATCH "space mars crew" AS ?s .', '?film MATCH "space" ON (label) AS ?t .'
PATTERN = "?film <http://example.org/films/genre> ?g"


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(ROOT / "examples" / "films.ttl") as kb:
        yield kb


def planned(films, *parts):
    explained = films.explain("SELECT * { " + " ".join(parts) + " } RANK BY ?s LIMIT 3", strategy="bind_join")
    planning = films._snapshot.planning()
    planning.cost = default_costs("embedded")
    cost = STRATEGIES.get("bind_join").cost(explained.plan.logical, planning)
    return explained.plan.root, cost.estimate, planning


def test_rows_of_the_first_match_that_a_second_one_scores_are_paid_for(films):
    union = "{ " + PATTERN + " } UNION { ?film a ?g }"
    root, both, planning = planned(films, FIRST, SECOND, union)
    read = [operator for operator in root.walk() if isinstance(operator, TextRelation)]
    assert [operator.score for operator in read] == ["s"]
    _, behind, _ = planned(films, FIRST, union, SECOND)
    found = planning.match_count_bound(read[0].match)
    each = planning.cost.us_per_column_cell
    assert found > 3
    assert both - behind == pytest.approx(found * each)
