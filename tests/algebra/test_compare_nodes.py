"""Variables that have only nodes are compared by their terms."""

from __future__ import annotations

from typing import cast

import pytest

from hybridkg.algebra.from_ast import from_ast
from hybridkg.algebra.nodes import Filter, Fragment, Plan, SparqlQuery, walk
from hybridkg.algebra.rules import rewrite
from hybridkg.algebra.rules.compare_nodes import compare_nodes
from hybridkg.interfaces.graph_index import GraphIndex
from hybridkg.query.parser import parse
from hybridkg.query.write import write


class Graph:
    """Authors are IRIs."""

    def has_nodes_only(self, predicate: str) -> bool:
        return predicate == "x:author"

    def orders_objects(self, *predicates: str) -> bool:
        return all(map(self.has_nodes_only, predicates))


def relational(where: str) -> Plan:
    logical = rewrite(from_ast(parse(f"SELECT * {{ {where} }}")))
    assert isinstance(logical, SparqlQuery)
    assert logical.relational is not None
    return compare_nodes(logical.relational, cast(GraphIndex, Graph()))


def conditions(plan: Plan) -> tuple[list[str], str]:
    """Conditions that stay outside, and the text of all fragments."""
    outside = [write(part.condition) for part in walk(plan) if isinstance(part, Filter)]
    return outside, " ".join(" ".join(write(part.group) for part in walk(plan) if isinstance(part, Fragment)).split())


@pytest.mark.parametrize(
    ("where", "inside"),
    [
        ("?p <x:author> ?a, ?b FILTER(?a != ?b)", "!SAMETERM(?a, ?b)"),
        ("?p <x:author> ?a ; <x:year> ?b FILTER(?a = ?b)", "SAMETERM(?a, ?b)"),
        ("?p <x:author> ?a, ?b FILTER(?a != ?b && BOUND(?p))", "!SAMETERM(?a, ?b)"),
        ("?p <x:author> ?a, ?b FILTER(STR(?a) < STR(?b))", "STR(?a) < STR(?b)"),
        ("?p <x:author> ?a, ?b FILTER(!(STR(?a) < STR(?b)))", "STR(?a) < STR(?b)"),
        ("{ ?p <x:author> ?a, ?b FILTER(?a != ?b) } UNION { ?a <x:year> ?b }", "!SAMETERM(?a, ?b)"),
    ],
)
def test_a_comparison_of_nodes_is_one_of_terms_inside_the_pattern(where: str, inside: str) -> None:
    outside, fragments = conditions(relational(where))
    assert (outside, inside in fragments) == ([], True)


@pytest.mark.parametrize(
    "where",
    [
        "?p <x:year> ?a, ?b FILTER(?a != ?b)",
        "?p <x:author> ?a ; <x:year> ?b, ?c FILTER(?b != ?c)",
        "?p <x:year> ?a OPTIONAL { ?p <x:author> ?a } ?p <x:year> ?b FILTER(?a != ?b)",
        "?p <x:author> ?a ; <x:year> ?b FILTER(STR(?a) < STR(?b))",
        "?p <x:author> ?c ; ?k ?a ; ?l ?b FILTER(?a = ?b)",
    ],
)
def test_without_nodes_on_one_side_values_are_compared(where: str) -> None:
    outside, fragments = conditions(relational(where))
    assert len(outside) == 1
    assert "SAMETERM" not in outside[0] + fragments


def test_an_optional_that_a_pattern_expresses_stays_in_it() -> None:
    plan = relational("?a <x:year> ?x OPTIONAL { ?a <x:cites> ?b . ?b <x:cites> ?c FILTER(?a != ?c) }")
    assert [type(part).__name__ for part in walk(plan)] == ["Project", "Fragment"]
