"""STaRK's BM25 in hybridkg beside the package that STaRK uses, on made knowledge bases in STaRK's form.

    pip install bm25s
    python -m benchmarks.stark_bm25s [--nodes 20000] [--out DIR]

bm25s gets the documents of the possible answers and its own defaults (tokens, stop words, k1 1.5, b .75, method
lucene), as in `stark_qa/models/bm25.py`. hybridkg gets `ON (document_candidate) USING bm25f(k1=1.5)`, whose analyzer is
`bm25s`. Compared are the scores of both best hundred of every question, and which entities these are, but for ties with
the last. `Restated` is the formula in float64, one token at a time.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from benchmarks.stark_made import MADE, write_skb
from hybridkg.datasets.stark.layout import find_files, read_layout
from hybridkg.datasets.stark.making import make_stark
from hybridkg.datasets.stark.node_documents import documents_of
from hybridkg.evaluation.topics import read_topics
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.stored_documents import OF_CANDIDATES
from hybridkg.text.analysis.bm25s import Bm25sAnalyzer

DEPTH = 100
K1, B = 1.5, 0.75
QUERY = f"SELECT ?e {{ ?e MATCH $text ON ({OF_CANDIDATES}) USING bm25f(k1={K1}) AS ?s }} RANK BY ?s LIMIT {DEPTH}"


class Restated:
    """The scores of bm25s with its defaults, in float64 from the documents."""

    def __init__(self, documents: Mapping[str, str]):
        self._tokens = {entity: Counter(tokens(text)) for entity, text in documents.items()}
        self._length = {entity: own.total() for entity, own in self._tokens.items()}
        self._mean = sum(self._length.values()) / len(documents)
        self._df = Counter(token for own in self._tokens.values() for token in own)

    def scores(self, text: str) -> dict[str, float]:
        """Score of each entity that has a token of the text."""
        found: dict[str, float] = {}
        for token in tokens(text):
            df = self._df[token]
            idf = math.log(1 + (len(self._tokens) - df + 0.5) / (df + 0.5))
            for entity, own in self._tokens.items():
                if tf := own[token]:
                    norm = K1 * (1 - B + B * self._length[entity] / self._mean)
                    found[entity] = found.get(entity, 0.0) + idf * tf / (tf + norm)
        return found


def tokens(text: str) -> list[str]:
    """The tokens of a text by the analyzer `bm25s`."""
    analyzer = Bm25sAnalyzer()
    return [term for word in analyzer.words(text) if (term := analyzer.term(word, ""))]


def compared(ours: Mapping[str, float], theirs: Mapping[str, float]) -> tuple[float, bool]:
    """(largest difference of a score, whether both have the same best DEPTH but for ties with the last).

    >>> compared({"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0, "c": 0.5})
    (0.0, False)
    """
    apart = max((abs(score - theirs.get(entity, 0.0)) for entity, score in ours.items()), default=0.0)
    last = sorted(theirs.values(), reverse=True)[:DEPTH][-1:]
    above = {entity for entity, score in theirs.items() if score > last[0] + 1e-5} if last else set()
    same = len(ours) == min(DEPTH, len(theirs)) and above <= set(ours)
    return apart, same and all(theirs.get(entity, 0.0) >= last[0] - 1e-5 for entity in ours)


def measured(kb: str, nodes: int, folder: Path, bm25s: Any) -> dict[str, Any]:
    """The comparison over all questions of one made knowledge base."""
    write_skb(kb, nodes, folder)
    make_stark(folder / "skb", folder / "qa", folder / "made", documents=["candidates"])
    layout = read_layout(find_files(folder / "skb", folder))
    lines = map(json.loads, documents_of(layout, ["candidates"], None, folder))
    documents = {line["id"]: line[OF_CANDIDATES] for line in lines}
    entities, topics = list(documents), read_topics(folder / "made" / "topics.tsv").texts
    retriever = bm25s.BM25()
    retriever.index(bm25s.tokenize(list(documents.values()), show_progress=False), show_progress=False)
    most, same, seconds = 0.0, 0, 0.0
    with KnowledgeBase.open(folder / "made" / "kb") as base:
        for text in topics.values():
            (asked,) = bm25s.tokenize(text, return_ids=False, show_progress=False)
            known = [token for token in asked if token in retriever.vocab_dict]
            scores = retriever.get_scores(known) if known else np.zeros(len(entities))
            theirs = {entities[i]: float(scores[i]) for i in np.flatnonzero(scores > 0).tolist()}
            started = time.perf_counter()
            ours = {str(row["e"]): float(row.scores["s"]) for row in base.query(QUERY, {"text": text})}
            seconds += time.perf_counter() - started
            apart, equal = compared(ours, theirs)
            most, same = max(most, apart), same + equal
    return {
        "documents": len(documents),
        "questions": len(topics),
        "largest_difference_of_a_score": most,
        "same_best_100_but_ties": same,
        "mean_ms": round(1e3 * seconds / len(topics), 2),
    }


def main() -> None:
    """Makes, compares, records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--out", type=Path, help="an empty folder; default: a temporary one")
    given = parser.parse_args()
    try:
        bm25s: Any = import_module("bm25s")
    except ModuleNotFoundError:
        raise SystemExit("this benchmark needs the package 'bm25s': pip install bm25s") from None
    with tempfile.TemporaryDirectory() as temporary:
        out = given.out or Path(temporary)
        figures = {kb: measured(kb, given.nodes, out / kb, bm25s) for kb in MADE}
    record("stark_bm25s", {"bm25s": version("bm25s"), "nodes": given.nodes, "made": figures}, seed=1)


if __name__ == "__main__":
    main()
