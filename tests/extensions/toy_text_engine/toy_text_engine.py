"""A text engine from outside: an inverted index in one JSON file, read whole when it is opened.

It takes bags of words, in all fields or in those of ON, for every ranking model that needs no more; query-string
operators and languages are refused.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hybridkg.config.settings import Config
from hybridkg.errors import CorruptError, TextQueryError, UnknownNameError
from hybridkg.interfaces.analyzer import ANALYZERS, Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.ranking_model import RANKING_MODELS, Postings, ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_engine import CannotFollowError, NativeAnalysis, TextChange, TextSource
from hybridkg.interfaces.text_index import (
    Ids,
    IndexedField,
    IndexRequest,
    PushdownCondition,
    Scores,
    TermStatistics,
    TextQuery,
)

FILE = "toy.json"
OPERATORS = set('"+-:~*()^')


class ToyTextEngine:
    """The table `[toy]` of kb.toml has `most_words`: how many distinct words a query may have."""

    title = "the toy index"
    is_remote = False
    section = "toy"
    unit_costs: Mapping[str, float] = {"us_per_posting": 0.5}
    vector_index = ""
    native_analysis: NativeAnalysis | None = None
    stores_filters = False
    follows_fields = False

    def __init__(self, folder: Path, config: Config):
        self._most_words = int(config.section(self.section).get("most_words", 64))

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool:
        return False

    @classmethod
    def follows(cls, config: Config) -> bool:
        return False

    def ready(self) -> None:
        pass

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        extracted = source.extract()
        n = len(extracted.nodes)
        progress.start("indexing text", n)
        index: dict[str, Any] = {"nodes": n, "fields": []}
        terms: set[str] = set()
        size = 0
        for position, field in enumerate(source.fields):
            analyzer: Analyzer = ANALYZERS.get(field.analyzer)()
            postings: dict[str, dict[int, int]] = {}
            lengths = {}
            for entity, values in extracted.stream(position):
                found = Counter(term for text, language in values for term, _ in words_of(analyzer, text, language))
                size += sum(len(text.encode()) for text, _ in values)
                lengths[entity] = found.total()
                for term, tf in found.items():
                    postings.setdefault(term, {})[entity] = tf
            terms |= postings.keys()
            own = {"name": field.name, "weight": field.weight, "b": field.b, "analyzer": field.analyzer}
            index["fields"].append({**own, "postings": postings, "lengths": lengths})
        index["counts"] = {
            "entities": len({entity for field in index["fields"] for entity in field["lengths"]}),
            "terms": len(terms),
            "postings": sum(len(own) for field in index["fields"] for own in field["postings"].values()),
            "tokens": sum(sum(field["lengths"].values()) for field in index["fields"]),
            "text_bytes": size,
        }
        (folder / FILE).write_text(json.dumps(index), encoding="utf-8")
        progress.done(n)
        return dict(index["counts"])

    def follow(self, previous: Path, folder: Path, change: TextChange, progress: Progress) -> dict[str, int]:
        raise CannotFollowError("the toy index is always built anew")

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> ToyTextIndex:
        try:
            content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise CorruptError(f"{FILE!r} of the text index is damaged", hint="index again", place=str(folder)) from e
        return ToyTextIndex(content, rank, self._most_words)

    def name_of(self, folder: Path) -> str:
        return "toy"

    def publish(self, folder: Path) -> None:
        pass

    def discard(self) -> None:
        pass

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        return []

    def remove(self, names: Sequence[str]) -> None:
        pass


class ToyTextIndex:
    """A TextIndex in memory."""

    exact = True
    is_remote = False
    max_remote_scan = 0
    linker = None

    def __init__(self, content: Mapping[str, Any], rank: Callable[[Ids], Ids] | None, most_words: int):
        self._rank, self._most_words = rank, most_words
        self._fields = [IndexedField(f["name"], f["weight"], f["b"], f["analyzer"]) for f in content["fields"]]
        self._analyzers = {field.analyzer: ANALYZERS.get(field.analyzer)() for field in self._fields}
        self.counts: Mapping[str, int] = content["counts"]
        self._lengths = np.zeros((len(self._fields), content["nodes"]), np.uint32)
        self._has = np.zeros(self._lengths.shape, bool)
        self._postings: list[dict[str, Postings]] = []
        for row, field in enumerate(content["fields"]):
            for entity, length in field["lengths"].items():
                self._lengths[row, int(entity)], self._has[row, int(entity)] = length, True
            self._postings.append({term: _postings(own) for term, own in field["postings"].items()})

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(field.name for field in self._fields)

    def field_totals(self, name: str) -> dict[str, float]:
        row = self.fields.index(name)
        entities, tokens = int(self._has[row].sum()), int(self._lengths[row].sum())
        return {"entities": entities, "tokens": tokens, "mean_length": tokens / entities if entities else 0.0}

    def languages_of(self, name: str) -> tuple[str, ...]:
        return ()

    def analyzer(self, name: str) -> Analyzer:
        if name not in self._analyzers:
            raise UnknownNameError(f"no field of the index has the analyzer {name!r}")
        return self._analyzers[name]

    def about(self) -> dict[str, Any]:
        return {"engine": "toy", "most_words": self._most_words}

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        return False

    def check(self, query: TextQuery) -> None:
        model = RANKING_MODELS.get(query.model)
        if query.syntax and OPERATORS & set(query.text):
            raise TextQueryError("the toy index knows words only, no operators")
        if model.traits.pairs or model.traits.links or any(one.language for one in query.fields):
            raise TextQueryError(f"the toy index has nothing for the model {query.model!r} or a language")
        for one in query.fields:
            if one.name not in self.fields:
                raise UnknownNameError(f"no field {one.name!r}; known: {', '.join(self.fields)}")
        if len(self._words(query)) > self._most_words:
            raise TextQueryError(f"a query of the toy index has at most {self._most_words} words")

    def match_count_bound(self, query: TextQuery) -> int:
        return sum(term.df for term in self.terms(query))

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        pass

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        return RANKING_MODELS.get(query.model)().score(self.task(query))

    def matches(self, query: TextQuery) -> Ids:
        return self.score_all(query)[0]

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        ids, scores = self.score_all(query)
        if among is not None:
            kept = np.isin(ids, among)
            ids, scores = ids[kept], scores[kept]
        order = np.lexsort((ids if self._rank is None else self._rank(ids), -scores))[: max(0, k)]
        return ids[order], scores[order]

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        every = np.full(self._lengths.shape[1], np.nan)
        found, scores = self.score_all(query)
        every[found] = scores
        return every[np.asarray(ids, np.uint32)]

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        self.check(query)
        rows, weights, own = self._chosen(query)
        words = self._words(query)
        among = None
        if query.all_terms:
            having = [np.unique(np.concatenate([self._of(row, word).ids for row in rows])) for word in words]
            among = having[0] if having else np.zeros(0, np.uint32)
            for other in having[1:]:
                among = np.intersect1d(among, other)
        if ids is not None:
            among = ids if among is None else np.intersect1d(among, ids)
        arguments = dict(query.arguments)
        return ScoringTask(
            fields=tuple(
                ScoredField(
                    self._fields[row].name,
                    row,
                    weight,
                    self._fields[row].b,
                    int(self._has[row].sum()),
                    int(self._lengths[row].sum()),
                    given,
                )
                for row, weight, given in zip(rows, weights, own, strict=True)
            ),
            terms=tuple(self._term(word, count, rows, among) for word, count in words.items()),
            n_entities=int(self._has[rows].any(axis=0).sum()),
            lengths=self._lengths,
            arguments={name: float(value) for name, value in arguments.items() if not isinstance(value, str)},
            choices={name: value for name, value in arguments.items() if isinstance(value, str)},
            text_lengths=self._lengths[rows].sum(axis=0, dtype=np.uint32),
        )

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        return [self.score_all(one.query) if one.k is None else self.topk(one.query, one.k) for one in questions]

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        self.check(query)
        rows, _, _ = self._chosen(query)
        return [TermStatistics(word, self._term(word, n, rows, None).df) for word, n in self._words(query).items()]

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        return next((passage.shown for passage in self.passages(query, texts)), "")

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        found: list[Passage] = []
        values: Counter[str] = Counter()
        words = self._words(query)
        for name, text, language in texts:
            analyzer = self._analyzers[self._fields[self.fields.index(name)].analyzer]
            stemmer = analyzer.stemmer(language)
            marks = tuple((at, end) for word, at, end in analyzer.spans(text) if analyzer.term(word, stemmer) in words)
            if marks and all(passage.field != name for passage in found):
                shown = text
                for at, end in reversed(marks):
                    shown = f"{shown[:at]}**{shown[at:end]}**{shown[end:]}"
                found.append(Passage(name, values[name], 0, len(text), marks, shown))
            values[name] += 1
        return found

    def _chosen(self, query: TextQuery) -> tuple[list[int], list[float], list[dict[str, float]]]:
        """Rows, weights and arguments of the ON fields."""
        if not query.fields:
            return list(range(len(self._fields))), [f.weight for f in self._fields], [{} for _ in self._fields]
        rows = [self.fields.index(one.name) for one in query.fields]
        weights = [
            self._fields[row].weight if one.weight is None else one.weight
            for row, one in zip(rows, query.fields, strict=True)
        ]
        return rows, weights, [{name: float(value) for name, value in one.arguments} for one in query.fields]

    def _words(self, query: TextQuery) -> Counter[str]:
        rows, _, _ = self._chosen(query)
        analyzer = self._analyzers[self._fields[rows[0]].analyzer]
        words = words_of(analyzer, query.text, query.language)
        return Counter([term for term, is_stop in words if not is_stop] or [term for term, _ in words])

    def _of(self, row: int, word: str) -> Postings:
        return self._postings[row].get(word, _postings({}))

    def _term(self, word: str, count: float, rows: Sequence[int], among: Ids | None) -> ScoredTerm:
        whole = [self._of(row, word) for row in rows]
        own = whole if among is None else [_restricted(one, among) for one in whole]
        df = len(np.unique(np.concatenate([one.ids for one in whole])))
        cf = tuple(int(one.tf.sum()) for one in whole)
        field_df = tuple(len(one.ids) for one in whole)
        return ScoredTerm(float(count), df, cf, field_df, (True,) * len(rows), tuple(own), word)


def words_of(analyzer: Analyzer, text: str, language: str) -> list[tuple[str, bool]]:
    """(term, whether it is a stop word) of each word."""
    stemmer = analyzer.stemmer(language)
    return [
        (term, analyzer.is_stop_word(word, stemmer))
        for word in analyzer.words(text)
        if (term := analyzer.term(word, stemmer))
    ]


def _postings(own: Mapping[Any, int]) -> Postings:
    ids = np.array(sorted(map(int, own)), np.uint32)
    by_id = {int(entity): tf for entity, tf in own.items()}
    return Postings(ids, np.array([by_id[entity] for entity in ids.tolist()], np.uint32))


def _restricted(postings: Postings, among: Ids) -> Postings:
    kept = np.isin(postings.ids, among)
    return Postings(postings.ids[kept], postings.tf[kept])
