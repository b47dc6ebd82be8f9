"""Reads from the server what a ranking model needs to score the entities that match."""

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
from hybridkg.text.elasticsearch.reading import ElasticReader, Gathered
from hybridkg.text.elasticsearch.vectors import read_vectors
from hybridkg.text.elasticsearch.wordcounts import WordCounts
from hybridkg.text.id_sets import NONE, restricted
from hybridkg.text.index.field_presence import Presence
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.match_query.items import Item, ResolvedQuery


class Tasks:
    """The tasks of one index; safe to use from many threads.

    Args:
        server: has it.
        identity: which it is.
        arrays: the folder of its generation.
        pages: reads from it.
        words: counts of the whole index.
        totals: of each field: entities that have it, tokens.
    """

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
        """uint32[fields, nodes]; None with native analysis, where only the server knows them."""
        self._presence = None if identity.native else Presence(arrays)
        self._with_any: dict[tuple[str, ...], int] = {}

    def of(self, query: ResolvedQuery, body: Body | None) -> Steps[ScoringTask]:
        """What the model needs to score the entities that a body finds; None finds none."""
        items = list(query.scoring)
        found = yield from self._words.of(items, query.fields)
        n = yield from self.n_entities(query)
        gathered, ids, lengths = Gathered(), NONE, self.lengths
        if lengths is None:
            lengths = np.zeros((len(self._totals), self._n_nodes), np.uint32)
            if body is not None:
                ids = yield from self._pages.ids(body)
            read_vectors(self._server, self._identity.index, ids, items, query.fields, lengths, gathered)
        elif body is not None:
            plain = [item for item in items if found[item].postings is None]
            yield from self._pages.words(body, plain, query.fields, gathered)
            if len(plain) < len(items):
                ids = yield from self._pages.ids(body)

        def terms(counts: Mapping[Item, float]) -> tuple[ScoredTerm, ...]:
            made = []
            for item, count in counts.items():
                own = found[item]
                if own.postings is None or self.lengths is None:
                    postings = gathered.postings(item)
                else:
                    postings = tuple(restricted(one, ids) for one in own.postings)
                made.append(ScoredTerm(count, own.df, own.cf, own.field_df, item.allowed, postings, item.shown()))
            return tuple(made)

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
            # Whoever has a token; `exists` would also count texts of nothing but stop words.
            should = [{"prefix": {bodies.path(name): {"value": ""}}} for name in names]
            body = {"bool": {"filter": [bodies.any_of(should)]}}
            self._with_any[names] = yield from self._pages.count(body)
        return self._with_any[names]


def narrowed(task: ScoringTask, ids: Ids) -> ScoringTask:
    """The same task with the postings of some entities only.

    Args:
        task: of more entities.
        ids: uint32[m], ascending, distinct.
    """

    def terms(own: Sequence[ScoredTerm]) -> tuple[ScoredTerm, ...]:
        return tuple(replace(term, postings=tuple(restricted(one, ids) for one in term.postings)) for term in own)

    return replace(task, terms=terms(task.terms), ordered=terms(task.ordered), unordered=terms(task.unordered))
