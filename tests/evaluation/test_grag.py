"""G-RAG's measures against a restatement one document at a time, and numbers worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.evaluation.measures import evaluate, parse_measure
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.run import Run

documents = st.sampled_from([f"d{i:02}" for i in range(30)])
judgements = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(documents, st.integers(-1, 2), min_size=1, max_size=20),
    min_size=1,
)


def ranked(scores: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])))


tied = st.dictionaries(documents, st.integers(0, 4).map(float), max_size=30).map(ranked)
untied = st.lists(documents, unique=True, max_size=30).map(lambda ds: tuple((d, -float(i)) for i, d in enumerate(ds)))
topics = st.sampled_from(["q1", "q2", "q4"])


def slow(name: str, grades: dict[str, int], ranking: tuple[tuple[str, float], ...], k: int) -> float:
    """The definitions, one relevant document at a time."""
    positives = [d for d, grade in grades.items() if grade >= 1]
    if not positives:
        return 0.0
    scores = dict(ranking)
    order = [d for d, _ in ranking]
    total = 0.0
    for p in positives:
        if name == "mhits_ceiling":
            return min(k, len(positives)) / len(positives)
        if p not in scores:
            continue
        rank = order.index(p) + 1
        group = [d for d in order if scores[d] == scores[p]]
        r, t = order.index(group[0]) + 1, len(group)
        above = sum(scores[d] > scores[p] for d in order)
        match name:
            case "grag_mrr":
                total += 1 / rank
            case "mhits":
                total += rank <= k
            case "mtrr":
                total += 1 / r if t == 1 else 2 / (r + (r + t - 1))
            case "tmhits":
                total += 0 if above >= k else min(1, (k - above) / t)
    return total / len(positives)


def found(name: str, qrels: Qrels, run: Run) -> dict[str, float]:
    return evaluate(qrels, run, [parse_measure(name)])[name]


@settings(max_examples=examples(36, 60), deadline=None)
@given(judgements, st.dictionaries(topics, tied), st.integers(1, 12))
def test_every_measure_equals_its_definition(grades, rankings, k):
    qrels, run = Qrels(grades), Run("r", rankings)
    for name in ("grag_mrr", "mtrr", f"mhits@{k}", f"tmhits@{k}", f"mhits_ceiling@{k}"):
        want = {topic: slow(name.split("@")[0], of, rankings.get(topic, ()), k) for topic, of in grades.items()}
        assert found(name, qrels, run) == pytest.approx(want, abs=1e-12)


@settings(max_examples=examples(24, 40), deadline=None)
@given(judgements, st.dictionaries(topics, untied), st.integers(1, 12))
def test_without_ties_the_tied_measures_are_the_plain_ones(grades, rankings, k):
    qrels, run = Qrels(grades), Run("r", rankings)
    assert found("mtrr", qrels, run) == found("grag_mrr", qrels, run)
    assert found(f"tmhits@{k}", qrels, run) == found(f"mhits@{k}", qrels, run)


@settings(max_examples=examples(24, 40), deadline=None)
@given(judgements, st.dictionaries(topics, tied), st.integers(1, 12))
def test_no_ranking_is_above_the_ceiling(grades, rankings, k):
    qrels, run = Qrels(grades), Run("r", rankings)
    ceiling = found(f"mhits_ceiling@{k}", qrels, run)
    for topic, of in grades.items():
        perfect = Run("p", {topic: tuple((d, -float(i)) for i, d in enumerate(sorted(of, key=lambda d: -of[d])))})
        assert found(f"mhits@{k}", qrels, run)[topic] <= ceiling[topic]
        assert found(f"mhits@{k}", qrels, perfect)[topic] == ceiling[topic]


@settings(max_examples=examples(36, 60), deadline=None)
@given(judgements, st.dictionaries(topics, tied), st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_order_inside_a_tie_does_not_matter_to_the_tied_measures(grades, rankings, k, random):
    shuffled = {t: tuple(sorted(r, key=lambda pair: (-pair[1], random.random()))) for t, r in rankings.items()}
    for name in ("mtrr", f"tmhits@{k}"):
        a, b = (found(name, Qrels(grades), Run("r", r)) for r in (rankings, shuffled))
        assert a == pytest.approx(b, abs=1e-12)


def test_worked_by_hand():
    # One topic, two positives: one alone on rank 2, one in a group of 4 on ranks 9 to 12 (8 above).
    scores = [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    ranking = tuple((f"d{i}", s) for i, s in enumerate(scores, 1))
    qrels, run = (
        Qrels({"q": {"d2": 1, "d11": 2, "d1": 0}, "none": {"d1": 0}}),
        Run("r", {"q": ranking, "none": ranking}),
    )
    assert found("grag_mrr", qrels, run) == pytest.approx({"q": (1 / 2 + 1 / 11) / 2, "none": 0})
    assert found("mtrr", qrels, run) == pytest.approx({"q": (1 / 2 + 1 / 10.5) / 2, "none": 0})
    assert found("mhits@10", qrels, run) == {"q": 1 / 2, "none": 0}
    assert found("tmhits@10", qrels, run) == {"q": (1 + 2 / 4) / 2, "none": 0}
    assert found("tmhits@8", qrels, run) == {"q": 1 / 2, "none": 0}  # n = k: nothing of the group fits


def test_the_ceiling_is_below_one_with_more_positives_than_places():
    qrels = Qrels({"q": {f"d{i}": 1 for i in range(25)}})
    assert found("mhits_ceiling@10", qrels, Run("r", {})) == {"q": 0.4}


def test_scores_that_all_tie_give_the_expected_value_of_a_random_order():
    qrels = Qrels({"q": {"d1": 1}})
    run = Run("r", {"q": tuple((f"d{i}", 1.0) for i in range(40))})
    assert found("tmhits@10", qrels, run) == {"q": 0.25}
    assert found("mtrr", qrels, run) == {"q": 2 / 41}
