"""The models `bm25` and `combined_fields` against the `_score` of a real Elasticsearch.

    python -m benchmarks.lucene_scores --url http://127.0.0.1:9200 [--seed N] [--documents N]

Random documents of four fields of Zipf words (each may be absent; up to 3,000
tokens, so that the length byte rounds) go into an embedded index and into an
index of one shard on the server, under several k1 and b. Every matching
document of every query is compared: `matching` of the embedded index with the
server's scores. Required: the same documents, and a relative difference of at
most 1e-6 (design/ranking.md 6.2). The server's index is deleted at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import record
from hybridkg.interfaces.text_index import FieldChoice, IndexedField, Scores, TextQuery
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex

FIELDS = ("title", "abstract", "notes", "tags")
USUAL_LENGTH = {"title": 8.0, "abstract": 120.0, "notes": 900.0, "tags": 3.0}
PRESENT = {"title": 0.97, "abstract": 0.8, "notes": 0.3, "tags": 0.5}
LONGEST = 3_000
VOCABULARY = 3_000
QUERIES = 32
SATURATIONS = ((1.2, 0.75), (0.9, 0.4), (2.0, 1.0), (5.5, 0.0), (0.0, 0.75))
WEIGHTS = ((1, 1, 1, 1), (3, 1, 1.5, 2), (2.5, 1.3, 1, 7.7), (1.1, 3.3, 1.7, 2.9))
MAX_DOCUMENTS = 10_000
INDEX = "models-lucene-scores"

Documents = list[dict[str, str]]


def documents(rng: np.random.Generator, count: int) -> Documents:
    """Texts by field, words `w0` (the most frequent) to `w2999`."""
    made = []
    for _ in range(count):
        document = {}
        for field in FIELDS:
            if rng.random() < PRESENT[field]:
                length = int(min(LONGEST, 1 + USUAL_LENGTH[field] * rng.lognormal(0, 0.8)))
                words = np.minimum(rng.zipf(1.25, length) - 1, VOCABULARY - 1)
                document[field] = " ".join(f"w{word}" for word in words)
        made.append(document)
    return made


def queries(rng: np.random.Generator) -> Iterator[list[str]]:
    """One to six words, sometimes one of them again."""
    for number in range(QUERIES):
        ranks = np.minimum(rng.zipf(1.15, 1 + number % 6) - 1, VOCABULARY - 1)
        words = [f"w{rank}" for rank in ranks]
        yield [*words, words[0]] if number % 4 == 3 else words


class Server:
    """The few requests that this needs."""

    def __init__(self, url: str):
        self.url = url.rstrip("/")

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The answer as JSON; a str body is sent as it is."""
        data = body if isinstance(body, str) else json.dumps(body) if body is not None else None
        request = urllib.request.Request(
            f"{self.url}/{path}",
            data.encode() if data is not None else None,
            {"Content-Type": "application/x-ndjson" if isinstance(body, str) else "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def fill(self, made: Documents, k1: float, b: float) -> None:
        """Makes the index anew; the field `all` has the words of every field."""
        self.remove()
        text = {"type": "text", "analyzer": "whitespace"}
        self.ask(
            "PUT",
            INDEX,
            {
                "settings": {
                    "number_of_shards": 1,
                    "number_of_replicas": 0,
                    "similarity": {"default": {"type": "BM25", "k1": k1, "b": b}},
                },
                "mappings": {"properties": dict.fromkeys((*FIELDS, "all"), text)},
            },
        )
        for start in range(0, len(made), 500):
            lines = []
            for number, document in enumerate(made[start : start + 500], start):
                lines.append(json.dumps({"index": {"_id": str(number)}}))
                lines.append(json.dumps({**document, "all": " ".join(document.values())}))
            answer = self.ask("POST", f"{INDEX}/_bulk?refresh=true", "\n".join(lines) + "\n")
            if answer["errors"]:
                raise SystemExit(f"the server refused documents: {answer['items'][0]}")

    def scores(self, query: dict[str, Any]) -> dict[int, np.float32]:
        """The score of every match."""
        body = {"query": query, "size": MAX_DOCUMENTS, "_source": False}
        hits = self.ask("POST", f"{INDEX}/_search?filter_path=hits.hits._id,hits.hits._score", body)
        return {int(hit["_id"]): np.float32(hit["_score"]) for hit in hits.get("hits", {}).get("hits", ())}

    def remove(self) -> None:
        """Deletes the index, if it is there."""
        try:
            self.ask("DELETE", INDEX)
        except urllib.error.HTTPError as e:
            if e.code != 404:
                raise


class Comparison:
    """Counts equal scores, and keeps the largest difference."""

    def __init__(self) -> None:
        self.scores = self.equal = self.other_documents = 0
        self.relative = 0.0
        self.ulps: Counter[int] = Counter()

    def add(self, found: dict[int, np.float32], ids: Sequence[int], scores: Scores) -> None:
        """Compares the answer to one query."""
        if sorted(found) != list(ids):
            self.other_documents += len(set(found) ^ set(ids))
            return
        want = np.array([found[i] for i in ids], np.float32)
        ours = scores.astype(np.float32)
        steps = np.abs(want.view(np.int32).astype(np.int64) - ours.view(np.int32))
        self.ulps.update(steps[steps > 0].tolist())
        self.scores += len(ids)
        self.equal += int((steps == 0).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(steps > 0, np.abs(ours - want) / np.abs(want), 0.0)
        self.relative = max(self.relative, float(relative.max(initial=0.0)))

    def figures(self) -> dict[str, Any]:
        """As they are stored."""
        return {
            "scores": self.scores,
            "bit_equal": self.equal,
            "max_relative_difference": self.relative,
            "differences_in_ulps": {str(ulp): n for ulp, n in sorted(self.ulps.items())},
            "other_documents": self.other_documents,
        }


def match(field: str, words: list[str]) -> dict[str, Any]:
    """All words in one query."""
    return {"match": {field: " ".join(words)}}


def match_clauses(field: str, words: list[str]) -> dict[str, Any]:
    """A clause for each different word, its boost how often it is written."""
    return {"bool": {"should": [{"term": {field: {"value": w, "boost": n}}} for w, n in Counter(words).items()]}}


def combined(fields: list[str], words: list[str], boost: int = 1) -> dict[str, Any]:
    """All words in one query."""
    return {"combined_fields": {"query": " ".join(words), "fields": fields, "boost": boost}}


def combined_clauses(fields: list[str], words: list[str]) -> dict[str, Any]:
    """A clause for each different word, its boost how often it is written."""
    return {"bool": {"should": [combined(fields, [word], n) for word, n in Counter(words).items()]}}


@dataclass(frozen=True)
class Case:
    """One way to ask the server, and the same question to hybridkg.

    Args:
        name: what it is stored as; cases of one name are counted together.
        asked: the query for the server, from the words.
        model: hybridkg's model.
        fields: its ON fields with their weights.
    """

    name: str
    asked: Callable[[list[str]], dict[str, Any]]
    model: str
    fields: tuple[FieldChoice, ...]

    def ours(self, words: list[str], k1: float, b: float) -> TextQuery:
        """The question to hybridkg."""
        arguments = (("k1", k1), ("b", b))
        return TextQuery(" ".join(words), syntax=False, fields=self.fields, model=self.model, arguments=arguments)


def cases() -> Iterator[Case]:
    """Everything that is compared."""
    for field in FIELDS:
        on: tuple[FieldChoice, ...] = (FieldChoice(field, 1),)
        yield Case("bm25: match on one field", partial(match, field), "bm25", on)
        yield Case("bm25: clauses with boosts", partial(match_clauses, field), "bm25", on)
        yield Case("combined_fields: one field", partial(combined, [field]), "combined_fields", on)
    every = tuple(FieldChoice(field, 1) for field in FIELDS)
    yield Case("bm25: all fields copied into one", partial(match, "all"), "bm25", every)
    for weights in WEIGHTS:
        on = tuple(FieldChoice(field, weight) for field, weight in zip(FIELDS, weights, strict=True))
        written = [f"{choice.name}^{choice.weight}" for choice in on]
        name = f"combined_fields: weights {', '.join(f'{weight:g}' for weight in weights)}"
        yield Case(name, partial(combined, written), "combined_fields", on)
        yield Case(f"{name}; clauses with boosts", partial(combined_clauses, written), "combined_fields", on)


def embedded(made: Documents, folder: Path) -> EmbeddedTextIndex:
    """The same documents in an embedded index."""
    builder = EmbeddedTextBuilder(folder, [IndexedField(f, analyzer="unstemmed") for f in FIELDS], len(made))
    for number, document in enumerate(made):
        for field, text in document.items():
            builder.add(number, FIELDS.index(field), [(text, "")])
    builder.finish()
    return EmbeddedTextIndex.open(folder)


def compare(server: Server, made: Documents, index: EmbeddedTextIndex, asked: list[list[str]]) -> dict[str, Any]:
    """The figures of every case, over all k1 and b."""
    found: dict[str, Comparison] = {}
    for k1, b in SATURATIONS:
        server.fill(made, k1, b)
        for case in cases():
            comparison = found.setdefault(case.name, Comparison())
            for words in asked:
                ids, scores = index.score_all(case.ours(words, k1, b))
                comparison.add(server.scores(case.asked(words)), ids.tolist(), scores)
    return {name: comparison.figures() for name, comparison in found.items()}


def main() -> int:
    """Runs the comparison; 1 when a requirement is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:9200")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--documents", type=int, default=1_000)
    options = parser.parse_args()
    if not 1 <= options.documents <= MAX_DOCUMENTS:
        parser.error(f"--documents is at most {MAX_DOCUMENTS:,}, the largest page of the server")
    rng = np.random.default_rng(options.seed)
    server = Server(options.url)
    version = server.ask("GET", "")["version"]
    made, asked = documents(rng, options.documents), list(queries(rng))
    with tempfile.TemporaryDirectory() as folder:
        index = embedded(made, Path(folder))
        try:
            figures = compare(server, made, index, asked)
        finally:
            server.remove()
    worst = max(case["max_relative_difference"] for case in figures.values())
    other = sum(case["other_documents"] for case in figures.values())
    record(
        "lucene_scores",
        {
            "elasticsearch": version["number"],
            "lucene": version["lucene_version"],
            "documents": len(made),
            "longest_text": max(len(text.split()) for document in made for text in document.values()),
            "queries": len(asked),
            "k1_and_b": [f"{k1:g} {b:g}" for k1, b in SATURATIONS],
            "max_relative_difference": worst,
            "cases": figures,
        },
        seed=options.seed,
    )
    return int(worst > 1e-6 or other > 0)


if __name__ == "__main__":
    sys.exit(main())
