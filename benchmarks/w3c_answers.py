"""Answers as values that can be compared: those of a file, of Oxigraph and of a knowledge base.

Two answers are the same when they have the same rows (or triples) up to the
names of blank nodes. Numbers and booleans are compared by datatype and value
(`1.0` and `1.00`, because Oxigraph keeps values), language tags without case;
other literals by their text. The order of the rows counts where the expected
result numbers them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import pyoxigraph as ox

RS = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#"
XSD = "http://www.w3.org/2001/XMLSchema#"
WHOLE = ("integer", "int", "long", "short", "byte", "nonNegativeInteger", "positiveInteger", "negativeInteger")
VALUES: dict[str, Any] = {XSD + "decimal": Decimal, XSD + "double": float, XSD + "float": float}
VALUES |= dict.fromkeys([XSD + name for name in (*WHOLE, "nonPositiveInteger", "unsignedInt", "unsignedByte")], int)
VALUES[XSD + "boolean"] = {"true": 1, "1": 1, "false": 0, "0": 0}.__getitem__


@dataclass(frozen=True)
class Answer:
    """What a query gave.

    Args:
        boolean: of ASK.
        rows: variable -> term, without the unbound; or the triples of a graph under `s`, `p`, `o`.
        names: the variables; empty where a file does not say them.
        ordered: whether the order of the rows counts.
    """

    boolean: bool | None = None
    rows: tuple[dict[str, Any], ...] = ()
    names: frozenset[str] = frozenset()
    ordered: bool = False


def same(expected: Answer, got: Answer, *, lax: bool = False) -> bool:
    """Whether an answer is the expected one."""
    if expected.boolean is not None or got.boolean is not None:
        return expected.boolean == got.boolean
    if expected.names and got.names and expected.names != got.names:
        return False
    left, right = ([_keys(row) for row in answer.rows] for answer in (expected, got))
    if lax:
        counts, most = Counter(map(_frozen, right)), Counter(map(_frozen, left))
        return counts.keys() == most.keys() and all(counts[row] <= most[row] for row in counts)
    if any(_has_blank(value) for row in left + right for value in row.values()):
        return len(left) == len(right) and _isomorphic(left, right)
    if expected.ordered:
        return left == right
    return Counter(map(_frozen, left)) == Counter(map(_frozen, right))


def _frozen(row: dict[str, Any]) -> frozenset[tuple[str, Any]]:
    return frozenset(row.items())


def _keys(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _key(term) for name, term in row.items()}


def _key(term: Any) -> tuple[Any, ...]:
    if isinstance(term, ox.BlankNode):
        return ("blank", term.value)
    if isinstance(term, ox.Triple):
        return ("triple", _key(term.subject), _key(term.predicate), _key(term.object))
    if isinstance(term, ox.NamedNode):
        return ("iri", term.value)
    datatype, text = term.datatype.value, term.value
    if datatype in VALUES:
        try:
            value = VALUES[datatype](text) + 0
            return ("number", datatype, str(value.normalize() if isinstance(value, Decimal) else value))
        except (ValueError, KeyError, InvalidOperation):
            pass
    direction = getattr(term, "direction", None)
    return ("literal", text, datatype, (term.language or "").lower(), str(direction) if direction else "")


def _has_blank(key: Any) -> bool:
    return key[0] == "blank" or (key[0] == "triple" and any(_has_blank(part) for part in key[1:]))


def _isomorphic(left: list[dict[str, Any]], right: list[dict[str, Any]]) -> bool:
    from rdflib.compare import isomorphic

    return bool(isomorphic(_graph(left), _graph(right)))


def _graph(rows: list[dict[str, Any]]) -> Any:
    """The rows as a graph: a blank node for each different row, with how often it occurs and its cells."""
    import rdflib

    graph = rdflib.Graph()

    def node(key: Any) -> Any:
        if not _has_blank(key):
            return rdflib.Literal(repr(key))
        if key[0] == "blank":
            return rdflib.BNode("b" + key[1])
        whole = rdflib.BNode("t" + repr(key).encode().hex())
        for name, part in zip("spo", key[1:], strict=True):
            graph.add((whole, rdflib.URIRef("part:" + name), node(part)))
        return whole

    for number, (row, count) in enumerate(Counter(map(_frozen, rows)).items()):
        subject = rdflib.BNode(f"row{number}")
        graph.add((subject, rdflib.URIRef("times:"), rdflib.Literal(str(count))))
        for name, key in row:
            graph.add((subject, rdflib.URIRef("cell:" + name), node(key)))
    return graph


# --- where answers come from ----------------------------------------------------------------


def triples(found: Iterable[Any]) -> Answer:
    """A graph as an answer."""
    return Answer(rows=tuple({"s": t.subject, "p": t.predicate, "o": t.object} for t in dict.fromkeys(found)))


def of_oxigraph(result: Any) -> Answer:
    """What a pyoxigraph store or a file of results gives."""
    if isinstance(result, ox.QueryBoolean):
        return Answer(bool(result))
    if isinstance(result, ox.QueryTriples):
        return triples(result)
    names = [variable.value for variable in result.variables]
    rows = tuple({name: row[name] for name in names if row[name] is not None} for row in result)
    return Answer(rows=rows, names=frozenset(names))


def of_result_set(result: Any) -> Answer:
    """What `KnowledgeBase.query` gives."""
    if result.boolean is not None:
        return Answer(result.boolean)
    names = ("s", "p", "o") if result.is_graph else result.columns
    rows = tuple(
        {
            name: term
            for name, column in zip(names, result.columns, strict=True)
            if (term := row.term(column)) is not None
        }
        for row in result
    )
    return Answer(rows=rows, names=frozenset() if result.is_graph else frozenset(result.columns))


def of_file(path: Path) -> Answer:
    """The expected answer: a format of results, a graph, or a graph that describes results."""
    if path.suffix in (".srx", ".srj", ".tsv"):
        return of_oxigraph(ox.parse_query_results(path=str(path)))
    graph = ox.Dataset(ox.parse(path=str(path), base_iri=path.as_uri()))
    tables = list(graph.quads_for_object(ox.NamedNode(RS + "ResultSet")))
    return _described(graph, tables[0].subject) if tables else triples(quad.triple for quad in graph)


def _described(graph: Any, table: Any) -> Answer:
    def values(subject: Any, name: str) -> list[Any]:
        return [quad.object for quad in graph.quads_for_subject(subject) if quad.predicate.value == RS + name]

    for boolean in values(table, "boolean"):
        return Answer(boolean.value == "true")
    found = []
    for solution in values(table, "solution"):
        row = {
            values(binding, "variable")[0].value: values(binding, "value")[0] for binding in values(solution, "binding")
        }
        found.append(([int(index.value) for index in values(solution, "index")], row))
    ordered = bool(found) and all(index for index, _ in found)
    if ordered:
        found.sort(key=lambda item: item[0])
    names = frozenset(value.value for value in values(table, "resultVariable"))
    return Answer(rows=tuple(row for _, row in found), names=names, ordered=ordered)
