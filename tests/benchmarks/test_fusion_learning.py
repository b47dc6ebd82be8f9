"""The fusions of benchmarks/vectors_quality.py: their arrays are what queries give, and folds learn without a leak."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import fusion_folds  # noqa: E402
from benchmarks.fusion_points import BY_LENGTH, FAMILIES, GROUPS, Lists, Point, best  # noqa: E402
from benchmarks.vectors import set_config  # noqa: E402
from hybridkg import KnowledgeBase  # noqa: E402
from hybridkg.evaluation.tuning.folds import Fold  # noqa: E402
from hybridkg.interfaces.text_index import TextQuery  # noqa: E402
from hybridkg.interfaces.vector_index import VectorQuery  # noqa: E402

FOLDS = (Fold("0", ("a", "b"), ("c", "d")), Fold("1", ("c", "d"), ("a", "b")))
NUMBERS = st.fixed_dictionaries({topic: st.sampled_from([0.0, 0.5, 1.0]) for topic in "abcd"})


def lists(length=35):
    """Two papers: the words find both, twice as well the first; it is less near."""
    ids = np.arange(3, dtype=np.uint32)
    return Lists.of("x" * length, (ids[:2], np.array([2.0, 1.0])), (ids, np.array([0.2, 0.6, -1.0])))


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (Point("minmax", 0.6), [0.6 * 1 + 0.4 * 0.75, 0.4, -0.6]),  # who is not found is at 0, below the lowest: -1
        (Point("tmm", 0.5), [0.5 + 0.5 * 1.2 / 1.6, 0.75, 0.0]),
        (Point("rrf", 0.5), [0.5 / 61 + 0.5 / 62, 0.5 / 62 + 0.5 / 61, 0.5 / 63]),
        (Point("rrf(k=10)", 0.8, "found by words"), [0.8 / 11 + 0.2 / 12, 0.8 / 12 + 0.2 / 11]),
        (Point("tmm by length", 35), [1 + 1.2 / 1.6, 1.5, 0.0]),
        (Point("tmm by length", 70), [1 + 0.5 * 1.2 / 1.6, 1.0, 0.0]),
    ],
)
def test_scores_worked_by_hand(point, expected):
    assert lists().scores(point)[1] == pytest.approx(expected)


def test_the_share_decides_who_is_first():
    assert best(*lists().scores(Point("minmax", 0.6)), 1)[0].tolist() == [0]
    assert best(*lists().scores(Point("minmax", 0.1)), 1)[0].tolist() == [1]


def test_each_topic_is_ranked_by_what_the_others_chose():
    """Means over a and b: x 0.5, y 0.75; over c and d: x 0.5, y 0.25. So c and d get y, and a and b get x."""
    values = {
        "x": {"a": 1.0, "b": 0.0, "c": 0.5, "d": 0.5},
        "y": {"a": 0.5, "b": 1.0, "c": 0.5, "d": 0.0},
    }
    points = fusion_folds.chosen(values, FOLDS)
    assert points == {"0": "y", "1": "x"}
    assert fusion_folds.by_topic(points, FOLDS) == {"c": "y", "d": "y", "a": "x", "b": "x"}
    tested = [values[point][topic] for topic, point in fusion_folds.by_topic(points, FOLDS).items()]
    assert sum(tested) / 4 == 0.375  # x alone would have .5: what is best on all topics is not looked at


@given(st.lists(NUMBERS, min_size=2, max_size=4), NUMBERS)
def test_judgements_of_a_topic_have_no_say_in_what_ranks_it(values, other):
    before = dict(enumerate(values))
    for fold in FOLDS:
        changed = {
            point: {t: other[t] if t in fold.testing else value for t, value in own.items()}
            for point, own in before.items()
        }
        assert fusion_folds.chosen(changed, FOLDS)[fold.name] == fusion_folds.chosen(before, FOLDS)[fold.name]


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fusions") / "kb"
    with KnowledgeBase.create(folder):
        set_config(folder, "lsa")
    with KnowledgeBase.open(folder) as kb:
        kb.load(ROOT / "examples" / "films.ttl", index=True)
        yield kb


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_are_what_the_query_gives(kb, family, group):
    words = "a crew in space"
    snapshot = kb._snapshot
    own = Lists.of(
        words,
        snapshot.text.score_all(TextQuery(words, syntax=False)),
        snapshot.vectors.score_all(VectorQuery(text=words)),
    )
    for number in (20,) if family in BY_LENGTH else (0.0, 0.3, 1.0):
        point = Point(family, number, group)
        ids, scores = best(*own.scores(point), 12)
        rows = list(kb.query(point.query, params={"text": words}, limit=12))
        assert [str(row["x"]) for row in rows] == [node.value for node in snapshot.nodes.nodes(ids)]
        assert [row.rank_score for row in rows] == pytest.approx(scores.tolist(), rel=1e-12, abs=1e-12)
