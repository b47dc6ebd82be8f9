"""Scoring tasks read from the server: the input of a ranking model for the entities that match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.ranking_model import ScoredField, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids
from hybridkg.remote.elasticsearch.server import Body, Server, Steps
from hybridkg.text.elasticsearch import bodies
from hybridkg.text.elasticsearch.header import IndexIdentity
from hybridkg.text.elasticsearch.reading import ElasticReader, PostingsBuilder
from hybridkg.text.elasticsearch.vectors import read_vectors
from hybridkg.text.elasticsearch.wordcounts import WordCounts
from hybridkg.text.id_sets import NONE, restricted
from hybridkg.text.index.field_presence import Presence
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.match_query.items import Item, ResolvedQuery


class TaskReader:
    """Reads the tasks of one index; `totals` has the entities and tokens by field. Safe to use from many threads."""

    def __init__(
        self,
        server: Server,
        identity: IndexIdentity,
        arrays: ArrayReader,
        pages: ElasticReader,
        words: WordCounts,
        totals: Sequence[tuple[int, int]],
    ):
        self._server, self._identity, self._pages, self._words, self._totals = server, identity, pages, words, totals
        self._n_nodes = int(arrays.about("n_nodes"))
        self.lengths: NDArray[np.uint32] | None = None if identity.native else arrays.array("lengths")
        """uint32[fields, nodes]; None with native analysis, where only the server has them."""
        self._presence = None if identity.native else Presence(arrays)
        self._with_any: dict[tuple[str, ...], int] = {}

    def of(self, query: ResolvedQuery, body: Body | None) -> Steps[ScoringTask]:
        """The task of the entities that match a body; None matches none."""
        items = list(query.scoring)
        counts_of = yield from self._words.of(items, query.fields)
        n = yield from self.n_entities(query)
        gathered, ids, lengths = PostingsBuilder(), NONE, self.lengths
        if lengths is None:
            lengths = np.zeros((len(self._totals), self._n_nodes), np.uint32)
            if body is not None:
                ids = yield from self._pages.ids(body)
            read_vectors(self._server, self._identity.index, ids, items, query.fields, lengths, gathered)
        elif body is not None:
            plain = [item for item in items if counts_of[item].postings is None]
            yield from self._pages.words(body, plain, query.fields, gathered)
            if len(plain) < len(items):
                ids = yield from self._pages.ids(body)

        def terms(counts: Mapping[Item, float]) -> tuple[ScoredTerm, ...]:
            own = []
            for item, count in counts.items():
                stats = counts_of[item]
                if stats.postings is None or self.lengths is None:
                    postings = gathered.postings(item)
                else:
                    postings = tuple(restricted(one, ids) for one in stats.postings)
                own.append(ScoredTerm(count, stats.df, stats.cf, stats.field_df, item.allowed, postings, item.shown()))
            return tuple(own)

        return ScoringTask(
            fields=tuple(
                ScoredField(f.written, f.number, f.weight, f.b, *self._totals[f.number], f.arguments)
                for f in query.fields
            ),
            terms=terms(query.counts),
            n_entities=n,
            lengths=lengths,
            arguments=query.arguments,
            choices=query.choices,
            ordered=terms(query.ordered),
            unordered=terms(query.unordered),
        )

    def n_entities(self, query: ResolvedQuery) -> Steps[int]:
        """Entities that have any of the ON fields."""
        if self._presence is not None:
            return self._presence.entities(field.number for field in query.fields)
        names = tuple(sorted(field.name for field in query.fields))
        if names not in self._with_any:
            # `exists` would also count texts of nothing but stop words.
            should = [{"prefix": {bodies.path(name): {"value": ""}}} for name in names]
            body = {"bool": {"filter": [bodies.any_of(should)]}}
            self._with_any[names] = yield from self._pages.count(body)
        return self._with_any[names]


def narrowed(task: ScoringTask, ids: Ids) -> ScoringTask:
    """The task with the postings of the candidates `ids` (uint32[m], ascending, distinct)."""

    def terms(scored: Sequence[ScoredTerm]) -> tuple[ScoredTerm, ...]:
        return tuple(replace(term, postings=tuple(restricted(one, ids) for one in term.postings)) for term in scored)

    return replace(task, terms=terms(task.terms), ordered=terms(task.ordered), unordered=terms(task.unordered))
