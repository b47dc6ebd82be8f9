"""STaRK's BM25, end to end: the best hundred of a made knowledge base are those of the formula of bm25s."""

from __future__ import annotations

import json

import pytest

from benchmarks.stark_bm25s import QUERY, Restated, compared
from benchmarks.stark_made import write_skb
from hybridkg.datasets.stark.layout import find_files, read_layout
from hybridkg.datasets.stark.making import make_stark
from hybridkg.datasets.stark.node_documents import documents_of
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.stored_documents import OF_CANDIDATES


@pytest.mark.parametrize("kb", ["amazon", "prime"])
def test_the_best_hundred_and_their_scores_are_those_of_bm25s(tmp_path, kb):
    write_skb(kb, 400, tmp_path)
    make_stark(tmp_path / "skb", tmp_path / "qa", tmp_path / "made", documents=["candidates"])
    layout = read_layout(find_files(tmp_path / "skb", tmp_path))
    lines = map(json.loads, documents_of(layout, ["candidates"], None, tmp_path))
    restated = Restated({line["id"]: line[OF_CANDIDATES] for line in lines})
    depths = set()
    with KnowledgeBase.open(tmp_path / "made" / "kb") as base:
        for text in list(read_topics(tmp_path / "made" / "topics.tsv").texts.values())[:12]:
            ours = {str(row["e"]): row.scores["s"] for row in base.query(QUERY, {"text": text})}
            apart, same = compared(ours, restated.scores(text))
            assert apart < 1e-5
            assert same
            depths.add(len(ours))
    assert max(depths) > 20


def test_other_entities_or_scores_are_noticed():
    theirs = {str(i): 200.0 - i for i in range(200)}
    ours = {str(i): 200.0 - i for i in range(100)}
    assert compared(ours, theirs) == (0.0, True)
    assert compared({**ours, "99": 101.5}, theirs) == (0.5, True)
    assert not compared({**{str(i): 200.0 - i for i in range(99)}, "150": 50.0}, theirs)[1]
    tied = {**ours, **dict.fromkeys(map(str, range(99, 120)), 101.0)}
    assert compared({**{str(i): 200.0 - i for i in range(99)}, "110": 101.0}, tied) == (0.0, True)
