"""`USING bm25` beside bm25s, a BM25 in scipy-like sparse matrices by others, on the same tokens.

    pip install bm25s

bm25s is given the tokens of every entity as hybridkg's analyzer makes them of the texts of all fields, one after
the other, and the tokens of the queries; method "lucene", the same k1 and b. What is left between the two is the
byte into which Lucene, and so hybridkg's bm25, rounds a length; bm25s takes exact lengths. So both are computed here
a third time, in float64, straight from the tokens, with rounded and with exact lengths.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.models_systems import BASELINE, SYSTEMS, Collection
from hybridkg.evaluation.measures import evaluate, mean, parse_measure
from hybridkg.evaluation.run import Run
from hybridkg.text.models.lucene import DEFAULT_B, DEFAULT_K1, LENGTHS, length_bytes

DEPTH = 1000
MEASURES = ("map@100", "map@1000", "ndcg@10", "ndcg@100")


class Tokens:
    """The tokens of the entities that have any, and of the topics, as hybridkg's analyzer makes them."""

    def __init__(self, collection: Collection):
        profile = collection.kb._snapshot.profile
        assert profile is not None
        kinds = {field.analyzer for field in profile.indexed_fields()}
        assert kinds == {"standard"}, kinds
        self._analyzer = collection.text.analyzer("standard")
        self._stemmer = self._analyzer.stemmer("")
        self.entities: list[str] = []
        self.documents: list[list[str]] = []
        for entity, texts in collection.entity_texts():
            if words := [word for text in texts for word in self.of(text)]:
                self.entities.append(entity)
                self.documents.append(words)
        self.topics = {topic: self.asked(text) for topic, text in collection.topics.texts.items()}

    def of(self, text: str) -> list[str]:
        """The tokens of a text."""
        terms = (self._analyzer.term(word, self._stemmer) for word in self._analyzer.words(text))
        return [term for term in terms if term]

    def asked(self, text: str) -> list[str]:
        """The tokens of a question: without stop words."""
        words = [word for word in self._analyzer.words(text) if not self._analyzer.is_stop_word(word, self._stemmer)]
        return self.of(" ".join(words))


class Restated:
    """The same formula in float64 from the tokens, with exact lengths or with those of a byte."""

    def __init__(self, tokens: Tokens, *, exact: bool):
        lengths = np.array([len(words) for words in tokens.documents], np.int64)
        used = lengths.astype(np.float64) if exact else LENGTHS[length_bytes(lengths)].astype(np.float64)
        self._norm = DEFAULT_K1 * (1 - DEFAULT_B + DEFAULT_B * used / lengths.mean())
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, words in enumerate(tokens.documents):
            for word, tf in Counter(words).items():
                self._postings.setdefault(word, []).append((number, tf))

    def scores(self, words: list[str]) -> NDArray[np.float64]:
        """float64[documents]; 0 where no word occurs."""
        total = np.zeros(len(self._norm))
        for word in words:
            postings = self._postings.get(word, [])
            if postings:
                idf = math.log(1 + (len(total) - len(postings) + 0.5) / (len(postings) + 0.5))
                ids, tf = np.array(postings).T
                total[ids] += idf * tf / (tf + self._norm[ids])
        return total


def _ranked(tokens: Tokens, scores: NDArray[Any]) -> tuple[tuple[str, float], ...]:
    """The best DEPTH, equal scores by the order of the entities."""
    best = np.argsort(-scores, kind="stable")[:DEPTH]
    return tuple((tokens.entities[i], float(scores[i])) for i in best if scores[i] > 0)


def beside_bm25s(collection: Collection) -> dict[str, Any]:
    """MAP and NDCG of both, and how much their rankings have in common.

    Raises:
        SystemExit: bm25s is not installed.
    """
    try:
        bm25s: Any = import_module("bm25s")
    except ModuleNotFoundError:
        raise SystemExit("this part needs the package 'bm25s': pip install bm25s") from None
    tokens = Tokens(collection)
    theirs = bm25s.BM25(method="lucene", k1=DEFAULT_K1, b=DEFAULT_B)
    theirs.index(tokens.documents, show_progress=False)
    known = set().union(*tokens.documents)
    exact, rounded = Restated(tokens, exact=True), Restated(tokens, exact=False)
    runs: dict[str, dict[str, Any]] = {"bm25s": {}, "restated, exact lengths": {}, "restated, rounded lengths": {}}
    apart = {"bm25s": 0.0, "hybridkg": 0.0}
    started = time.perf_counter()
    ours = collection.run(SYSTEMS[BASELINE], "hybridkg")
    for topic, words in tokens.topics.items():
        there = [word for word in words if word in known]
        other = theirs.get_scores(there) if there else np.zeros(len(tokens.entities))
        one, two = exact.scores(there), rounded.scores(there)
        runs["bm25s"][topic] = _ranked(tokens, other)
        runs["restated, exact lengths"][topic] = _ranked(tokens, one)
        runs["restated, rounded lengths"][topic] = _ranked(tokens, two)
        apart["bm25s"] = max(apart["bm25s"], _apart(one, other))
        mine = dict(ours.rankings[topic])
        places = [i for i, entity in enumerate(tokens.entities) if entity in mine]
        # hybridkg's scores have Elasticsearch's factor 1 + k1, which changes no ranking.
        scores = np.array([mine[tokens.entities[i]] for i in places]) / (1 + DEFAULT_K1)
        apart["hybridkg"] = max(apart["hybridkg"], _apart(two[places], scores))
    systems = {"hybridkg": ours, **{name: Run(name, rankings) for name, rankings in runs.items()}}
    measures = [parse_measure(name) for name in MEASURES]
    figures = {
        name: {m: round(mean(own), 5) for m, own in evaluate(collection.qrels, run, measures).items()}
        for name, run in systems.items()
    }
    difference = {m: round(figures["hybridkg"][m] - figures["bm25s"][m], 5) for m in MEASURES}
    return {
        "bm25s": version("bm25s"),
        "documents": len(tokens.documents),
        "tokens": sum(map(len, tokens.documents)),
        "k1": DEFAULT_K1,
        "b": DEFAULT_B,
        "means": figures,
        "hybridkg_minus_bm25s": difference,
        "within_.005_map": abs(difference["map@1000"]) <= 0.005 and abs(difference["map@100"]) <= 0.005,
        "overlap_of_best": {k: _overlap(ours, systems["bm25s"], k) for k in (10, 100, 1000)},
        "largest_relative_difference_of_a_score": {
            "bm25s from exact lengths": apart["bm25s"],
            "hybridkg from rounded lengths": apart["hybridkg"],
        },
        "seconds": round(time.perf_counter() - started, 1),
    }


def _apart(expected: NDArray[np.float64], found: NDArray[Any]) -> float:
    there = expected > 0
    return float(np.max(np.abs(found[there] / expected[there] - 1))) if there.any() else 0.0


def _overlap(one: Run, other: Run, k: int) -> float:
    """Mean share of the best k that both have."""
    shares = []
    for topic, ranking in one.rankings.items():
        a, b = ({entity for entity, _ in r[:k]} for r in (ranking, other.rankings[topic]))
        shares.append(len(a & b) / max(1, min(len(a), len(b))))
    return round(sum(shares) / len(shares), 4)
