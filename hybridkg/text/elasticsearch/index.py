"""The text index in Elasticsearch.

Queries are answered in two ways with the same result. Where Elasticsearch ranks by the requested model itself
(native.py), its scores are taken. Otherwise it finds the entities and counts the words in them, and hybridkg's own
model computes the scores from those counts, the exact lengths and the statistics of the whole index: the same integers
through the same code as in the embedded index, so the same bits.

The best k of a model with bounds (bounds.py) are found by scores that Elasticsearch computes in 32 bits, and are scored
again locally; reading stops when no remaining entity can be among them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.explanation import Passage
from hybridkg.interfaces.links import EntityLinker
from hybridkg.interfaces.ranking_model import ScoringTask
from hybridkg.interfaces.text_index import Ids, IndexRequest, PushdownCondition, Scores, TermStatistics, TextQuery
from hybridkg.remote.elasticsearch.numbers import DocumentNumbers
from hybridkg.remote.elasticsearch.orphans import check_left
from hybridkg.remote.elasticsearch.pages import IDS_AT_ONCE, scores_of
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.text.elasticsearch import bodies
from hybridkg.text.elasticsearch.analysis import native_analyzers
from hybridkg.text.elasticsearch.bounds import bound_clauses
from hybridkg.text.elasticsearch.header import IDENTITY, IndexIdentity
from hybridkg.text.elasticsearch.mapping import MAX_FILTER_VALUE_LENGTH
from hybridkg.text.elasticsearch.native import native_clauses, order_matters
from hybridkg.text.elasticsearch.reading import ElasticReader
from hybridkg.text.elasticsearch.tasks import TaskReader, narrowed
from hybridkg.text.elasticsearch.terms import stored_vocabulary
from hybridkg.text.elasticsearch.wordcounts import WordCounts
from hybridkg.text.id_sets import NONE
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.stored_fields import (
    FieldsOfIndex,
    best,
    named_analyzer,
    stored_analyzers,
    stored_fields,
    stored_totals,
)
from hybridkg.text.match_query.items import Item, ResolvedQuery
from hybridkg.text.match_query.resolve import links_of, resolve, roles_of
from hybridkg.text.match_query.synonyms import stored_synonyms
from hybridkg.text.models.bm25f import idf
from hybridkg.text.snippets import PassageFinder

MAX_REMOTE_SCAN = 2_000
"""Matches beyond which a graph pattern is read first: 10,000 rows come from Elasticsearch in 0.1 to 0.2 s, from the
graph in 0.03 to 0.1 s (benchmarks/elastic.py)."""

MAX_CACHED_COUNTS = 10_000

MAX_CACHED_QUERIES = 32
"""Analysed queries; the passage of each row analyses its query again."""

MIN_PAGE = 100
"""Rows of the first page of a ranking that is scored again locally; a second request costs more than 90 rows."""

ROUNDING = 1e-5
"""Relative error of a bound of the server in 32 bits: some 20 roundings of 6e-8 each, rounded up."""

T = TypeVar("T")


class ElasticTextIndex(FieldsOfIndex):
    """A read-only index on a server. Safe to use from many threads; sends no request before the first query.

    Args:
        folder: of the generation, with the header and the lengths.
        rank: order of the nodes, for ties.
        fresh: whether the graph is unchanged since the index was built, so that conditions may be pushed down.
    """

    exact = True
    is_remote = True
    max_remote_scan = MAX_REMOTE_SCAN
    linker: EntityLinker | None = None

    def __init__(self, server: Server, folder: Path, rank: Callable[[Ids], Ids] | None, *, fresh: bool):
        reader = ArrayReader(folder)
        self._server, self._rank, self._fresh = server, rank, fresh
        self._identity = IndexIdentity.from_data(reader.about(IDENTITY), str(folder))
        super().__init__(stored_fields(reader, folder), stored_totals(reader))
        self._synonyms = stored_synonyms(folder)
        self._vocabulary = None if self._identity.native else stored_vocabulary(reader, folder, len(self._fields))
        self._local_analyzers = None if self._identity.native else stored_analyzers(reader, folder)
        self.counts: Mapping[str, int] = dict(reader.about("counts"))
        self._numbers = DocumentNumbers.read(reader)
        self._reader = ElasticReader(server, self._identity.index, self._numbers)
        self._words = WordCounts(server, self._identity, self._reader)
        self._tasks = TaskReader(server, self._identity, reader, self._reader, self._words, self._totals)
        self._match_counts: dict[TextQuery, int] = {}
        self._resolve = lru_cache(MAX_CACHED_QUERIES)(self._resolve_uncached)
        self._connecting = threading.Lock()
        self._connected = False

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of that name: hybridkg's, or with native analysis the server's."""
        return named_analyzer(self._analyzers, name)

    def about(self) -> dict[str, Any]:
        identity = self._identity
        about: dict[str, Any] = {"engine": "elasticsearch", "index": identity.index, "alias": identity.alias}
        about |= {"analysis": identity.analysis, "documents": identity.documents}
        try:
            about["url"] = self._server.url
            self._server.ask("reading its version", lambda client: client.info(), again=False)
            about["version"] = self._server.version
            self._connect()
            stats = self._server.ask(
                "reading sizes", lambda client: client.indices.stats(index=identity.index, metric="store"), again=False
            )
            health = self._server.ask(
                "reading the health", lambda client: client.cluster.health(index=identity.index), again=False
            )
            about["bytes"] = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
            about["health"] = str(health["status"])
        except HybridkgError as e:
            about["problem"] = e.message
        return about

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """Whether the predicate's values are stored, and the graph is unchanged since."""
        if not self._fresh or condition.predicate not in self._identity.filters:
            return False
        return condition.equals is None or len(condition.equals) <= MAX_FILTER_VALUE_LENGTH

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError, or TextQueryError for a malformed query or one too large for the server."""
        resolved = self._resolve(query)
        bodies.belongs(resolved.matching, resolved.fields)

    def match_count_bound(self, query: TextQuery) -> int:
        """The exact number of matches; cached."""
        return self._sizes([query])[query]

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """Counts the matches of all queries in one request."""
        self._sizes(queries)

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        return self._run(self._complete_relation(query))

    def matches(self, query: TextQuery) -> Ids:
        """The ids of `score_all`: the server sends a score with each hit anyway."""
        return self.score_all(query)[0]

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """The best k; all entities of `among` are scored."""
        if among is not None:
            scores = self.score(query, among)
            matching = ~np.isnan(scores)
            return best(among[matching], scores[matching], k, self._rank)
        return self._run(self._topk(query, k))

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """Scores in requests of 65,536 entities."""
        wanted, place = np.unique(np.asarray(ids, np.uint32), return_inverse=True)
        result = np.full(len(wanted), np.nan)
        if len(wanted):
            found, scores = self._run(self._scores_of(query, wanted))
            result[np.searchsorted(wanted, found)] = scores
        return result[place]

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        return self._run(self._task(query, ids))

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        """Answers all requests together: each round trip carries the next step of every one."""
        self._connect()
        resolved = [self._resolve(question.query) for question in questions]
        self._words.prefetch((query.scoring, query.fields) for query in resolved)
        steps = [self._complete_relation(q.query) if q.k is None else self._topk(q.query, q.k) for q in questions]
        return self._together(steps)

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        resolved = self._resolve(query)
        roles = roles_of(resolved)
        counts = self._run(self._words.of([item for item, _ in roles], resolved.fields)) if roles else {}
        return [
            TermStatistics(item.shown(), counts[item].df, role, item.alternatives, item.total) for item, role in roles
        ]

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        resolved = self._resolve(query)
        return PassageFinder(resolved.fields, self._idf_of(resolved)).best(texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        resolved = self._resolve(query)
        return PassageFinder(resolved.fields, self._idf_of(resolved)).of_fields(texts)

    @cached_property
    def _analyzers(self) -> Mapping[str, Analyzer]:
        if self._local_analyzers is not None:
            return self._local_analyzers
        return native_analyzers(self._server, sorted({field.analyzer for field in self._fields}))

    def _resolve_uncached(self, query: TextQuery) -> ResolvedQuery:
        return resolve(query, self._fields, self._analyzers, self._vocabulary, self._synonyms)

    def _idf_of(self, resolved: ResolvedQuery) -> dict[Item, float]:
        if not resolved.counts:
            return {}
        counts = self._run(self._words.of(list(resolved.counts), resolved.fields))
        n = self._run(self._tasks.n_entities(resolved))
        return {item: idf(counts[item].df, n) for item in resolved.counts}

    def _run(self, steps: Steps[T]) -> T:
        self._connect()
        return self._together([steps])[0]

    def _together(self, steps: Sequence[Steps[T]]) -> list[T]:
        return self._server.together(self._identity.index, steps, dfs=self._identity.shards > 1)

    def _connect(self) -> None:
        """Checks once that the index is the one of this generation, with as many documents."""
        with self._connecting:
            if self._connected:
                return
            identity = self._identity
            check_left(self._server, identity.index, identity.build, identity.documents)
            self._connected = True

    def _conditions(self, query: TextQuery) -> list[Body]:
        return [bodies.condition(one, self._identity.filters) for one in query.conditions]

    def _count(self, query: TextQuery) -> Steps[int]:
        resolved = self._resolve(query)
        if not resolved.counts:
            return 0
        return (yield from self._reader.count(bodies.matches(resolved, self._conditions(query))))

    def _sizes(self, queries: Sequence[TextQuery]) -> dict[TextQuery, int]:
        cached = self._match_counts  # another thread may replace it
        sizes = {query: cached[query] for query in queries if query in cached}
        new = [query for query in dict.fromkeys(queries) if query not in sizes]
        if new:
            self._connect()
            sizes |= zip(new, self._together([self._count(query) for query in new]), strict=True)
            if len(self._match_counts) >= MAX_CACHED_COUNTS:
                self._match_counts = {}
            self._match_counts |= sizes
        return sizes

    def _complete_relation(self, query: TextQuery) -> Steps[tuple[Ids, Scores]]:
        resolved = self._resolve(query)
        if not resolved.counts:
            return NONE, np.zeros(0)
        return (yield from self._scored(query, resolved, None))

    def _scores_of(self, query: TextQuery, wanted: Ids) -> Steps[tuple[Ids, Scores]]:
        resolved = self._resolve(query)
        if not resolved.counts:
            return NONE, np.zeros(0)
        ids, scores = [NONE], [np.zeros(0)]
        for start in range(0, len(wanted), IDS_AT_ONCE):
            part = yield from self._scored(query, resolved, wanted[start : start + IDS_AT_ONCE])
            ids.append(part[0])
            scores.append(part[1])
        return np.concatenate(ids), np.concatenate(scores)

    def _scored(self, query: TextQuery, resolved: ResolvedQuery, wanted: Ids | None) -> Steps[tuple[Ids, Scores]]:
        """Ids and scores of the matching entities, of at most 65,536 wanted ones or of all."""
        conditions = self._conditions(query)
        documents = None if wanted is None else self._numbers.of(wanted)
        clauses = native_clauses(query, resolved, self._identity)
        if clauses and not order_matters(resolved):
            return (yield from self._reader.scored(bodies.matches(resolved, conditions, clauses, documents)))
        body = bodies.matches(resolved, conditions, documents=documents)
        task = replace((yield from self._tasks.of(resolved, body)), links=links_of(resolved, self.linker))
        return resolved.model.score(task)

    def _task(self, query: TextQuery, ids: Ids | None) -> Steps[ScoringTask]:
        resolved = self._resolve(query)
        is_empty = not resolved.counts or (ids is not None and not len(ids))
        documents = self._numbers.of(ids) if ids is not None and len(ids) <= IDS_AT_ONCE else None
        body = None if is_empty else bodies.matches(resolved, self._conditions(query), documents=documents)
        task = replace((yield from self._tasks.of(resolved, body)), links=links_of(resolved, self.linker))
        return task if ids is None or documents is not None else narrowed(task, ids)

    def _topk(self, query: TextQuery, k: int) -> Steps[tuple[Ids, Scores]]:
        resolved = self._resolve(query)
        if not resolved.counts or k <= 0:
            return NONE, np.zeros(0)
        conditions = self._conditions(query)
        clauses = native_clauses(query, resolved, self._identity)
        if clauses and not order_matters(resolved):
            return (yield from self._best(bodies.matches(resolved, conditions, clauses), k))
        if self._tasks.lengths is not None and not only_positional(resolved):
            counts = yield from self._words.of(list(resolved.counts), resolved.fields)
            n = yield from self._tasks.n_entities(resolved)
            bounds = bound_clauses(query.model, resolved, self._totals, counts, n)
            if bounds:
                return (yield from self._best(bodies.matches(resolved, conditions, bounds), k, (query, resolved)))
        return best(*(yield from self._scored(query, resolved, None)), k, self._rank)

    def _best(
        self, body: Body, k: int, exactly: tuple[TextQuery, ResolvedQuery] | None = None
    ) -> Steps[tuple[Ids, Scores]]:
        """The k best of a query that the server ranks.

        Args:
            body: its scores are the exact ones, or upper bounds of them up to rounding.
            k: number of results.
            exactly: the query whose exact scores are computed locally; None where the server's are exact.
        """
        ids, scores = [NONE], [np.zeros(0)]
        with closing(self._reader.best_first(body, max(k + k // 8, MIN_PAGE))) as pages:
            while hits := (yield from pages.following()):
                hit_ids = self._reader.entities(hits, 1)
                bound = float(scores_of(hits[-1:])[0])
                if exactly is None:
                    ids.append(hit_ids)
                    scores.append(scores_of(hits))
                else:
                    bound *= 1 + ROUNDING
                    exact_ids, exact = yield from self._scored(*exactly, np.sort(hit_ids))
                    ids.append(exact_ids)
                    scores.append(exact)
                all_scores = np.concatenate(scores)
                if len(all_scores) >= k and np.partition(all_scores, len(all_scores) - k)[len(all_scores) - k] > bound:
                    break
        return best(np.concatenate(ids), np.concatenate(scores), k, self._rank)


def only_positional(query: ResolvedQuery) -> bool:
    """Whether bounds are useless: phrases and windows are read completely anyway, for their statistics."""
    return all(item.positional for item in query.counts)
