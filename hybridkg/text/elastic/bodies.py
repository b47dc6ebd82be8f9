"""Queries as Elasticsearch reads them: built from values, never pasted from texts.

Terms come analysed, so every text in a body is one term, or a phrase with one
term on a line.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.text_index import Condition, Ids
from hybridkg.text.elastic.mapping import GAP, SEPARATOR, TERMS, VALUE_GAP
from hybridkg.text.elastic.server import Body
from hybridkg.text.resolve import Item, OnField, ResolvedQuery, Words

IDS_AT_ONCE = 65_536
"""Values of a `terms` query: `index.max_terms_count`."""

ROWS_AT_ONCE = 10_000
"""Rows of a page: `index.max_result_window`."""

TERM_FREQUENCY = "_termStats.termFreq().getSum()"


def path(field: str) -> str:
    """Where the terms of a field are."""
    return f"terms.{field}"


def occurs_in(field: str, words: Words) -> Body:
    """Entities that have a word or phrase in one field."""
    if len(words) == 1:
        return {"term": {path(field): {"value": words[0][1]}}}
    last = words[-1][0]
    if last >= VALUE_GAP:
        raise TextQueryError(
            f"a phrase of {last + 1:,} words; at most {VALUE_GAP:,} in Elasticsearch", hint="use a shorter phrase"
        )
    places = [GAP] * (last + 1)
    for position, term in words:
        places[position] = term
    return {"match_phrase": {path(field): {"query": SEPARATOR.join(places), "analyzer": TERMS}}}


def occurs(item: Item, fields: Sequence[OnField]) -> Body:
    """Entities that have an item in any field where it may occur."""
    clauses = [occurs_in(f.name, words) for f, words in zip(fields, item.words, strict=True) if words]
    return clauses[0] if len(clauses) == 1 else {"bool": {"should": clauses}}


def matches(
    query: ResolvedQuery,
    conditions: Sequence[Body],
    scoring: Sequence[Body] = (),
    ids: Ids | None = None,
) -> Body:
    """Entities that match a query.

    Args:
        query: the MATCH.
        conditions: further filters.
        scoring: clauses whose scores are added up; with none the query only filters.
        ids: the entities that may come, at most 65,536; None for all.
    """
    filters = [occurs(item, query.fields) for item in query.required]
    if not (filters or scoring):
        filters = [{"bool": {"should": [occurs(item, query.fields) for item in query.counts]}}]
    filters += conditions
    if ids is not None:
        filters.append({"terms": {"node": ids.tolist()}})
    # The clauses that score stand together: beside others Lucene adds some up in 32 bits first.
    parts: Body = {
        "must": [{"bool": {"should": list(scoring)}}] if scoring else [],
        "filter": filters,
        "must_not": [occurs(item, query.fields) for item in query.excluded],
    }
    return {"bool": {key: value for key, value in parts.items() if value}}


def frequencies(items: Sequence[tuple[int, Item]], fields: Sequence[OnField]) -> list[Body]:
    """Clauses whose scores are term frequencies, named `<number>.<field's place>`; words only, no phrases."""
    return [
        {
            "script_score": {
                "query": occurs_in(field.name, words),
                "script": {"source": TERM_FREQUENCY},
                "_name": f"{number}.{place}",
            }
        }
        for number, item in items
        for place, (field, words) in enumerate(zip(fields, item.words, strict=True))
        if len(words) == 1
    ]


def condition(own: Condition, number: int) -> Body:
    """The filter for a condition on the predicate of the profile's filter of that number."""
    if own.equals is not None:
        return {"term": {f"filter.p{number}": {"value": own.equals}}}
    # Elasticsearch tells -0.0 from 0.0.
    bounds = {key: value + 0.0 for key, value in (("gte", own.low), ("lte", own.high)) if value is not None}
    return {"range": {f"filter.n{number}": bounds}}
