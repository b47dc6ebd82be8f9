"""Questions around one MATCH whose whole relation matters, at three numbers of matches."""

from __future__ import annotations

from functools import partial

from benchmarks.relational.draw import Draw
from benchmarks.relational.matches import SHARES
from benchmarks.relational.question import Constants, Question

_FORMS = {
    "COUNT of the matches": (
        "SELECT (COUNT(?p) AS ?n) { ?p MATCH $words }",
        "SELECT COUNT(*) FROM matched m",
        (),
    ),
    "experts, top ten": (
        "SELECT ?i (SUM(?s) AS ?n) { ?p MATCH $words AS ?s . ?p :author ?a . ?a :affiliation ?i } GROUP BY ?i "
        "ORDER BY DESC(?n) LIMIT 10",
        "SELECT a.affiliation, SUM(m.score) AS n FROM matched m JOIN written w ON w.paper = m.id "
        "JOIN author a ON a.id = w.author GROUP BY a.affiliation ORDER BY n DESC LIMIT 10",
        (1,),
    ),
    "matches per year": (
        "SELECT ?y (COUNT(?p) AS ?n) { ?p MATCH $words . ?p :year ?y } GROUP BY ?y",
        "SELECT p.year, COUNT(*) FROM matched m JOIN paper p ON p.id = m.id GROUP BY p.year",
        (),
    ),
    "best score per venue": (
        "SELECT ?v (MAX(?s) AS ?n) { ?p MATCH $words AS ?s . ?p :venue ?v } GROUP BY ?v",
        "SELECT p.venue, MAX(m.score) FROM matched m JOIN paper p ON p.id = m.id GROUP BY p.venue",
        (),
    ),
    "DISTINCT authors": (
        "SELECT DISTINCT ?a { ?p MATCH $words . ?p :author ?a }",
        "SELECT DISTINCT w.author FROM matched m JOIN written w ON w.paper = m.id",
        (),
    ),
    "all rows with year and score": (
        "SELECT ?p ?y ?s { ?p MATCH $words AS ?s . ?p :year ?y }",
        "SELECT p.id, p.year, m.score FROM matched m JOIN paper p ON p.id = m.id",
        (),
    ),
    "the ten newest that match": (
        "SELECT ?p ?y { ?p MATCH $words . ?p :year ?y } ORDER BY DESC(?y) LIMIT 10",
        "SELECT p.id, p.year AS y FROM matched m JOIN paper p ON p.id = m.id ORDER BY y DESC LIMIT 10",
        (1,),
    ),
}
"""SPARQL, SQL over a table of the matches and scores that is there before the clock starts, and the ordered columns."""
MATCH = "the match alone"
FORMS = tuple(_FORMS)


def words(share: str, draw: Draw) -> Constants:
    """A text that a share of the papers matches; of another repetition, another text."""
    own = draw.matches.texts[share]
    return {"words": own[draw.repetition % len(own)]}


HYBRID = tuple(
    Question(f"{name}, {share}", sparql, f"$words|{sql}", constants=partial(words, share), keys=keys, by_hand=name)
    for share in SHARES
    for name, (sparql, sql, keys) in _FORMS.items()
) + tuple(Question(f"{MATCH}, {share}", constants=partial(words, share), by_hand=MATCH) for share in SHARES)
"""The forms by share, and the match alone, which only the arrays are asked."""
