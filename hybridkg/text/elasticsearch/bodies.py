"""Query bodies of Elasticsearch, built from values, never by pasting texts.

Terms are already analysed, so every text in a body is one term, or a phrase with one term per line.
"""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.errors import TextQueryError
from hybridkg.interfaces.text_index import AnyCondition, Ids, PushdownCondition
from hybridkg.remote.elasticsearch.server import Body
from hybridkg.text.elasticsearch.mapping import GAP, SEPARATOR, TERMS, VALUE_GAP
from hybridkg.text.match_query.items import Item, ItemGroup, Pattern, Patterns, ResolvedField, ResolvedQuery

MAX_DEPTH = 20
"""Maximum nesting of groups; Elasticsearch accepts 30 nested queries."""

WORDS_AT_ONCE = 1_024
"""Words whose frequencies one query counts; Elasticsearch allows as many clauses, or more where it has much memory."""

TERM_FREQUENCY = "_termStats.termFreq().getSum()"
"""A script's sum of the occurrences of all words of the query that it scores."""

NOTHING: Body = {"match_none": {}}


def path(field: str) -> str:
    return f"terms.{field}"


def words_of(patterns: Patterns) -> list[str]:
    """The single-word alternatives."""
    return [pattern.words[0][1] for pattern in patterns if pattern.is_word]


def occurs_in(field: str, patterns: Patterns) -> Body:
    """Entities that have any of the patterns, at least one, in one field; exact."""
    words = words_of(patterns)
    clauses = [_positional(field, pattern) for pattern in patterns if not pattern.is_word]
    if words:
        clauses.append({"terms": {path(field): words}} if len(words) > 1 else _word(field, words[0]))
    return any_of(clauses)


def occurs(item: Item, fields: Sequence[ResolvedField]) -> Body:
    """Entities that have an item in any field where it may occur."""
    return any_of([occurs_in(f.name, patterns) for f, patterns in zip(fields, item.places, strict=True) if patterns])


def near(item: Item, fields: Sequence[ResolvedField]) -> list[Body]:
    """Entities that have a phrase or window of an item, one body per field and pattern."""
    return [
        _positional(f.name, pattern)
        for f, patterns in zip(fields, item.places, strict=True)
        for pattern in patterns
        if not pattern.is_word
    ]


def any_of(clauses: Sequence[Body]) -> Body:
    """The disjunction of at least one clause."""
    return clauses[0] if len(clauses) == 1 else {"bool": {"should": list(clauses)}}


def belongs(part: Item | ItemGroup, fields: Sequence[ResolvedField], depth: int = 0) -> Body:
    """Entities that match a part of a query.

    Raises:
        TextQueryError: groups are nested too deeply.
    """
    if isinstance(part, Item):
        return occurs(part, fields)
    if depth > MAX_DEPTH:
        raise TextQueryError(
            f"more than {MAX_DEPTH} groups inside each other, which Elasticsearch does not accept",
            hint="write fewer parentheses: +(a +(b c)) means +a +(b c)",
        )
    if not (part.must or part.should):
        return NOTHING
    clauses: Body = {"filter": part.must, "must_not": part.excluded}
    if not part.must:
        clauses = {"should": part.should, "must_not": part.excluded}
    query: Body = {key: [belongs(one, fields, depth + 1) for one in parts] for key, parts in clauses.items() if parts}
    return {"bool": query | ({} if part.must else {"minimum_should_match": 1})}


def matches(
    query: ResolvedQuery, conditions: Sequence[Body], scoring: Sequence[Body] = (), documents: Ids | None = None
) -> Body:
    """Entities that match a query.

    Args:
        query: the MATCH.
        conditions: further filters.
        scoring: clauses whose scores are added up, one per scoring item; with none the query only filters.
        documents: numbers of the documents of the candidate set, at most 65,536; None for all.
    """
    filters = [] if scoring and query.matching.any_of_its_items else [belongs(query.matching, query.fields)]
    filters += conditions
    if documents is not None:
        filters.append({"terms": {"node": documents.tolist()}})
    # The scoring clauses have a query of their own: among others Lucene first adds some up in 32 bits.
    parts: Body = {"must": [{"bool": {"should": list(scoring)}}] if scoring else [], "filter": filters}
    return {"bool": {key: value for key, value in parts.items() if value}}


def counted(field: str, words: Sequence[str], script: Body) -> Body:
    """Entities with any of the words in a field, scored by a script that sees the words' frequencies."""
    return {"script_score": {"query": any_of([_word(field, word) for word in words]), "script": script}}


def frequencies(items: Sequence[tuple[int, Item]], fields: Sequence[ResolvedField]) -> list[list[Body]]:
    """Clauses whose scores are term frequencies of words, named `<number>.<field's place>`; in groups of at most
    WORDS_AT_ONCE words.
    """
    groups: list[list[Body]] = []
    room = 0
    for number, item in items:
        for place, (field, patterns) in enumerate(zip(fields, item.places, strict=True)):
            if words := words_of(patterns):
                clause = counted(field.name, words, {"source": TERM_FREQUENCY})
                clause["script_score"]["_name"] = f"{number}.{place}"
                if len(words) > room:
                    groups.append([])
                    room = WORDS_AT_ONCE
                groups[-1].append(clause)
                room -= len(words)
    return groups


def condition(wanted: PushdownCondition | AnyCondition, filters: Sequence[str]) -> Body:
    """The filter of a condition on predicates of the profile's `filters`."""
    if isinstance(wanted, AnyCondition):
        branches = [{"bool": {"filter": [condition(one, filters) for one in branch]}} for branch in wanted.branches]
        return {"bool": {"should": branches, "minimum_should_match": 1}}
    number = filters.index(wanted.predicate)
    if wanted.equals is not None:
        return {"term": {f"filter.p{number}": {"value": wanted.equals}}}
    # Elasticsearch distinguishes -0.0 from 0.0.
    bounds = {key: value + 0.0 for key, value in (("gte", wanted.low), ("lte", wanted.high)) if value is not None}
    return {"range": {f"filter.n{number}": bounds}}


def _word(field: str, word: str) -> Body:
    return {"term": {path(field): {"value": word}}}


def _positional(field: str, pattern: Pattern) -> Body:
    return _window(field, pattern) if pattern.window else _phrase(field, pattern)


def _phrase(field: str, pattern: Pattern) -> Body:
    last = pattern.words[-1][0]
    if last >= VALUE_GAP:
        raise TextQueryError(
            f"a phrase of {last + 1:,} words; at most {VALUE_GAP:,} in Elasticsearch", hint="use a shorter phrase"
        )
    places = [GAP] * (last + 1)
    for position, term in pattern.words:
        places[position] = term
    return {"match_phrase": {path(field): {"query": SEPARATOR.join(places), "analyzer": TERMS}}}


def _window(field: str, pattern: Pattern) -> Body:
    """Entities with the words within so many places, in any order."""
    words = [term for _, term in pattern.words]
    if pattern.window > VALUE_GAP:
        raise TextQueryError(
            f"a window of {pattern.window:,} words; at most {VALUE_GAP:,} in Elasticsearch", hint="use a smaller one"
        )
    if len(words) > pattern.window:
        return NOTHING
    rule: Body = {"ordered": False, "intervals": [{"match": {"query": word}} for word in words]}
    return {"intervals": {path(field): {"all_of": rule | {"max_gaps": pattern.window - len(words)}}}}
