"""A search: writes the query, runs it by the facade, and names what it found."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hybridkg.errors import IndexMissingError, QuerySyntaxError, UserError
from hybridkg.kb.search.advice import advice_about_words, advice_for
from hybridkg.kb.search.base import SearchedBase
from hybridkg.kb.search.conditions import read_conditions
from hybridkg.kb.search.facets import facets_of
from hybridkg.kb.search.queries import SearchQueries
from hybridkg.kb.search.query_words import words_by_term
from hybridkg.kb.search.result import Facet, Hit, Reason, SearchResult
from hybridkg.kb.search.type_names import resolve_types
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node
from hybridkg.results.result import Row
from hybridkg.results.result_set import ResultSet

if TYPE_CHECKING:
    from hybridkg.kb.reading import ReadableKnowledgeBase

MAX_LIMIT = 10_000
"""Hits of one search: each has its labels, types and reasons read."""

TITLE_FIELDS = ("label", "title", "name")
"""Fields whose text names an entity that has no label, such as a document that is not in the graph."""


@dataclass(frozen=True)
class SearchOptions:
    """The keywords of `kb.search`, which documents them."""

    types: Sequence[str] = ()
    where: Sequence[str] = ()
    facets: bool = False
    limit: int = 10
    near: bool = False
    query_string: bool = False
    language: str = ""
    timeout: float | None = None
    cancel: threading.Event | None = None


def search(kb: ReadableKnowledgeBase, text: str, options: SearchOptions) -> SearchResult:
    """The entities that match a text; see `KnowledgeBase.search`."""
    snapshot = snapshot_of(kb)
    if not isinstance(text, str):
        raise UserError(
            f"the text of a search is a string, not a {type(text).__name__}", hint="write all words into one string"
        )
    if not text.strip():
        raise QuerySyntaxError("there is no word to search for", hint="write some words")
    if type(options.limit) is not int or not 1 <= options.limit <= MAX_LIMIT:
        raise UserError(f"the limit of a search is a number from 1 to {MAX_LIMIT:,}, not {options.limit!r}")
    if snapshot.text is None:
        raise IndexMissingError(
            "there is no text index to search in", hint="build it: hybridkg index KB\nin Python: kb.index()"
        )
    base = SearchedBase(kb, snapshot, {"timeout": options.timeout, "cancel": options.cancel})
    queries = SearchQueries(
        text,
        resolve_types(options.types, base),
        read_conditions(options.where, base.prefixes, base.predicates),
        base.prefixes,
        options.language,
        query_string=options.query_string,
        near=options.near,
    )
    query = queries.hits(options.limit)
    result = base.query(query)
    hits = _hits(result, base, words_by_term(text, snapshot, options.language))
    matches: int | None = None
    facets: tuple[Facet, ...] = ()
    if options.facets:
        matches = base.count(queries.count())
        facets = facets_of(queries, matches, base)
    advice = advice_about_words(queries, base) if hits else advice_for(queries, base)
    # The advice is about the words of the search, and W116 about the same words in the query.
    result = replace(result, warnings=tuple(one for one in result.warnings if one.code != "W116"))
    return SearchResult(text, query, hits, result, matches, facets, advice)


def _hits(result: ResultSet, base: SearchedBase, words: Mapping[str, str]) -> tuple[Hit, ...]:
    entity_column, score_column, passage_column = result.columns
    entities: list[Node] = [
        node for row in result if isinstance(node := row.term(entity_column), NamedNode | BlankNode)
    ]
    labels, types = base.labels_of(entities), base.types_of(entities)
    class_names = base.class_names(dict.fromkeys(iri for own in types.values() for iri in own))
    labels |= _titles([node for node in entities if node not in labels], base)
    hits = []
    for row, entity in zip(result, entities, strict=True):
        passage = row.term(passage_column)
        own = types.get(entity, ())
        hits.append(
            Hit(
                entity,
                labels.get(entity) or base.shortened(entity),
                base.shortened(entity),
                own,
                tuple(class_names[iri] for iri in own),
                passage.value if isinstance(passage, Literal) else "",
                row.scores.get(score_column, 0.0),
                _reasons(row, words),
            )
        )
    return tuple(hits)


def _titles(nodes: Sequence[Node], base: SearchedBase) -> dict[Node, str]:
    """The text of a title field, of nodes whose label is not in the graph."""
    profile = base.snapshot.profile
    fields = [] if profile is None else [f for f in map(profile.field, TITLE_FIELDS) if f and not f.local_name]
    if not nodes or not fields:
        return {}
    texts = base.snapshot.texts(nodes, [field.name for field in fields])
    return {node: own[0][1] for node, own in zip(nodes, texts, strict=True) if own}


def _reasons(row: Row, words: Mapping[str, str]) -> tuple[Reason, ...]:
    """The contributions of a row's terms by field, the largest first."""
    shares: dict[str, float] = {}
    terms: dict[str, dict[str, float]] = {}
    reasons = []
    for hit in row.why(brief=True).hits:
        own = hit.explanation
        if not own.terms:
            reasons.append(Reason("similarity", own.score))
        for term in own.terms:
            for part in term.fields:
                if part.tf:
                    shares[part.name] = shares.get(part.name, 0.0) + part.contribution
                    terms.setdefault(part.name, {})[words.get(term.term, term.term)] = part.contribution
    for name, contribution in shares.items():
        ordered = sorted(terms[name].items(), key=lambda item: (-item[1], item[0]))
        reasons.append(Reason(name, contribution, tuple(word for word, _ in ordered)))
    return tuple(sorted(reasons, key=lambda reason: (reason.field == "similarity", -reason.contribution, reason.field)))
