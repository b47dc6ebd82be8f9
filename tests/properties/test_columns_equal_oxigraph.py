"""Every plain query has the rows of Oxigraph, where columns answer it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from random import Random

import pyoxigraph as ox
import pytest
from generated_fragments import PROLOGUE, XSD, E
from generated_queries import form, query
from sampling import examples
from slow_patterns import holds

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import GRAPH_COLUMNS
from hybridkg.algebra.rules import rewrite
from hybridkg.errors import HybridkgError
from hybridkg.graph.build.reference_builder import columns_of
from hybridkg.graph.projection import Projection
from hybridkg.interfaces.strategy import strategy_of
from hybridkg.operators import expressions
from hybridkg.operators.context import ExecutionContext
from hybridkg.planner.cost_model import CostModel
from hybridkg.planner.planner_context import PlannerContext
from hybridkg.query import ast
from hybridkg.query.checks.check import check
from hybridkg.query.parser import parse
from hybridkg.query.write import write
from hybridkg.rdf.order import term_key, value_key
from hybridkg.store.oxigraph import OxigraphStore

pytestmark = pytest.mark.quick

ordered_by_value = cache(value_key)


@pytest.fixture(autouse=True, params=[0, expressions.MIN_TEXTS], ids=["bytes", "few texts"])
def texts_of_any_number(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Functions of strings are computed here: over bytes, however few the texts are, or one by one if they are few."""
    monkeypatch.setattr(expressions, "MIN_TEXTS", request.param)


def outcome(graph: list[ox.Triple], text: str) -> str:
    """What came of a case; the reason where it was declined."""
    try:
        parsed = parse(PROLOGUE + text)
        check(parsed)
    except HybridkgError:
        return "no query"
    return outcome_of(graph, parsed, text)


def outcome_of(graph: list[ox.Triple], parsed: ast.Query, text: str) -> str:
    """What came of a checked query."""
    logical = rewrite(from_ast(parsed))
    store = OxigraphStore.memory(graph)
    triples = [quad.triple for quad in _quads(graph)]
    terms = {term for t in triples for term in (t.subject, t.object)}
    entities = sorted((term for term in terms if not isinstance(term, ox.Literal)), key=term_key)[:: 1 + len(text) % 2]
    projection = Projection(
        columns_of(triples, entities), lambda expression, values: [holds(expression, v) for v in values]
    )
    root = strategy_of("columns").plan(logical, PlannerContext(projection))
    if root is None:
        return "no plan"
    context = ExecutionContext(
        store, None, None, lambda *_: [], OxigraphStore.memory, price=CostModel().price, graph=projection
    )
    found = context.run(root)
    if context.reasons:
        return "declined"
    compare(parsed.form, found, store, text)
    return "answered"


def compare(form: ast.QueryForm, found, store: OxigraphStore, text: str) -> None:
    """Checks the answer against that of the store."""
    if isinstance(form, ast.SelectQuery):
        compare_rows(form, found, store, text)
    elif isinstance(form, ast.AskQuery):
        assert found.variables == (), text
        assert (found.size > 0) == store.ask(write(form)), text
    else:
        assert found.variables == GRAPH_COLUMNS, text
        assert len(set(found.rows)) == found.size, f"{text}: a triple twice"
        want = [(t.subject, t.predicate, t.object) for t in store.triples(write(form))]
        stored = {term for t in store.triples(EVERYTHING) for term in (t.subject, t.object)}
        assert parts_of(found.rows, stored) == parts_of(want, stored), text


EVERYTHING = "CONSTRUCT WHERE { ?s ?p ?o }"


def parts_of(triples: Sequence[tuple], stored: set) -> Counter[frozenset]:
    """The triples without new blank nodes, each alone; and those of each set of new blank nodes that are connected.

    Such a set is that of one solution. Its nodes are named by their own triples, which tells those of the generated
    templates apart.
    """
    near: dict[ox.BlankNode, list[str]] = {}
    new = [[i for i in (0, 2) if isinstance(t[i], ox.BlankNode) and t[i] not in stored] for t in triples]
    for triple, at in zip(triples, new, strict=True):
        for i in at:
            near.setdefault(triple[i], []).append(f"{i} {shown(triple, dict.fromkeys((triple[j] for j in at), '_:'))}")
    names = {node: f"[{' '.join(sorted(own))}]" for node, own in near.items()}
    root = {node: node for node in near}
    for triple, at in zip(triples, new, strict=True):
        nodes = [root[triple[i]] for i in at]
        root = {node: nodes[0] if top in nodes else top for node, top in root.items()}
    parts: dict[object, list[str]] = {}
    for triple, at in zip(triples, new, strict=True):
        parts.setdefault(root[triple[at[0]]] if at else triple, []).append(shown(triple, names))
    return Counter(frozenset(part) for part in parts.values())


def shown(triple: tuple, names: dict) -> str:
    return " ".join(names.get(term, str(term)) for term in triple)


def compare_rows(form: ast.SelectQuery, found, store: OxigraphStore, text: str) -> None:
    stream = store.select(write(logical_form(form)))
    want, columns = list(stream.rows), stream.variables
    assert found.variables == columns, text
    modifiers = form.modifiers
    if modifiers.limit is None and not modifiers.offset:
        assert Counter(map(str, found.rows)) == Counter(map(str, want)), f"{text}"
    else:
        assert len(found.rows) == len(want), text
        whole = store.select(write(logical_form(unlimited(form))))
        assert not Counter(map(str, found.rows)) - Counter(map(str, whole.rows)), text
    keys = [key for key in modifiers.order_by if isinstance(key.expression, ast.Var)]
    if keys and len(keys) == len(modifiers.order_by) and all(key.expression.name in columns for key in keys):
        at = [columns.index(key.expression.name) for key in keys]
        mine, its = ([[ordered_by_value(row[i]) for i in at] for row in rows] for rows in (found.rows, want))
        assert mine == its, text


def logical_form(form: ast.SelectQuery) -> ast.SelectQuery:
    return from_ast(ast.Query(form)).form


def unlimited(form: ast.SelectQuery) -> ast.SelectQuery:
    from dataclasses import replace

    return replace(form, modifiers=replace(form.modifiers, limit=None, offset=None))


def _quads(graph: list[ox.Triple]) -> list[ox.Quad]:
    store = ox.Store()
    store.extend(ox.Quad(*triple) for triple in graph)
    return list(store)


SEEDS = examples(100, 300)


@pytest.mark.parametrize("part", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 34))])
def test_hundreds_of_asks_and_graphs_are_those_of_oxigraph(part):
    found = Counter(outcome(*form(seed)) for seed in range(SEEDS * part, SEEDS * (part + 1)))
    assert found["answered"] > SEEDS // 3, found


SLICES = [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 67))]


@pytest.mark.parametrize("part", SLICES)
def test_hundreds_of_plain_queries_have_the_rows_of_oxigraph(part):
    found = Counter(outcome(*query(seed)) for seed in range(SEEDS * part, SEEDS * (part + 1)))
    assert found["answered"] > SEEDS // 3, found


DECIMAL = ox.NamedNode(XSD + "decimal")
COMPARED = (
    "?a != ?b", "?a = ?b", "STR(?a) < STR(?b)", "STR(?a) >= STR(?b)", "!(STR(?a) <= STR(?b))",
    "?a != ?b && STR(?b) > STR(?c)", "STR(?a) < STR(?b) || ?a = ?c",
)  # fmt: skip
AROUND = (
    "?s :{p} ?a ; :{q} ?b ; :{r} ?c FILTER({test})",
    "?s :{p} ?a OPTIONAL {{ ?s :{q} ?b ; :{r} ?c FILTER({test}) }}",
    "{{ ?s :{p} ?a ; :{q} ?b ; :{r} ?c FILTER({test}) }} UNION {{ ?a :{p} ?s }}",
    "?s :{p} ?a ; :{q} ?b . ?t :{q} ?b ; :{r} ?c . ?u :{r} ?c ; :{p} ?a FILTER({test})",
)


@pytest.mark.parametrize("test", COMPARED)
@pytest.mark.parametrize("around", AROUND)
def test_comparisons_of_two_variables_have_oxigraphs_rows(around: str, test: str) -> None:
    """:i has IRIs alone, :n blank nodes as well, :v literals as well."""
    draw = Random(f"{around} {test}")
    iris = [ox.NamedNode(f"{E}{name}") for name in ("a", "b", "é", "c/d")]
    nodes, values = [*iris, ox.BlankNode("x")], [*iris, ox.Literal(1), ox.Literal("1.0", datatype=DECIMAL)]
    objects = {"i": iris, "n": nodes, "v": values}
    seen = Counter[str]()
    count = examples(10, 30)
    for _ in range(count):
        graph = [
            ox.Triple(draw.choice(nodes), ox.NamedNode(E + name), draw.choice(own))
            for name, own in objects.items()
            for _ in range(7)
        ]
        p, q, r = (draw.choice("iiinv") for _ in range(3))
        where = around.format(p=p, q=q, r=r, test=test) + " " * draw.randrange(2)  # all nodes are entities, or half
        seen[outcome(graph, f"SELECT {draw.choice(['*', '(COUNT(*) AS ?k)'])} {{ {where} }}")] += 1
    assert seen["answered"] > count * 0.6, seen
