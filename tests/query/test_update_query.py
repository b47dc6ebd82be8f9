"""The SELECT of a modification: its solutions, put into the templates, give what Oxigraph's own update gives."""

from __future__ import annotations

from contextlib import suppress

import pyoxigraph as ox
import pytest
from generated_updates import datasets, dumped, loaded, modifications
from hypothesis import given, settings
from sampling import examples

from hybridkg.errors import HybridkgError
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.checks.check_update import check_update
from hybridkg.query.parser import parse, parse_update
from hybridkg.query.update_query import query_of
from hybridkg.query.write import write


def modification(text: str) -> ast.Modify:
    return parse_update(text).operations[0]


def term(node, solution, new):
    match node:
        case ast.Var(name):
            return solution.get(name)
        case ast.Iri(value):
            return ox.NamedNode(value)
        case ast.Blank(label):
            return new.setdefault(label, ox.BlankNode())
        case ast.Lit():
            return ox.Literal(node.lexical, datatype=ox.NamedNode(node.datatype))


def made(quads, solutions, default):
    """The quads of a template; those with an unbound variable, or of a wrong kind, are left out."""
    found = set()
    for solution in solutions:
        new = {}
        for block in quads:
            for triple in block.triples:
                terms = [term(node, solution, new) for node in (triple.subject, triple.predicate, triple.object)]
                graph = default if block.graph is None else term(block.graph, solution, new)
                if None in (*terms, graph) or not isinstance(graph, ox.NamedNode | ox.DefaultGraph):
                    continue
                if isinstance(terms[0], ox.Literal) or not isinstance(terms[1], ox.NamedNode):
                    continue
                found.add(ox.Quad(*terms, graph))
    return found


def run(store, modify):
    """SPARQL 1.1 Update section 4.3.3, by the solutions of `query_of`."""
    solutions = store.query(write(query_of(modify)))
    names = [variable.value for variable in solutions.variables]
    rows = [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in solutions]
    default = ox.DefaultGraph() if modify.with_graph is None else ox.NamedNode(modify.with_graph.value)
    deleted, inserted = made(modify.delete, rows, default), made(modify.insert, rows, default)
    for quad in deleted:
        store.remove(quad)
    store.extend(inserted)


@settings(deadline=None, max_examples=examples(30, 3000))
@given(modifications(), datasets())
def test_the_solutions_give_the_change_that_oxigraph_makes(text, quads):
    try:
        check_update(parse_update(text))
    except HybridkgError:
        return
    one, other = loaded(quads), loaded(quads)
    one.update(text)
    run(other, modification(text))
    assert dumped(one) == dumped(other)


@settings(deadline=None, max_examples=examples(18, 500))
@given(modifications())
def test_the_query_of_a_checked_modification_passes_the_checks_of_queries(text):
    try:
        check_update(parse_update(text))
    except HybridkgError:
        return
    query = query_of(modification(text))
    check(query)
    assert parse(write(query)) == query


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "DELETE { ?b <e:p> ?a } INSERT { GRAPH ?g { ?a ?c 1 } } WHERE { ?a ?b ?c ; <e:x> ?g }",
            "SELECT ?b ?a ?g ?c\nWHERE {\n  ?a ?b ?c ;\n    <e:x> ?g .\n}",
        ),
        (
            "WITH <e:w> INSERT { ?x <e:p> ?s } USING <e:g> USING NAMED <e:h> WHERE { ?x MATCH 'a' AS ?s } "
            "RANK BY ?s LIMIT 2 OFFSET 1",
            'SELECT ?x ?s\nFROM <e:g>\nFROM NAMED <e:h>\nWHERE {\n  ?x MATCH "a" AS ?s .\n}\n'
            "RANK BY ?s\nLIMIT 2\nOFFSET 1",
        ),
        (
            "WITH <e:w> INSERT { ?x <e:p> ?r } WHERE { ?x MATCH 'a' AS ?s } RANK BY ?s AS ?r",
            'SELECT ?x ?r\nWHERE {\n  ?x MATCH "a" AS ?s .\n}\nRANK BY ?s AS ?r',
        ),
        ("INSERT { _:b <e:p> 1 } WHERE { ?y ?x 1 }", "SELECT ?x\nWHERE {\n  ?y ?x 1 .\n}"),
        ("INSERT { <e:a> <e:p> 1 } WHERE { }", "SELECT *\nWHERE {}"),
        ("DELETE WHERE { ?s <e:p> 1 GRAPH ?g { } }", "SELECT ?s ?g\nWHERE {\n  ?s <e:p> 1 .\n  GRAPH ?g {}\n}"),
    ],
)
def test_the_text_of_the_query(text, expected):
    assert write(query_of(modification(text))) == expected


@pytest.mark.parametrize(
    "where",
    [
        "{ }",
        "{ FILTER NOT EXISTS { ?s ?p ?o } }",
        "{ OPTIONAL { ?s ?p ?o } }",
        "{ VALUES ?x { 1 } }",
        "{ { SELECT * { } } }",
        "{ SELECT (COUNT(*) AS ?n) { ?s ?p ?o } }",
        "{ MINUS { ?s ?p ?o } }",
    ],
)
def test_with_a_graph_that_is_not_there_the_default_graph_is_empty(where):
    # GRAPH <e:new> around the pattern would leave no solution (section 18.6).
    store = ox.Store()
    run(store, modification("WITH <e:new> INSERT { <e:a> <e:p> <e:b> } WHERE " + where))
    assert [str(quad.graph_name) for quad in store] == ["<e:new>"]


WITHIN = """WITH <e:w> INSERT { ?s <e:p> ?o } WHERE {
  _:b <e:p> ?s FILTER(?s != 1) _:b <e:q> ?o . ?s MATCH "a" AS ?m
  GRAPH ?g { ?s ?p ?o FILTER EXISTS { ?o ?p ?s } }
  BIND(EXISTS { ?s <e:r> 2 } AS ?e)
  ?o <e:r> 3
  SERVICE <e:s> { ?s ?q ?o }
  { SELECT ?s { ?s ?p 4 } HAVING (EXISTS { ?s ?p 5 }) }
} ORDER BY (EXISTS { ?o ?p 6 })"""


WITHIN_QUERY = """\
SELECT ?s ?o
WHERE {
  ?s MATCH "a" AS ?m .
  GRAPH <e:w> {
    _:b <e:p> ?s ;
      <e:q> ?o .
  }
  GRAPH ?g {
    ?s ?p ?o .
    FILTER EXISTS {
      ?o ?p ?s .
    }
  }
  BIND(EXISTS {
    GRAPH <e:w> {
      ?s <e:r> 2 .
    }
  } AS ?e)
  GRAPH <e:w> {
    ?o <e:r> 3 .
  }
  SERVICE <e:s> {
    ?s ?q ?o .
  }
  {
    SELECT ?s
    WHERE {
      GRAPH <e:w> {
        ?s ?p 4 .
      }
    }
    HAVING (EXISTS {
      GRAPH <e:w> {
        ?s ?p 5 .
      }
    })
  }
  FILTER(?s != 1)
}
ORDER BY ASC(EXISTS {
  GRAPH <e:w> {
    ?o ?p 6 .
  }
})"""


def test_what_reads_the_default_graph_reads_that_of_with():
    assert write(query_of(modification(WITHIN))) == WITHIN_QUERY


NESTED = {
    "groups": lambda n: "{" * n + "?s ?p ?o" + "}" * n,
    "optional groups": lambda n: "{ OPTIONAL" * n + "{ ?s ?p ?o }" + "}" * n,
    "sub-selects": lambda n: "{ { SELECT * " * (n // 2) + "{ ?s ?p ?o }" + "} }" * (n // 2),
    "EXISTS": lambda n: "{ FILTER EXISTS" * n + "{ ?s ?p ?o }" + "}" * n,
    "a chain": lambda n: "{ FILTER(" + "||".join(["EXISTS { ?s ?p ?o }"] * n) + ") }",
}


@pytest.mark.parametrize("shape", NESTED.values(), ids=NESTED)
def test_the_deepest_patterns_are_rewritten(shape):
    def accepted(n):
        with suppress(HybridkgError):
            return modification("WITH <e:g> DELETE { ?s ?p ?o } WHERE " + shape(n))

    deepest = next(found for n in range(160, 40, -3) if (found := accepted(n)) is not None)
    query = query_of(deepest)
    check(query)
    assert write(query).count("GRAPH <e:g>") == write(deepest).split("WHERE", 1)[1].count("?s ?p ?o")


def test_a_solution_counts_as_often_as_it_occurs():
    store = ox.Store()
    store.update("INSERT DATA { <e:a> <e:p> 1, 2 }")
    run(store, modification("INSERT { [] <e:of> ?s } WHERE { ?s <e:p> ?o }"))
    assert sum(quad.predicate.value == "e:of" for quad in store) == 2
