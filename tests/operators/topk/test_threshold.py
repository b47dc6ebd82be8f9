"""Lists that are known up to an error: bounds hold, ranks are exact, and the best are those of everybody compared."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from sampling import examples

from hybridkg.operators.topk.rank_value import rank_value
from hybridkg.operators.topk.score_intervals import Listing
from hybridkg.operators.topk.survivor_scores import Surviving
from hybridkg.operators.topk.threshold import Fusing
from hybridkg.operators.topk.top_k_rows import RankedTop
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.rdf.terms import NamedNode

N = 600
FUSIONS = (
    "rrf(?s, ?t^2)",
    "rrf(?t, ?s, k=0)",
    "isr(?s, ?t)",
    "combmnz(?s, ?t)",
    "minmax(?s) + minmax(?t)",
    "tmm(?s) + 0.3 * tmm(?t)",
    "?s + 0.1 * ?t",
    "tmm(?s) + STRLEN('given words') * tmm(?t) / 40",
    "rrf(?s, ?t) + 0.001 * ?s",
)


class Backwards:
    """Names whose order is not that of the ids."""

    def rank(self, ids):
        return (N - np.asarray(ids)).astype(np.uint32)

    def nodes(self, ids):
        return [NamedNode(f"e:{9999 - i}") for i in ids]


NODES = Backwards()


def listing(random, ids, error, *, ties):
    """Scores of which many are equal or nearly so, and numbers near them."""
    scores = np.round(random.uniform(-0.5, 1, len(ids)), 2 if ties else 9)
    about = (scores + random.uniform(-error, error, len(ids))).astype(np.float32 if error else np.float64)
    table = dict(zip(ids.tolist(), scores.tolist(), strict=True))
    exact = lambda some: np.array([table[i] for i in some.tolist()])
    # float32 rounds once more
    return Listing(ids, about, error * 1.1, exact, NODES), scores


def matches():
    query = parse('SELECT * { ?x NEAR "a" AS ?s OPTIONAL { ?x NEAR "b" AS ?t } }')
    triples, optional = query.form.where.elements
    return triples.items[0], optional.pattern.elements[0].items[0]


def top_of(expression, k):
    near, added = matches()
    parsed = parse(f"SELECT * {{ }} RANK BY {expression}").form.modifiers.rank_by.expression
    value = rank_value(parsed, frozenset({"s", "t"}))
    assert value is not None
    return RankedTop(((near, "s"),), value, k, "r", ("x",), None, True, ((added, "t"),))


def found(seed, error, *, ties):
    random = np.random.default_rng(seed)
    everyone = np.sort(random.choice(3 * N, N, replace=False)).astype(np.uint32) % np.uint32(N)
    everyone = np.unique(everyone)
    some = everyone[random.random(len(everyone)) < 0.6]
    first, scores = listing(random, everyone, error, ties=ties)
    second, other = listing(random, some, error if seed % 2 else 0.0, ties=ties)
    whole = np.full(len(everyone), np.nan)
    whole[np.searchsorted(everyone, some)] = other
    return everyone, {"s": first, "t": second}, {"s": scores, "t": whole}


@pytest.mark.parametrize("expression", FUSIONS)
@pytest.mark.parametrize("error", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("ties", [True, False])
def test_the_best_of_a_few_looks_are_the_best_of_all(expression, error, ties):
    context = SimpleNamespace(nodes=NODES)
    for seed in range(examples(2, 6)):
        everyone, lists, scores = found(seed, error, ties=ties)
        top = top_of(expression, 5)
        fusing = Fusing.of(top, lists, NODES)
        surviving = Surviving(everyone, scores, top, NODES)
        want = surviving.values
        kth = np.sort(want)[-5]
        for depth in (8, 32, 128, N):
            done = depth >= len(everyone)
            seen = everyone if done else np.unique(np.concatenate([one.best(depth) for one in lists.values()]))
            bound = -np.inf if done else fusing.unseen(depth)
            outside = want[~np.isin(everyone, seen)]
            assert done or not len(outside) or outside.max() <= bound + 1e-12
            part = fusing.best(seen, 5, bound, context)
            assert part is not None or not done
            if part is None:
                continue
            ids = part.relations["s"][0]
            assert set(ids.tolist()) == set(everyone[want >= kth].tolist())
            assert part.floors == surviving.floors
            for name in fusing.ranked:
                own = surviving.statistics(np.searchsorted(everyone, ids))[name]
                terms = NODES.nodes(part.relations[name][0])
                assert [part.lists[name].rank[term] for term in terms] == [own.rank[term] for term in terms]


@pytest.mark.parametrize("error", [0.0, 1e-3, 0.05])
def test_ranks_are_those_of_all_scores_in_order_and_within_their_bounds(error):
    for seed in range(5):
        everyone, lists, scores = found(seed, error, ties=True)
        one = lists["s"]
        order = np.lexsort((NODES.rank(everyone), -scores["s"]))
        want = np.empty(len(everyone))
        want[order] = np.arange(1, len(everyone) + 1)
        assert one.ranks(everyone, one.scores(everyone)).tolist() == want.tolist()
        about = one.estimates(everyone)
        assert (one.first_ranks(about) <= want).all()
        assert (want <= one.last_ranks(about)).all()
        assert (one.low, one.high) == (scores["s"].min(), scores["s"].max())
        for depth in (1, 7, 50):
            assert set(everyone[order[:depth]].tolist()) <= set(one.best(depth).tolist())


def test_an_entity_without_a_score_has_none():
    one, scores = listing(np.random.default_rng(0), np.array([1, 4, 9], np.uint32), 0.0, ties=False)
    assert np.isnan(one.scores(np.array([0, 4, 10], np.uint32))).tolist() == [True, False, True]
    assert one.among(np.array([4, 5], np.uint32)).ids.tolist() == [4]
    assert isinstance(matches()[0], ast.Near)
    assert len(scores) == 3
