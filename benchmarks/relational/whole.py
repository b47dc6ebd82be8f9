"""Questions over the whole graph: aggregates, orders, and patterns with a cycle."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.relational.question import Question

_WHOLE = (
    Question(
        "most cited ten papers",
        "SELECT ?p (COUNT(?q) AS ?n) { ?q :cites ?p } GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 10",
        "SELECT c.cited, COUNT(*) AS n FROM cites c GROUP BY c.cited ORDER BY n DESC, c.cited LIMIT 10",
        "MATCH (q:Paper)-[:CITES]->(p:Paper) RETURN p.id AS i, COUNT(q) AS n ORDER BY n DESC, i LIMIT 10",
        keys=(0, 1),
    ),
    Question(
        "papers a year",
        "SELECT ?y (COUNT(?p) AS ?n) { ?p :year ?y } GROUP BY ?y",
        "SELECT p.year, COUNT(*) FROM paper p GROUP BY p.year",
        "MATCH (p:Paper) RETURN p.year, COUNT(*)",
    ),
    Question(
        "papers by field and year, top ten",
        "SELECT ?f ?y (COUNT(?p) AS ?n) { ?p :field ?f ; :year ?y } GROUP BY ?f ?y ORDER BY DESC(?n) LIMIT 10",
        "SELECT f.field, p.year, COUNT(*) AS n FROM in_field f JOIN paper p ON p.id = f.paper GROUP BY f.field, p.year "
        "ORDER BY n DESC LIMIT 10",
        "MATCH (p:Paper)-[:IN_FIELD]->(f:Field) RETURN f.id, p.year, COUNT(*) AS n ORDER BY n DESC LIMIT 10",
        keys=(2,),
    ),
    Question(
        "citations within one venue, counted",
        "SELECT (COUNT(*) AS ?n) { ?p :cites ?q ; :venue ?v . ?q :venue ?v }",
        "SELECT COUNT(*) FROM cites c JOIN paper p ON p.id = c.paper JOIN paper q ON q.id = c.cited "
        "WHERE p.venue = q.venue",
        "MATCH (p:Paper)-[:CITES]->(q:Paper), (p)-[:IN_VENUE]->(v:Venue)<-[:IN_VENUE]-(q) RETURN COUNT(*)",
    ),
    Question(
        "triples by predicate",
        "SELECT ?k (COUNT(*) AS ?n) { ?s ?k ?o } GROUP BY ?k",
        "SELECT 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type', (SELECT COUNT(*) FROM paper) + "
        "(SELECT COUNT(*) FROM author) + (SELECT COUNT(*) FROM institution) + (SELECT COUNT(*) FROM venue) + "
        "(SELECT COUNT(*) FROM field) "
        "UNION ALL SELECT '~name', (SELECT COUNT(*) FROM author) + (SELECT COUNT(*) FROM institution) + "
        "(SELECT COUNT(*) FROM venue) + (SELECT COUNT(*) FROM field) "
        "UNION ALL SELECT '~title', COUNT(title) FROM paper UNION ALL SELECT '~abstract', COUNT(abstract) FROM paper "
        "UNION ALL SELECT '~keywords', COUNT(keywords) FROM paper UNION ALL SELECT '~year', COUNT(year) FROM paper "
        "UNION ALL SELECT '~venue', COUNT(venue) FROM paper UNION ALL SELECT '~doi', COUNT(doi) FROM paper "
        "UNION ALL SELECT '~author', COUNT(*) FROM written UNION ALL SELECT '~field', COUNT(*) FROM in_field "
        "UNION ALL SELECT '~cites', COUNT(*) FROM cites "
        "UNION ALL SELECT '~affiliation', COUNT(affiliation) FROM author "
        "UNION ALL SELECT '~parent', COUNT(parent) FROM field",
        "MATCH (p) RETURN 'http://www.w3.org/1999/02/22-rdf-syntax-ns#type' AS k, COUNT(*) AS n "
        "UNION ALL MATCH (p:Author:Institution:Venue:Field) RETURN '~name' AS k, COUNT(p.name) AS n "
        "UNION ALL MATCH (p:Paper) RETURN '~title' AS k, COUNT(p.title) AS n "
        "UNION ALL MATCH (p:Paper) RETURN '~abstract' AS k, COUNT(p.abstract) AS n "
        "UNION ALL MATCH (p:Paper) RETURN '~keywords' AS k, COUNT(p.keywords) AS n "
        "UNION ALL MATCH (p:Paper) RETURN '~year' AS k, COUNT(p.year) AS n "
        "UNION ALL MATCH (p:Paper) RETURN '~doi' AS k, COUNT(p.doi) AS n "
        "UNION ALL MATCH ()-[e:IN_VENUE]->() RETURN '~venue' AS k, COUNT(*) AS n "
        "UNION ALL MATCH ()-[e:WRITTEN_BY]->() RETURN '~author' AS k, COUNT(*) AS n "
        "UNION ALL MATCH ()-[e:IN_FIELD]->() RETURN '~field' AS k, COUNT(*) AS n "
        "UNION ALL MATCH ()-[e:CITES]->() RETURN '~cites' AS k, COUNT(*) AS n "
        "UNION ALL MATCH ()-[e:AFFILIATION]->() RETURN '~affiliation' AS k, COUNT(*) AS n "
        "UNION ALL MATCH ()-[e:PARENT]->() RETURN '~parent' AS k, COUNT(*) AS n",
    ),
    Question(
        "pairs of co-authors, counted",
        "SELECT (COUNT(*) AS ?n) { ?p :author ?a ; :author ?b FILTER(?a != ?b) }",
        "SELECT COUNT(*) FROM written a JOIN written b ON a.paper = b.paper WHERE a.author <> b.author",
        "MATCH (a:Author)<-[:WRITTEN_BY]-(p:Paper)-[:WRITTEN_BY]->(b:Author) WHERE a.id <> b.id RETURN COUNT(*)",
    ),
    Question(
        "ten newest papers",
        "SELECT ?p ?y { ?p :year ?y } ORDER BY DESC(?y) LIMIT 10",
        "SELECT p.id, p.year AS y FROM paper p ORDER BY y DESC LIMIT 10",
        "MATCH (p:Paper) RETURN p.id, p.year AS y ORDER BY y DESC LIMIT 10",
        keys=(1,),
    ),
)
_TRIANGLES = (
    Question(
        "three papers that cite each other, counted",
        "SELECT (COUNT(*) AS ?n) { ?p :cites ?q . ?q :cites ?r . ?p :cites ?r }",
        "SELECT COUNT(*) FROM cites a JOIN cites b ON b.paper = a.cited JOIN cites c ON c.paper = a.paper "
        "AND c.cited = b.cited",
        "MATCH (p:Paper)-[:CITES]->(q:Paper)-[:CITES]->(r:Paper), (p)-[:CITES]->(r) RETURN COUNT(*)",
    ),
    Question(
        "three co-authors, counted",
        "SELECT (COUNT(*) AS ?n) { ?p :author ?a ; :author ?b . ?q :author ?b ; :author ?c . "
        "?r :author ?c ; :author ?a FILTER(STR(?a) < STR(?b) && STR(?b) < STR(?c)) }",
        "SELECT COUNT(*) FROM written a JOIN written b ON b.paper = a.paper AND a.author < b.author "
        "JOIN written c ON c.author = b.author JOIN written d ON d.paper = c.paper AND c.author < d.author "
        "JOIN written e ON e.author = d.author JOIN written f ON f.paper = e.paper AND f.author = a.author",
        "MATCH (a:Author)<-[:WRITTEN_BY]-(p:Paper)-[:WRITTEN_BY]->(b:Author), "
        "(b)<-[:WRITTEN_BY]-(q:Paper)-[:WRITTEN_BY]->(c:Author), "
        "(c)<-[:WRITTEN_BY]-(r:Paper)-[:WRITTEN_BY]->(a) WHERE a.id < b.id AND b.id < c.id RETURN COUNT(*)",
    ),
)
WHOLE, TRIANGLES = (tuple(replace(one, by_hand=one.name) for one in group) for group in (_WHOLE, _TRIANGLES))
