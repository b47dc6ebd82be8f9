"""Mistakes in NEAR, the functions of RANK BY, and RERANK."""

from __future__ import annotations

from hybridkg.query.diagnostics.entry import Help
from hybridkg.query.diagnostics.ranking import MODIFIER_ORDER, NEAR_ORDER, RERANK_ORDER

FUSION_ELSEWHERE = Help(
    "functions of all scores, such as rrf and minmax, stand in RANK BY only",
    "they are functions of the scores of all rows: RANK BY rrf(?t, ?v)",
    (
        "SELECT * { } ORDER BY rrf(?t)",
        "SELECT * { } ORDER BY ?x zscore(?t)",
        "SELECT * { } GROUP BY minmax(?t)",
        "SELECT * { } HAVING minmax(?t)",
    ),
)
"""For the name of a function with its arguments; any other word in its place is a name without a prefix."""

VECTORS: tuple[Help, ...] = (
    Help(
        "NEAR needs a text in quotes, an entity, a variable or a vector",
        'such as NEAR "translation without parallel text", NEAR <http://...> or NEAR [0.1, 0.2]',
        (
            "SELECT * { ?e NEAR }",
            "SELECT * { ?e NEAR AS ?s }",
            "SELECT * { ?e NEAR words }",
            "SELECT * { ?e NEAR 5 }",
            "SELECT * { ?e NEAR (0.1, 0.2) }",
            'SELECT * { ?e NEAR ALL "x" }',
            'SELECT * { ?e NEAR QUERY "x" }',
        ),
    ),
    Help(
        "a vector is a list of numbers, with commas between them",
        "such as [0.1, -0.2, 3]",
        ("SELECT * { ?e NEAR [] }", "SELECT * { ?e NEAR [0.1 0.2] }", "SELECT * { ?e NEAR [0.1, ] }"),
    ),
    Help(
        "NEAR needs its variable before it",
        'write ?x NEAR "..." as a pattern of its own, after a dot',
        (
            'SELECT * { NEAR "x" }',
            'SELECT * { ?s ?p ?o . NEAR "x" }',
            'SELECT * { ?s ?p ?o ; NEAR "x" }',
            'SELECT * { <e:x> NEAR "x" }',
        ),
    ),
    Help(
        "WITHIN needs a number",
        "the minimum similarity, such as WITHIN 0.5",
        ('SELECT * { ?e NEAR "x" WITHIN ?d }', 'SELECT * { ?e NEAR "x" WITHIN }'),
    ),
    Help(
        "NEAR searches vectors, which have no fields",
        f"leave ON out; {NEAR_ORDER}",
        ('SELECT * { ?e NEAR "x" ON (title) }',),
    ),
    Help(
        "a MATCH and a NEAR end with '.'",
        "';' continues a triple; write '.' and the variable again: ?x MATCH 'words' . ?x :property ?y",
        (
            'SELECT * { ?e MATCH "x" ; a ?c }',
            'SELECT * { ?e MATCH "x" ON (title) ; a ?c }',
            'SELECT * { ?e MATCH "x" AS ?s ; a ?c }',
            'SELECT * { ?e NEAR "x" TOP 5 ; a ?c }',
        ),
    ),
    Help(
        "the arguments of a rank function are scores, with commas between them",
        "such as rrf(?t, ?v), rrf(?t^2, ?v, k=60), minmax(?t) or zscore(?t)",
        (
            "SELECT * { } RANK BY rrf()",
            "SELECT * { } RANK BY rrf(?t ?v)",
            "SELECT * { } RANK BY rrf(?t, 60)",
            "SELECT * { } RANK BY rrf(?t + 1)",
            "SELECT * { } RANK BY rrf ?t",
            "SELECT * { } RANK BY minmax",
        ),
    ),
    FUSION_ELSEWHERE,
    Help(
        "RERANK needs a number of rows and a reranker",
        RERANK_ORDER,
        (
            "SELECT * { } RERANK USING m",
            "SELECT * { } RERANK 10 USING m",
            "SELECT * { } RERANK TOP 10",
            "SELECT * { } RERANK TOP 10 m",
        ),
    ),
    Help(
        "RERANK stands behind ORDER BY or RANK BY, and before LIMIT",
        MODIFIER_ORDER,
        (
            "SELECT * { } LIMIT 5 RERANK TOP 10 USING m",
            "SELECT * { } RERANK TOP 10 USING m RANK BY ?x",
            "SELECT * { } RERANK TOP 10 USING m ORDER BY ?x",
        ),
    ),
)
