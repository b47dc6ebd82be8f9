"""What a question says about nodes (hybridkg/asking/satisfied.py): columns for the reranker `features`."""

from __future__ import annotations

import json
from math import log

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybridkg.asking.emit import SIMILAR, WORDS
from hybridkg.asking.interpret import interpret
from hybridkg.asking.satisfied import answers_of, question_columns
from hybridkg.asking.satisfied_weight import satisfied_weight
from hybridkg.interfaces.reranker import QUESTION_FEATURES
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import NamedNode

PARTS = (
    "films", "directors", "by", "Ridley Scott", "Kubrick", '"Alien"', "from", "after", "before", "1970", "1982",
    "without", "space", "of the same director as", "ж",
)  # fmt: skip


def columns_of(kb, question, nodes):
    base = snapshot_of(kb).asked
    return question_columns(question, base.graph.find([NamedNode(str(node)) for node in nodes]), base)


@example("films by Ridley Scott after 1980")
@example("films without budget by Kubrick")
@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8).map(" ".join))
def test_the_constraints_that_count_as_satisfied_are_those_of_the_soft_query(films, question):
    """rank = weights of the satisfied constraints + text + similarity (emit.py), and the column has the share of their
    confidences: the engine and the column find the same ones.
    """
    found = films.interpret(question, limit=100)
    if not found.slots.constraints:
        return
    base = snapshot_of(films).asked
    slots = interpret(question, base, {}).slots
    target, classes = slots.target, {iri: len(base.instances(iri)) for iri in [slots.target.iri]}
    parts = [
        (one.confidence, one.reach, classes[target.iri], answers_of(one, target.iri, base)) for one in slots.constraints
    ]
    if not slots.is_class_sure:
        parts.append((target.confidence, classes[target.iri], base.graph.n_entities, base.instances(target.iri)))
    rows = list(films.query(found.query))
    ids = base.graph.find([NamedNode(str(row["x"])) for row in rows])
    columns = columns_of(films, question, [row["x"] for row in rows])
    best = max(base.best_score(found.text), base.best_score(question)) or 1.0
    for id, row, satisfied in zip(ids.tolist(), rows, columns[:, 0], strict=True):
        of_row = [part for part in parts if id in part[3]]
        assert satisfied == pytest.approx(sum(p[0] for p in of_row) / (sum(p[0] for p in parts) or 1.0), abs=1e-9)
        rest = WORDS * row.scores.get("t", 0.0) / best + SIMILAR * row.scores.get("v", 0.0)
        weights = sum(satisfied_weight(*part[:3]) for part in of_row)
        assert row.scores["rank"] - rest == pytest.approx(weights, abs=2e-2)


def test_a_route_counts_less_the_more_it_reaches(films):
    """Ridley Scott directed three films: 1 / ln(2 + 3) = 0.6213 for each, and nothing for others."""
    nodes = [row["x"] for row in films.query("SELECT ?x { ?x a :Film } ORDER BY ?x")]
    directed = {str(row["x"]) for row in films.query("SELECT ?x { ?x :director :Scott }")}
    column = columns_of(films, "Ridley Scott", nodes)[:, QUESTION_FEATURES.index("paths 1")]
    assert len(directed) == 3
    for node, value in zip(nodes, column, strict=True):
        assert value == pytest.approx(1 / log(2 + 3) if str(node) in directed else 0.0)


@pytest.mark.parametrize("question", ["", "?!", "words of nothing"])
def test_a_question_about_no_node_has_zeros(films, question):
    columns = question_columns(question, np.array([-1, 0, 1]), snapshot_of(films).asked)
    assert columns.shape == (3, len(QUESTION_FEATURES))
    assert not columns.any()


def test_a_node_without_an_id_satisfies_nothing(films):
    columns = question_columns("films by Ridley Scott", np.array([-1]), snapshot_of(films).asked)
    assert not columns.any()


def test_rerank_reads_the_query_text_as_a_question(films, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content = {"format": "hybridkg features", "version": 1, "weights": {"constraints": 1.0}}
    (tmp_path / "asked.json").write_text(json.dumps(content))
    query = "SELECT ?x ?r { ?x MATCH 'space crew' AS ?t } RANK BY ?t RERANK TOP 20 USING "
    result = films.query(f"{query}features(@asked.json, query=$q) AS ?r", {"q": "films by Ridley Scott"})
    assert str(result[0]["x"]).endswith("Alien")
    assert result[0].scores["r"] == 1.0
    assert result[0].why().parts == {"constraints": 1.0}
