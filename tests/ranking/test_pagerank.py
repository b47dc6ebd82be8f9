"""The reranker `pagerank`, against the linear equations that it solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reranked_films import FOUND, names

from hybridkg.errors import ConfigError, HybridkgError, RerankerError
from hybridkg.ranking.rerankers.pagerank import pagerank


@given(st.integers(1, 7), st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.85, 0.99]))
def test_probabilities_solve_the_equations_and_add_up_to_1(n, seed, damping):
    rng = np.random.default_rng(seed)
    weights = rng.random((n, n)) * (rng.random((n, n)) < 0.4)
    start = rng.random(n) + 0.01
    start /= start.sum()
    steps = np.zeros((n, n))
    for i in range(n):  # a row without an edge goes on as a start does
        total = weights[i].sum()
        steps[i] = start if total == 0 else weights[i] / total
    wanted = np.linalg.solve(np.eye(n) - damping * steps.T, (1 - damping) * start)
    found = pagerank(weights, start, damping)
    assert found.sum() == pytest.approx(1.0)
    assert found.tolist() == pytest.approx(wanted.tolist(), abs=1e-6)


def test_a_walk_that_rarely_begins_anew_is_followed_to_its_end():
    """Two rows and one edge: the probability goes to and fro, so its distance shrinks by the damping alone."""
    found = pagerank(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 0.0]), 0.99)
    assert found.tolist() == pytest.approx([1 / 1.99, 0.99 / 1.99], abs=1e-8)


def test_without_damping_the_order_is_that_of_the_score_and_with_it_links_count(films):
    plain = films.query(FOUND.replace(" ?r", ""))
    same = films.query(FOUND + "RERANK TOP 5 USING pagerank(damping=0, score='s') AS ?r")
    assert names(same) == names(plain)
    walked = films.query(FOUND + "RERANK TOP 5 USING pagerank(edges='graph,types') AS ?r")
    assert sum(row.scores["r"] for row in walked) == pytest.approx(1.0)
    assert [row.scores["r"] for row in walked] != [row.scores["r"] for row in same]
    assert walked.exact


def test_mistakes_are_errors(films):
    with pytest.raises(RerankerError, match="no score 't' to start from; the rows have: s"):
        films.query(FOUND + "RERANK TOP 5 USING pagerank(score='t')")
    with pytest.raises(HybridkgError, match="no source of edges 'grahp'"):
        films.query(FOUND + "RERANK TOP 5 USING pagerank(edges='grahp')")
    with pytest.raises(ConfigError, match="named twice"):
        films.query(FOUND + "RERANK TOP 5 USING pagerank(edges='graph,graph')")
    with pytest.raises(ConfigError, match="needs a source"):
        films.query(FOUND + "RERANK TOP 5 USING pagerank(edges=',')")
