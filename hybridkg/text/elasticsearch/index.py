"""Answers text queries from an index in Elasticsearch.

Two ways, with the same answer. Where Elasticsearch ranks by the very model
that is asked for (native.py), its scores are taken. Everywhere else it finds
the entities and counts the words in them, and hybridkg's own model computes
the scores from those counts, the exact lengths and the statistics of the whole
index: the same integers through the same code as in the embedded index, so
the same bits.

The best k of `bm25f` are found by scores that Elasticsearch computes in
32 bits, and are computed again here; reading stops when no entity that is
still to come can have a place among them.
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
from hybridkg.interfaces.text_index import (
    Ids,
    IndexRequest,
    PushdownCondition,
    Scores,
    TermStatistics,
    TextQuery,
)
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
from hybridkg.text.elasticsearch.tasks import Tasks, narrowed
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
from hybridkg.text.snippets import best_passage, field_passages

MAX_REMOTE_SCAN = 2_000
"""Matches beyond which a pattern of the graph is read first: 10,000 rows come from Elasticsearch in 0.1 to 0.2 s, from
the graph in 0.03 to 0.1 s (benchmarks/elastic.py)."""

MAX_CACHED_COUNTS = 10_000

MAX_CACHED_QUERIES = 32
"""Analysed ones: a passage of each row asks for its query again."""

MIN_PAGE = 100
"""Rows of the first page of a ranking that is computed again here; a second request costs more than 90 rows."""

ROUNDING = 1e-5
"""More than what 32-bit arithmetic can lose in a bound of the server: some 20 roundings of 6e-8 each."""

T = TypeVar("T")


class ElasticTextIndex(FieldsOfIndex):
    """An index on a server, read-only; safe to use from many threads. Asks nothing before the first query.

    Args:
        server: has it.
        folder: of the generation, with the header and the lengths.
        rank: order of the nodes, for ties.
        fresh: whether the graph is as it was when the index was built, so that conditions may be pushed.
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
        self._reader = ElasticReader(server, self._identity.index)
        self._words = WordCounts(server, self._identity, self._reader)
        self._tasks = Tasks(server, self._identity, reader, self._reader, self._words, self._totals)
        self._most: dict[TextQuery, int] = {}
        self._resolve = lru_cache(MAX_CACHED_QUERIES)(self._resolve_anew)
        self._connecting = threading.Lock()
        self._connected = False

    # --- what it is ----------------------------------------------------------

    def analyzer(self, name: str) -> Analyzer:
        """The analyzer of that name: hybridkg's, or with native analysis the server's."""
        return named_analyzer(self._analyzers, name)

    def about(self) -> dict[str, Any]:
        """What `stats` says: where the index is, and how the server is."""
        own = self._identity
        told: dict[str, Any] = {"engine": "elasticsearch", "index": own.index, "alias": own.alias}
        told |= {"analysis": own.analysis, "documents": own.documents}
        try:
            told["url"] = self._server.url
            self._server.ask("asking how it is", lambda client: client.info(), again=False)
            told["version"] = self._server.version
            self._connect()
            stats = self._server.ask(
                "reading sizes", lambda client: client.indices.stats(index=own.index, metric="store"), again=False
            )
            health = self._server.ask(
                "reading the health", lambda client: client.cluster.health(index=own.index), again=False
            )
            told["bytes"] = int(stats["_all"]["primaries"]["store"]["size_in_bytes"])
            told["health"] = str(health["status"])
        except HybridkgError as e:
            told["problem"] = e.message
        return told

    def supports_pushdown(self, condition: PushdownCondition) -> bool:
        """Whether its documents have the predicate's values, and the graph has not changed since."""
        if not self._fresh or condition.predicate not in self._identity.filters:
            return False
        return condition.equals is None or len(condition.equals) <= MAX_FILTER_VALUE_LENGTH

    # --- questions -------------------------------------------------------------

    def check(self, query: TextQuery) -> None:
        """Raises UnknownNameError or TextQueryError for a query without an answer, or too large for the server."""
        resolved = self._resolve(query)
        bodies.belongs(resolved.matching, resolved.fields)

    def match_count_bound(self, query: TextQuery) -> int:
        """How many match, exactly; remembered."""
        return self._sizes([query])[query]

    def prefetch_counts(self, queries: Sequence[TextQuery]) -> None:
        """Counts the matches of all of them in one request."""
        self._sizes(queries)

    def score_all(self, query: TextQuery) -> tuple[Ids, Scores]:
        """The complete relation, paged from the server."""
        return self._run(self._matching(query))

    def topk(self, query: TextQuery, k: int, among: Ids | None = None) -> tuple[Ids, Scores]:
        """Best k, by score descending, then the node's rank; exact. Of `among`, all are scored."""
        if among is not None:
            scores = self.score(query, among)
            matching = ~np.isnan(scores)
            return best(among[matching], scores[matching], k, self._rank)
        return self._run(self._topk(query, k))

    def score(self, query: TextQuery, ids: Ids) -> Scores:
        """float64[len(ids)]; NaN where the entity does not match; asked for 65,536 entities at a time."""
        wanted, place = np.unique(np.asarray(ids, np.uint32), return_inverse=True)
        answer = np.full(len(wanted), np.nan)
        if len(wanted):
            found, scores = self._run(self._scores_of(query, wanted))
            answer[np.searchsorted(wanted, found)] = scores
        return answer[place]

    def task(self, query: TextQuery, ids: Ids | None = None) -> ScoringTask:
        """What the query's model sees of the matching entities, of those among `ids` where they are given."""
        return self._run(self._task(query, ids))

    def batch(self, questions: Sequence[IndexRequest]) -> list[tuple[Ids, Scores]]:
        """All of them side by side: what they want next from the server is one request."""
        self._connect()
        resolved = [self._resolve(question.query) for question in questions]
        self._words.learn((own.scoring, own.fields) for own in resolved)
        askers = [self._matching(q.query) if q.k is None else self._topk(q.query, q.k) for q in questions]
        return self._together(askers)

    def terms(self, query: TextQuery) -> list[TermStatistics]:
        """The analysed terms and phrases with their df, for EXPLAIN."""
        resolved = self._resolve(query)
        roles = roles_of(resolved)
        found = self._run(self._words.of([item for item, _ in roles], resolved.fields)) if roles else {}
        return [
            TermStatistics(item.shown(), found[item].df, role, item.alternatives, item.total) for item, role in roles
        ]

    def passage(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> str:
        """The best passage of an entity's texts, matching words between `**` marks; empty without a match."""
        resolved = self._resolve(query)
        return best_passage(resolved.fields, self._idf_of(resolved), texts)

    def passages(self, query: TextQuery, texts: Sequence[tuple[str, str, str]]) -> list[Passage]:
        """The best passage of each field in which something matches, in the order of the ON fields."""
        resolved = self._resolve(query)
        return field_passages(resolved.fields, self._idf_of(resolved), texts)

    # --- how they are answered ---------------------------------------------------

    @cached_property
    def _analyzers(self) -> Mapping[str, Analyzer]:
        if self._local_analyzers is not None:
            return self._local_analyzers
        return native_analyzers(self._server, sorted({field.analyzer for field in self._fields}))

    def _resolve_anew(self, query: TextQuery) -> ResolvedQuery:
        return resolve(query, self._fields, self._analyzers, self._vocabulary, self._synonyms)

    def _idf_of(self, resolved: ResolvedQuery) -> dict[Item, float]:
        if not resolved.counts:
            return {}
        found = self._run(self._words.of(list(resolved.counts), resolved.fields))
        n = self._run(self._tasks.n_entities(resolved))
        return {item: idf(found[item].df, n) for item in resolved.counts}

    def _run(self, steps: Steps[T]) -> T:
        self._connect()
        return self._together([steps])[0]

    def _together(self, askers: Sequence[Steps[T]]) -> list[T]:
        return self._server.together(self._identity.index, askers, dfs=self._identity.shards > 1)

    def _connect(self) -> None:
        """Looks once whether the index is the one that was left there, with as many documents."""
        with self._connecting:
            if self._connected:
                return
            own = self._identity
            check_left(self._server, own.index, own.build, own.documents)
            self._connected = True

    def _conditions(self, query: TextQuery) -> list[Body]:
        return [bodies.condition(one, self._identity.filters) for one in query.conditions]

    def _count(self, query: TextQuery) -> Steps[int]:
        resolved = self._resolve(query)
        if not resolved.counts:
            return 0
        return (yield from self._reader.count(bodies.matches(resolved, self._conditions(query))))

    def _sizes(self, queries: Sequence[TextQuery]) -> dict[TextQuery, int]:
        known = self._most  # which another thread may replace
        sizes = {query: known[query] for query in queries if query in known}
        new = [query for query in dict.fromkeys(queries) if query not in sizes]
        if new:
            self._connect()
            sizes |= zip(new, self._together([self._count(query) for query in new]), strict=True)
            if len(self._most) >= MAX_CACHED_COUNTS:
                self._most = {}
            self._most |= sizes
        return sizes

    def _matching(self, query: TextQuery) -> Steps[tuple[Ids, Scores]]:
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
        """Ids and scores of the entities that match, among at most 65,536 wanted ones or among all."""
        conditions = self._conditions(query)
        clauses = native_clauses(query, resolved, self._identity)
        if clauses and not order_matters(resolved):
            return (yield from self._reader.scored(bodies.matches(resolved, conditions, clauses, wanted)))
        body = bodies.matches(resolved, conditions, ids=wanted)
        task = replace((yield from self._tasks.of(resolved, body)), links=links_of(resolved, self.linker))
        return resolved.model.score(task)

    def _task(self, query: TextQuery, ids: Ids | None) -> Steps[ScoringTask]:
        resolved = self._resolve(query)
        nothing = not resolved.counts or (ids is not None and not len(ids))
        few = ids if ids is not None and len(ids) <= IDS_AT_ONCE else None
        body = None if nothing else bodies.matches(resolved, self._conditions(query), ids=few)
        task = replace((yield from self._tasks.of(resolved, body)), links=links_of(resolved, self.linker))
        return task if ids is None or few is not None else narrowed(task, ids)

    def _topk(self, query: TextQuery, k: int) -> Steps[tuple[Ids, Scores]]:
        resolved = self._resolve(query)
        if not resolved.counts or k <= 0:
            return NONE, np.zeros(0)
        conditions = self._conditions(query)
        clauses = native_clauses(query, resolved, self._identity)
        if clauses and not order_matters(resolved):
            return (yield from self._best(bodies.matches(resolved, conditions, clauses), k))
        if self._tasks.lengths is not None and not only_positional(resolved):
            found = yield from self._words.of(list(resolved.counts), resolved.fields)
            n = yield from self._tasks.n_entities(resolved)
            bounds = bound_clauses(query.model, resolved, self._totals, found, n)
            if bounds:
                return (yield from self._best(bodies.matches(resolved, conditions, bounds), k, (query, resolved)))
        return best(*(yield from self._scored(query, resolved, None)), k, self._rank)

    def _best(
        self, body: Body, k: int, exactly: tuple[TextQuery, ResolvedQuery] | None = None
    ) -> Steps[tuple[Ids, Scores]]:
        """The k best of a query that the server ranks.

        Args:
            body: its scores are those wanted, or no less than them but for rounding.
            k: how many.
            exactly: where the scores wanted are to be computed here.
        """
        ids, scores = [NONE], [np.zeros(0)]
        with closing(self._reader.best_first(body, max(k + k // 8, MIN_PAGE))) as pages:
            while hits := (yield from pages.following()):
                own = np.array([hit["sort"][1] for hit in hits], np.uint32)
                bound = float(scores_of(hits[-1:])[0])
                if exactly is None:
                    ids.append(own)
                    scores.append(scores_of(hits))
                else:
                    bound *= 1 + ROUNDING
                    found, exact = yield from self._scored(*exactly, np.sort(own))
                    ids.append(found)
                    scores.append(exact)
                every = np.concatenate(scores)
                if len(every) >= k and np.partition(every, len(every) - k)[len(every) - k] > bound:
                    break
        return best(np.concatenate(ids), np.concatenate(scores), k, self._rank)


def only_positional(query: ResolvedQuery) -> bool:
    """Whether there is nothing to bound: phrases and windows are read in whole anyway, for their statistics."""
    return all(item.positional for item in query.counts)
