"""The same documents in both engines, and how their answers are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from elastic_index import Documents, build_elastic, keep_synonyms

from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.elasticsearch.index import ElasticTextIndex
from hybridkg.text.index import EmbeddedTextBuilder, EmbeddedTextIndex


def build_embedded(
    folder: Path,
    documents: Documents,
    fields: Sequence[IndexedField],
    n_nodes: int,
    rank: Callable[[Any], Any] | None = None,
    synonyms: str = "",
) -> EmbeddedTextIndex:
    """As build_elastic, without a server."""
    builder = EmbeddedTextBuilder(folder, fields, n_nodes)
    for entity, texts in sorted(documents.items()):
        for number, field in enumerate(fields):
            values = [text if isinstance(text, tuple) else (text, "") for text in texts.get(field.name, [])]
            builder.add(entity, number, values)
    builder.finish()
    keep_synonyms(folder, synonyms)
    return EmbeddedTextIndex.open(folder, rank)


@dataclass(frozen=True)
class Pair:
    """One set of documents in both engines."""

    embedded: EmbeddedTextIndex
    elastic: ElasticTextIndex
    n_nodes: int


def build_pair(
    url: str,
    alias: str,
    folder: Path,
    documents: Documents,
    fields: Sequence[IndexedField],
    n_nodes: int,
    rank: Callable[[Any], Any] | None = None,
    *,
    synonyms: str = "",
    **settings: Any,
) -> Pair:
    """Both indexes; settings are those of build_elastic."""
    for name in ("embedded", "elastic"):
        (folder / name).mkdir(parents=True)
    return Pair(
        build_embedded(folder / "embedded", documents, fields, n_nodes, rank, synonyms),
        build_elastic(url, alias, folder / "elastic", documents, fields, n_nodes, rank, synonyms=synonyms, **settings),
        n_nodes,
    )


def assert_same_task(pair: Pair, query: TextQuery, ids: Any = None) -> None:
    """What the model sees is the same, number by number."""
    wanted, found = pair.embedded.task(query, ids), pair.elastic.task(query, ids)
    assert found.fields == wanted.fields
    assert (found.n_entities, found.arguments, found.choices) == (wanted.n_entities, wanted.arguments, wanted.choices)
    np.testing.assert_array_equal(found.lengths, wanted.lengths)
    for name in ("terms", "ordered", "unordered"):
        for own, other in zip(getattr(found, name), getattr(wanted, name), strict=True):
            assert replace(own, postings=()) == replace(other, postings=())
            for a, b in zip(own.postings, other.postings, strict=True):
                np.testing.assert_array_equal(a.ids, b.ids)
                np.testing.assert_array_equal(a.tf, b.tf)


def assert_same_relation(pair: Pair, query: TextQuery, ulp: int = 0) -> int:
    """`matching` and `score` agree; returns the number of scores that were compared.

    Args:
        pair: the indexes.
        query: the question.
        ulp: by how many steps of float32 scores may differ; 0 for the same bits.
    """
    ids, scores = pair.embedded.score_all(query)
    own_ids, own_scores = pair.elastic.score_all(query)
    assert own_ids.tolist() == ids.tolist()
    assert_same_scores(own_scores, scores, ulp)
    every = np.arange(pair.n_nodes + 3, dtype=np.uint32)[::-1]
    assert_same_scores(pair.elastic.score(query, every), pair.embedded.score(query, every), ulp)
    return len(ids)


def assert_same_best(pair: Pair, query: TextQuery, k: int, ulp: int = 0) -> int:
    """`topk` agrees; scores that may differ may also change places with those as near."""
    ids, scores = pair.embedded.topk(query, k)
    own_ids, own_scores = pair.elastic.topk(query, k)
    assert_same_scores(own_scores, scores, ulp)
    if not ulp:
        assert own_ids.tolist() == ids.tolist()
        return len(ids)
    assert len(set(own_ids.tolist())) == len(ids)
    assert_same_scores(own_scores, pair.embedded.score(query, own_ids), ulp)
    return len(ids)


def assert_same_scores(found: Any, wanted: Any, ulp: int = 0) -> None:
    """Equal bits, or no more than some steps of float32 apart; NaN equals NaN."""
    if not ulp:
        np.testing.assert_array_equal(found, wanted)
        return
    np.testing.assert_array_max_ulp(found.astype(np.float32), wanted.astype(np.float32), ulp)
