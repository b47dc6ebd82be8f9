"""Natural shapes around one ranked pattern: 13 that fell off when this was written, and 16 that did not.

The targets are those of the design: what the shape should cost at 100,000 papers.
"""

from __future__ import annotations

from benchmarks.relational.draw import Draw
from benchmarks.relational.question import Constants, Question


def common(draw: Draw) -> Constants:
    """Words that a quarter of the papers match, in every second repetition nearly all."""
    own = draw.matches.texts["97 %" if draw.repetition // 2 % 2 else "25 %"]  # two draws for each: fresh, known
    return {"words": own[draw.repetition % len(own)]}


def with_venue(draw: Draw) -> Constants:
    """Common words and a venue."""
    return {**common(draw), "venue": draw.venue()}


def with_field(draw: Draw) -> Constants:
    """Common words and a field."""
    return {**common(draw), "field": draw.field()}


def with_author(draw: Draw) -> Constants:
    """Common words and an author."""
    return {**common(draw), "author": draw.author()}


def with_institution(draw: Draw) -> Constants:
    """Common words and an institution."""
    return {**common(draw), "institution": draw.institution()}


def with_years(draw: Draw) -> Constants:
    """Common words and a span of years."""
    low = draw.year()
    return {**common(draw), "low": low, "high": low + 3}


def with_papers(draw: Draw) -> Constants:
    """Common words and three papers."""
    return {**common(draw), "first": draw.paper(), "second": draw.paper(), "third": draw.paper()}


def two_texts(draw: Draw) -> Constants:
    """Two texts, common words both."""
    own = draw.matches.texts["25 %"]
    return {"words": own[2 * draw.repetition % len(own)], "others": own[(2 * draw.repetition + 1) % len(own)]}


CLIFFS = (
    Question(
        "the best 50 in a sub-select, then their authors",
        "SELECT ?p ?a ?s { { SELECT ?p ?s { ?p MATCH $words AS ?s } ORDER BY DESC(?s) LIMIT 50 } ?p :author ?a }",
        constants=common,
        target_ms=8,
    ),
    Question(
        "MINUS a MATCH",
        "SELECT ?p { ?p :venue :v$venue MINUS { ?p MATCH $words } }",
        constants=with_venue,
        target_ms=10,
    ),
    Question(
        "FILTER by STRLEN",
        "SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :title ?t FILTER(STRLEN(?t) > 60) } RANK BY ?s LIMIT 10",
        constants=common,
        target_ms=8,
    ),
    Question(
        "FILTER by REGEX",
        "SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :title ?t FILTER(REGEX(?t, '^lo')) } RANK BY ?s LIMIT 10",
        constants=common,
        target_ms=8,
    ),
    Question(
        "HAVING in a sub-select, then MATCH",
        "SELECT ?p ?s { { SELECT ?p { ?q :cites ?p } GROUP BY ?p HAVING(COUNT(?q) > 20) } ?p MATCH $words AS ?s } "
        "RANK BY ?s LIMIT 10",
        constants=common,
        target_ms=8,
    ),
    Question(
        "cited by matching, top ten by summed score",
        "SELECT ?q (SUM(?s) AS ?n) { ?p MATCH $words AS ?s . ?p :cites ?q } GROUP BY ?q ORDER BY DESC(?n) LIMIT 10",
        constants=common,
        target_ms=10,
    ),
    Question(
        "FILTER EXISTS a MATCH, on authors",
        "SELECT ?a { ?a :affiliation :i$institution FILTER EXISTS { ?p :author ?a . ?p MATCH $words } }",
        constants=with_institution,
        target_ms=10,
    ),
    Question(
        "ORDER BY score and year",
        "SELECT ?p ?s ?y { ?p MATCH $words AS ?s . ?p :year ?y } ORDER BY DESC(?s + 0.01 * (?y - 1975)) LIMIT 10",
        constants=common,
        target_ms=10,
    ),
    Question(
        "RANK BY score and year",
        "SELECT ?p ?s ?y { ?p MATCH $words AS ?s . ?p :year ?y } RANK BY ?s + 0.01 * (?y - 1975) LIMIT 10",
        constants=common,
        target_ms=10,
    ),
    Question(
        "FILTER by a score that nothing reaches",
        "SELECT ?p ?s { ?p MATCH $words AS ?s FILTER(?s > 30) } RANK BY ?s LIMIT 10",
        constants=common,
        target_ms=2,
    ),
    Question(
        "OPTIONAL MATCH under a venue",
        "SELECT ?p ?s { ?p :venue :v$venue OPTIONAL { ?p MATCH $words AS ?s } } LIMIT 10",
        constants=with_venue,
        target_ms=5,
    ),
    Question(
        "DISTINCT venues with LIMIT",
        "SELECT DISTINCT ?v { ?p MATCH $words . ?p :venue ?v } LIMIT 10",
        constants=common,
        target_ms=6,
    ),
    Question(
        "MINUS a MATCH from another",
        "SELECT ?p ?s { ?p MATCH $words AS ?s MINUS { ?p MATCH $others } } RANK BY ?s LIMIT 10",
        constants=two_texts,
        target_ms=10,
    ),
    Question("top ten", "SELECT ?p ?s { ?p MATCH $words AS ?s } RANK BY ?s LIMIT 10", constants=common),
    Question(
        "top ten of a venue",
        "SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :venue :v$venue } RANK BY ?s LIMIT 10",
        constants=with_venue,
    ),
    Question(
        "top ten of some years",
        "SELECT ?p ?s { ?p MATCH $words AS ?s . ?p :year ?y FILTER(?y >= $low && ?y <= $high) } RANK BY ?s LIMIT 10",
        constants=with_years,
    ),
    Question(
        "top ten along a path",
        "SELECT DISTINCT ?p ?s { ?p MATCH $words AS ?s . ?p :author/:affiliation :i$institution } RANK BY ?s LIMIT 10",
        constants=with_institution,
    ),
    Question(
        "top ten without a field",
        "SELECT ?p ?s { ?p MATCH $words AS ?s FILTER NOT EXISTS { ?p :field :f$field } } RANK BY ?s LIMIT 10",
        constants=with_field,
    ),
    Question(
        "top ten of an author or of co-authors",
        "SELECT DISTINCT ?p ?s { ?p MATCH $words AS ?s { ?p :author :a$author } UNION { ?p :author/^:author ?q . "
        "?q :author :a$author } } RANK BY ?s LIMIT 10",
        constants=with_author,
    ),
    Question(
        "top ten with their DOIs",
        "SELECT ?p ?s ?d { ?p MATCH $words AS ?s OPTIONAL { ?p :doi ?d } } RANK BY ?s LIMIT 10",
        constants=common,
    ),
    Question(
        "two texts",
        "SELECT ?p ?s ?r { ?p MATCH $words AS ?s . ?p MATCH $others AS ?r } RANK BY ?s + ?r LIMIT 10",
        constants=two_texts,
    ),
    Question(
        "either of two texts",
        "SELECT ?p ?s { { ?p MATCH $words AS ?s } UNION { ?p MATCH $others AS ?s } } RANK BY ?s LIMIT 10",
        constants=two_texts,
    ),
    Question(
        "a text cites another",
        "SELECT ?p ?q ?s ?r { ?p MATCH $words AS ?s . ?p :cites ?q . ?q MATCH $others AS ?r } RANK BY ?s + ?r LIMIT 10",
        constants=two_texts,
    ),
    Question(
        "VALUES of papers",
        "SELECT ?p ?s { VALUES ?p { :p$first :p$second :p$third } ?p MATCH $words AS ?s } RANK BY ?s LIMIT 10",
        constants=with_papers,
    ),
    Question(
        "BIND of a score",
        "SELECT ?p ?r { ?p MATCH $words AS ?s BIND(2 * ?s AS ?r) } RANK BY ?s LIMIT 10",
        constants=common,
    ),
    Question(
        "a later page",
        "SELECT ?p ?s { ?p MATCH $words AS ?s } RANK BY ?s LIMIT 10 OFFSET 100",
        constants=common,
    ),
    Question(
        "ASK with a MATCH",
        "ASK { ?p MATCH $words . ?p :venue :v$venue }",
        constants=with_venue,
    ),
    Question(
        "CONSTRUCT of the best",
        "CONSTRUCT { ?p :title ?t } WHERE { ?p MATCH $words AS ?s . ?p :title ?t } RANK BY ?s LIMIT 10",
        constants=common,
    ),
    Question(
        "co-authors of an author",
        "SELECT DISTINCT ?p ?s { ?q :author :a$author ; :author ?a . ?p :author ?a . ?p MATCH $words AS ?s } "
        "RANK BY ?s LIMIT 10",
        constants=with_author,
    ),
)
