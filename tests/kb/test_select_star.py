"""`SELECT *` has the visible variables in the order of their first appearance, with and without ranks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg import KnowledgeBase

FILMS = Path(__file__).resolve().parents[2] / "examples" / "films.ttl"
PARTS = (
    "?z :director ?b .",
    "OPTIONAL { ?b :bornIn ?a }",
    "{ ?z :year ?y } UNION { ?z :genre ?g }",
    "VALUES ?m { 1 2 }",
    "{ SELECT ?z (COUNT(*) AS ?c) { ?z :genre ?hidden } GROUP BY ?z }",
    '?z MATCH "space" AS ?u SNIPPET ?k .',
)


@pytest.fixture(scope="module")
def films():
    with KnowledgeBase.temporary(FILMS) as kb:
        yield kb


@settings(max_examples=examples(24, 40), deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=4, unique=True), st.booleans(), st.integers(0, 4))
def test_the_columns_of_a_star_are_in_the_order_of_appearance(films, parts, ranks, at):
    match = ['?z MATCH "crew" AS ?s .'] if ranks else ["?z rdfs:label ?s ."]
    text = " ".join(parts[:at] + match + parts[at:])
    result = films.query(f"SELECT * {{ {text} }} {'RANK BY ?s AS ?r' if ranks else ''} LIMIT 5")
    visible = re.sub(r"\(COUNT\(\*\) AS (\?c)\) \{ \?z :genre \?hidden \} GROUP BY \?z", r"\1", text)
    expected = list(dict.fromkeys(re.findall(r"\?(\w+)", visible)))
    assert list(result.columns) == [*expected, *(["r"] if ranks else [])]
