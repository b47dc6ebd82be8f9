"""Mistakes in triple terms, reified triples and annotations."""

from __future__ import annotations

from hybridkg.query.diagnostics.entry import Help

TRIPLE_TERMS: tuple[Help, ...] = (
    Help(
        "a reified triple names a node of a pattern, and is not a value",
        "write a triple term: <<( ?s ?p ?o )>>",
        (
            "SELECT * { BIND(<< ?s ?p ?o >> AS ?t) }",
            "SELECT * { FILTER(?t = << ?s ?p ?o >>) }",
            "SELECT * { FILTER(STR(<< ?s ?p ?o >>)) }",
            "SELECT * { VALUES ?t { << <e:s> <e:p> 1 >> } }",
            "SELECT * { VALUES (?t) { (<< <e:s> <e:p> 1 >>) } }",
            "SELECT * { ?r ?q <<( ?s ?p << ?s ?p ?o >> )>> }",
        ),
    ),
    Help(
        "a triple needs a subject, a predicate and an object",
        "write the object before {found}",
        (
            "SELECT * { << ?s ?p >> }",
            "SELECT * { ?r ?q <<( ?s ?p )>> }",
            "SELECT * { BIND(<<( ?s ?p )>> AS ?t) }",
            "SELECT * { << ?s ?p ~ ?r >> }",
        ),
    ),
    Help(
        "a list has no place inside another triple",
        "bind its first node by a triple of its own: ?s ?p ?list",
        (
            "SELECT * { << ?s ?p (1) >> ?q ?o }",
            "SELECT * { << (1) ?p ?o >> ?q ?o }",
            "SELECT * { ?r ?q <<( ?s ?p (1) )>> }",
        ),
    ),
    Help(
        "an annotation needs a predicate and an object",
        "such as {| <http://example.org/since> 2001 |}",
        ("SELECT * { ?s ?p ?o {| |} }", "SELECT * { ?s ?p ?o {| ?q |} }", "SELECT * { ?s ?p ?o ~ ?r {| |} }"),
    ),
    Help('a version is a text in quotes: VERSION "1.2"', "", ("VERSION 1.2 SELECT * { }",)),
)
