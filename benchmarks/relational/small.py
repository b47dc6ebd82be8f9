"""Twenty small questions without ranks, one for each form of SPARQL that an application uses.

Authors, papers and venues have as many neighbours in a large graph as in a small one, so answers do not grow with it.
"""

from __future__ import annotations

from benchmarks.hybrid.texts import vocabulary
from benchmarks.relational.draw import Draw
from benchmarks.relational.question import Constants, Question


def paper(draw: Draw) -> Constants:
    """One paper."""
    return {"paper": draw.paper()}


def author(draw: Draw) -> Constants:
    """One author."""
    return {"author": draw.author()}


def venue(draw: Draw) -> Constants:
    """One venue."""
    return {"venue": draw.venue()}


def star(draw: Draw) -> Constants:
    """Field and venue of one paper."""
    own = draw.paper()
    return {"field": int(draw.graph.first_leaf[own]), "venue": int(draw.graph.venue[own])}


def years(draw: Draw) -> Constants:
    """A venue, and three years."""
    low = draw.year()
    return {"venue": draw.venue(), "low": low, "high": low + 2}


def work(draw: Draw) -> Constants:
    """An author, and the venue of one of the author's papers in every second text."""
    own = draw.paper()
    at = int(draw.graph.venue[own]) if draw.one(2) else draw.venue()
    return {"author": int(draw.graph.authors.at(own)[0]), "venue": at}


def three_papers(draw: Draw) -> Constants:
    """Three papers."""
    return {"first": draw.paper(), "second": draw.paper(), "third": draw.paper()}


def two_authors(draw: Draw) -> Constants:
    """Two authors."""
    return {"first": draw.author(), "second": draw.author()}


def syllables(draw: Draw) -> Constants:
    """A venue, and three letters of a word."""
    return {"venue": draw.venue(), "letters": vocabulary_word(draw)[:3]}


def vocabulary_word(draw: Draw) -> str:
    """One of the words that many titles have."""
    return vocabulary()[draw.one(200)]


SMALL = (
    Question(
        "look-up of one entity",
        "SELECT ?k ?o { :p$paper ?k ?o }",
        "SELECT 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type' AS k, '~Paper' AS o FROM paper a "
        "WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~title', a.title FROM paper a WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~abstract', a.abstract FROM paper a WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~keywords', a.keywords FROM paper a WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~year', CAST(a.year AS VARCHAR) FROM paper a WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~venue', a.venue FROM paper a WHERE a.id = '~p$paper' "
        "UNION ALL SELECT '~doi', a.doi FROM paper a WHERE a.id = '~p$paper' AND a.doi IS NOT NULL "
        "UNION ALL SELECT '~author', w.author FROM written w WHERE w.paper = '~p$paper' "
        "UNION ALL SELECT '~field', f.field FROM in_field f WHERE f.paper = '~p$paper' "
        "UNION ALL SELECT '~cites', c.cited FROM cites c WHERE c.paper = '~p$paper'",
        "MATCH (p:Paper {id: '~p$paper'}) "
        "RETURN 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type' AS k, '~Paper' AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'}) RETURN '~title' AS k, p.title AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'}) RETURN '~abstract' AS k, p.abstract AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'}) RETURN '~keywords' AS k, p.keywords AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'}) RETURN '~year' AS k, CAST(p.year AS STRING) AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'}) WHERE p.doi IS NOT NULL RETURN '~doi' AS k, p.doi AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'})-[:IN_VENUE]->(v:Venue) RETURN '~venue' AS k, v.id AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'})-[:WRITTEN_BY]->(a:Author) RETURN '~author' AS k, a.id AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'})-[:IN_FIELD]->(f:Field) RETURN '~field' AS k, f.id AS o "
        "UNION ALL MATCH (p:Paper {id: '~p$paper'})-[:CITES]->(q:Paper) RETURN '~cites' AS k, q.id AS o",
        paper,
    ),
    Question(
        "join of three",
        "SELECT ?a ?n { :p$paper :author ?a . ?a :affiliation ?i . ?i :name ?n }",
        "SELECT a.id, i.name FROM written w JOIN author a ON a.id = w.author "
        "JOIN institution i ON i.id = a.affiliation WHERE w.paper = '~p$paper'",
        "MATCH (p:Paper {id: '~p$paper'})-[:WRITTEN_BY]->(a:Author)-[:AFFILIATION]->(i:Institution) "
        "RETURN a.id, i.name",
        paper,
    ),
    Question(
        "star",
        "SELECT ?p ?y ?t { ?p a :Paper ; :field :f$field ; :venue :v$venue ; :year ?y ; :title ?t }",
        "SELECT p.id, p.year, p.title FROM paper p JOIN in_field f ON f.paper = p.id "
        "WHERE f.field = '~f$field' AND p.venue = '~v$venue'",
        "MATCH (p:Paper)-[:IN_FIELD]->(:Field {id: '~f$field'}), (p)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) "
        "RETURN p.id, p.year, p.title",
        star,
    ),
    Question(
        "group of a venue",
        "SELECT ?y (COUNT(?p) AS ?n) { ?p :venue :v$venue ; :year ?y } GROUP BY ?y",
        "SELECT p.year, COUNT(*) AS n FROM paper p WHERE p.venue = '~v$venue' GROUP BY p.year",
        "MATCH (p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) RETURN p.year, COUNT(*) AS n",
        venue,
    ),
    Question(
        "OPTIONAL",
        "SELECT ?p ?d { ?p :author :a$author . OPTIONAL { ?p :doi ?d } }",
        "SELECT p.id, p.doi FROM written w JOIN paper p ON p.id = w.paper WHERE w.author = '~a$author'",
        "MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$author'}) RETURN p.id, p.doi",
        author,
    ),
    Question(
        "NOT EXISTS",
        "SELECT ?p { ?p :venue :v$venue FILTER NOT EXISTS { ?p :doi ?d } }",
        "SELECT p.id FROM paper p WHERE p.venue = '~v$venue' AND p.doi IS NULL",
        "MATCH (p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) WHERE p.doi IS NULL RETURN p.id",
        venue,
    ),
    Question(
        "UNION",
        "SELECT ?p { { ?p :author :a$first } UNION { ?p :author :a$second } }",
        "SELECT w.paper FROM written w WHERE w.author = '~a$first' "
        "UNION ALL SELECT w.paper FROM written w WHERE w.author = '~a$second'",
        "MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$first'}) RETURN p.id AS p "
        "UNION ALL MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$second'}) RETURN p.id AS p",
        two_authors,
    ),
    Question(
        "VALUES",
        "SELECT ?p ?y ?t { VALUES ?p { :p$first :p$second :p$third } ?p :year ?y ; :title ?t }",
        "SELECT p.id, p.year, p.title FROM paper p WHERE p.id IN ('~p$first', '~p$second', '~p$third')",
        "UNWIND ['~p$first', '~p$second', '~p$third'] AS i MATCH (p:Paper {id: i}) RETURN p.id, p.year, p.title",
        three_papers,
    ),
    Question(
        "path",
        "SELECT DISTINCT ?f { ?p :author :a$author ; :field/:parent* ?f }",
        "WITH RECURSIVE r(id) AS (SELECT f.field FROM written w JOIN in_field f ON f.paper = w.paper "
        "WHERE w.author = '~a$author' UNION SELECT g.parent FROM r JOIN field g ON g.id = r.id "
        "WHERE g.parent IS NOT NULL) SELECT r.id FROM r",
        "MATCH (:Author {id: '~a$author'})<-[:WRITTEN_BY]-(:Paper)-[:IN_FIELD]->(g:Field) "
        "MATCH (g)-[:PARENT*0..3]->(f:Field) RETURN DISTINCT f.id",
        author,
    ),
    Question(
        "FILTER by number",
        "SELECT ?p ?y { ?p :venue :v$venue ; :year ?y FILTER(?y >= $low && ?y <= $high) }",
        "SELECT p.id, p.year FROM paper p WHERE p.venue = '~v$venue' AND p.year >= $low AND p.year <= $high",
        "MATCH (p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) WHERE p.year >= $low AND p.year <= $high "
        "RETURN p.id, p.year",
        years,
    ),
    Question(
        "FILTER by string",
        "SELECT ?p ?t { ?p :venue :v$venue ; :title ?t FILTER(CONTAINS(?t, $letters)) }",
        "SELECT p.id, p.title FROM paper p WHERE p.venue = '~v$venue' AND contains(p.title, $letters)",
        "MATCH (p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) WHERE p.title CONTAINS $letters RETURN p.id, p.title",
        syllables,
    ),
    Question(
        "ASK",
        "ASK { ?p :author :a$author ; :venue :v$venue }",
        "SELECT EXISTS (SELECT 1 FROM written w JOIN paper p ON p.id = w.paper "
        "WHERE w.author = '~a$author' AND p.venue = '~v$venue')",
        "OPTIONAL MATCH (:Author {id: '~a$author'})<-[:WRITTEN_BY]-(p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) "
        "RETURN COUNT(p) > 0",
        work,
    ),
    Question(
        "CONSTRUCT",
        "CONSTRUCT { ?a :wrote ?p } WHERE { ?p :field :f$field ; :venue :v$venue ; :author ?a }",
        "SELECT w.author, '~wrote', p.id FROM paper p JOIN in_field f ON f.paper = p.id "
        "JOIN written w ON w.paper = p.id WHERE f.field = '~f$field' AND p.venue = '~v$venue'",
        "MATCH (a:Author)<-[:WRITTEN_BY]-(p:Paper)-[:IN_FIELD]->(:Field {id: '~f$field'}), "
        "(p)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) RETURN a.id, '~wrote', p.id",
        star,
    ),
    Question(
        "DISTINCT",
        "SELECT DISTINCT ?v { ?q :author :a$author ; :author ?b . ?p :author ?b ; :venue ?v }",
        "SELECT DISTINCT p.venue FROM written w JOIN written x ON x.paper = w.paper "
        "JOIN written y ON y.author = x.author JOIN paper p ON p.id = y.paper WHERE w.author = '~a$author'",
        "MATCH (:Author {id: '~a$author'})<-[:WRITTEN_BY]-(:Paper)-[:WRITTEN_BY]->(:Author)<-[:WRITTEN_BY]-(p:Paper), "
        "(p)-[:IN_VENUE]->(v:Venue) RETURN DISTINCT v.id",
        author,
    ),
    Question(
        "ORDER BY of few",
        "SELECT ?p ?y { ?p :author :a$author ; :year ?y } ORDER BY DESC(?y) ?p",
        "SELECT p.id, p.year FROM written w JOIN paper p ON p.id = w.paper WHERE w.author = '~a$author' "
        "ORDER BY p.year DESC, p.id",
        "MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$author'}) RETURN p.id, p.year ORDER BY p.year DESC, p.id",
        author,
        keys=(0, 1),
    ),
    Question(
        "COUNT of few",
        "SELECT (COUNT(*) AS ?n) { ?q :cites :p$paper }",
        "SELECT COUNT(*) FROM cites c WHERE c.cited = '~p$paper'",
        "MATCH (q:Paper)-[:CITES]->(:Paper {id: '~p$paper'}) RETURN COUNT(*)",
        paper,
    ),
    Question(
        "sub-select",
        "SELECT ?p ?t { { SELECT ?p { ?p :author :a$author ; :year ?y } ORDER BY DESC(?y) ?p LIMIT 5 } ?p :title ?t }",
        "SELECT p.id, p.title FROM (SELECT q.id FROM written w JOIN paper q ON q.id = w.paper "
        "WHERE w.author = '~a$author' ORDER BY q.year DESC, q.id LIMIT 5) s JOIN paper p ON p.id = s.id",
        "MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$author'}) WITH p ORDER BY p.year DESC, p.id LIMIT 5 "
        "RETURN p.id, p.title",
        author,
    ),
    Question(
        "MINUS",
        "SELECT ?p { ?p :venue :v$venue MINUS { ?p :field :f$field } }",
        "SELECT p.id FROM paper p WHERE p.venue = '~v$venue' EXCEPT ALL "
        "SELECT f.paper FROM in_field f WHERE f.field = '~f$field'",
        "MATCH (p:Paper)-[:IN_VENUE]->(:Venue {id: '~v$venue'}) "
        "WHERE NOT EXISTS { MATCH (p)-[:IN_FIELD]->(:Field {id: '~f$field'}) } RETURN p.id",
        star,
    ),
    Question(
        "BIND",
        "SELECT ?p ?d { ?p :author :a$author ; :year ?y BIND(2026 - ?y AS ?d) }",
        "SELECT p.id, 2026 - p.year FROM written w JOIN paper p ON p.id = w.paper WHERE w.author = '~a$author'",
        "MATCH (p:Paper)-[:WRITTEN_BY]->(:Author {id: '~a$author'}) RETURN p.id, 2026 - p.year",
        author,
    ),
    Question(
        "functions of strings",
        "SELECT (UCASE(SUBSTR(?t, 1, 3)) AS ?u) (STRLEN(?t) AS ?n) (LANG(?t) AS ?l) { ?p :cites :p$paper ; :title ?t }",
        "SELECT upper(substr(p.title, 1, 3)), length(p.title), '' FROM cites c JOIN paper p ON p.id = c.paper "
        "WHERE c.cited = '~p$paper'",
        "MATCH (p:Paper)-[:CITES]->(:Paper {id: '~p$paper'}) RETURN upper(substring(p.title, 1, 3)), size(p.title), ''",
        paper,
    ),
)
