"""The queries of a search, as syntax trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from hybridkg.kb.search.conditions import Conditions
from hybridkg.query import ast
from hybridkg.query.walk import variables
from hybridkg.query.write import write
from hybridkg.rdf.terms import RDF_TYPE, XSD
from hybridkg.text.match_query.query_string import as_plain_words

MAX_INTEGER = 2**63
"""Integers from here on, positive or negative, are written as doubles: the SPARQL engine has 64 bits for them."""

MAX_DECIMAL = Decimal(10) ** 15
MAX_FRACTION = 15
"""Fractions of more digits before or behind the point are written as doubles."""

INFINITY = ast.Lit("INF", XSD + "double")
MINUS_INFINITY = ast.Lit("-INF", XSD + "double")

MAX_FACET_VALUES = 100
"""Values of one facet, the most frequent ones."""


def in_range(value: ast.Var, low: Decimal | None, high: Decimal | None, *, part: str = "") -> ast.Expression:
    """`low <= value < high`, or of the part of a date that a SPARQL function such as `YEAR` gives.

    One of the bounds may be None, but not both: a value without bounds needs no test.
    """
    measured = _measured(value, part)
    tests = [ast.Binary(op, measured, _number(one)) for op, one in ((">=", low), ("<", high)) if one is not None]
    return tests[0] if len(tests) == 1 else ast.Binary("&&", tests[0], tests[1])


def _measured(value: ast.Var, part: str) -> ast.Expression:
    return ast.Call(part, (value,)) if part else value


def _number(number: Decimal) -> ast.Lit:
    """The literal of a number: an integer, a decimal, or beyond their sizes a double."""
    if number == number.to_integral_value() and abs(number) < MAX_INTEGER:
        return ast.Lit(format(number, "f").partition(".")[0], XSD + "integer")
    if abs(number) >= MAX_DECIMAL or number.as_tuple().exponent < -MAX_FRACTION:  # type: ignore[operator]
        shortest = repr(float(number))
        return ast.Lit(shortest if "e" in shortest else f"{shortest}e0", XSD + "double")
    return ast.Lit(format(number, "f"), XSD + "decimal")


@dataclass(frozen=True)
class WantedTypes:
    """The classes of a search, and the predicates by which some node has one of them."""

    classes: tuple[str, ...] = ()
    predicates: tuple[str, ...] = (RDF_TYPE,)


@dataclass(frozen=True)
class SearchQueries:
    """The queries of one search.

    Args:
        text: the words.
        types: classes, of which an entity has at least one; none for any.
        conditions: what else an entity satisfies.
        prefixes: names of namespaces, to shorten IRIs.
        language: of the text; empty for English.
        query_string: whether the text has operators.
        near: whether similarity counts as well.
    """

    text: str
    types: WantedTypes
    conditions: Conditions
    prefixes: Mapping[str, str]
    language: str = ""
    query_string: bool = False
    near: bool = False

    @property
    def has_conditions(self) -> bool:
        """Whether the entities are restricted by the graph."""
        return bool(self.types.classes or self.conditions.elements)

    def hits(self, limit: int) -> str:
        """The best entities: columns `entity`, `score` and `passage`, under other names if a condition uses these."""
        entity, score, passage = self.entity, self._free("score"), self._free("passage")
        ranking: ast.Expression = score
        elements: tuple[ast.Element, ...]
        if self.near:
            words, similarity = self._free("words"), self._free("similarity")
            near = ast.Near(entity, ast.Lit(self.text, language=self.language or None), score=similarity)
            optional = ast.OptionalPattern(ast.Group((ast.Triples((self._match(words, passage),)),)))
            elements = ast.Triples((near,)), optional
            ranking = ast.RankFunction("rrf", (ast.RankedList(words), ast.RankedList(similarity)))
        else:
            elements = (ast.Triples((self._match(score, passage),)),)
        projection = tuple(map(ast.SelectItem, (entity, score, passage)))
        rank_by = ast.RankBy(ranking, score if self.near else None)
        return self._written(
            ast.SelectQuery(
                projection,
                ast.Group((*elements, *self._restrictions())),
                # A condition may be satisfied in several ways, and still makes one row.
                "DISTINCT" if self.has_conditions else "",
                modifiers=ast.Modifiers(rank_by=rank_by, limit=limit),
            )
        )

    def count(self) -> str:
        """The number of entities that match the words and satisfy the conditions, as `count`."""
        return self._counted((), ())

    def unrestricted_count(self) -> str:
        """The number of entities that match the words, as `count`."""
        return SearchQueries(
            self.text, WantedTypes(), Conditions(), self.prefixes, self.language, query_string=self.query_string
        ).count()

    def facet(self, predicate: str) -> str:
        """The values of a predicate of the matching entities, as `value`, and the entities with each, as `count`."""
        value = self._free("value")
        triple = ast.TriplePattern(self.entity, ast.Iri(predicate), value)
        return self._counted((value,), (ast.Triples((triple,)),), MAX_FACET_VALUES)

    def extremes(self, predicate: str, *, part: str = "") -> str:
        """The least and the greatest finite number of a predicate, or part of its dates, as `least` and `greatest`."""
        value = self._free("value")
        measured = _measured(value, part)
        items = tuple(
            ast.SelectItem(self._free(name), ast.Aggregate(function, measured))
            for name, function in (("least", "MIN"), ("greatest", "MAX"))
        )
        triple = ast.TriplePattern(self.entity, ast.Iri(predicate), value)
        # An error for a value that is no number, or no date: one such value would leave MIN without an answer.
        finite = ast.Filter(
            ast.Binary("&&", ast.Binary(">", measured, MINUS_INFINITY), ast.Binary("<", measured, INFINITY))
        )
        pattern = (ast.Triples((self._match(),)), *self._restrictions(), ast.Triples((triple,)), finite)
        return self._written(ast.SelectQuery(items, ast.Group(pattern)))

    def range_count(self, predicate: str, low: Decimal | None, high: Decimal | None, *, part: str = "") -> str:
        """The number of matching entities with a value from `low` to below `high`, as `count`; see in_range."""
        value = self._free("value")
        triple = ast.TriplePattern(self.entity, ast.Iri(predicate), value)
        return self._counted((), (ast.Triples((triple,)), ast.Filter(in_range(value, low, high, part=part))))

    def coverage(self, predicate: str) -> str:
        """The number of matching entities that have a predicate, as `count`."""
        triple = ast.TriplePattern(self.entity, ast.Iri(predicate), self._free("value"))
        return self._counted((), (ast.Triples((triple,)),))

    @property
    def entity(self) -> ast.Var:
        """The variable of the entity."""
        return ast.Var("entity")

    def _counted(self, keys: tuple[ast.Var, ...], elements: tuple[ast.Element, ...], limit: int | None = None) -> str:
        count = self._free("count")
        number = ast.SelectItem(count, ast.Aggregate("COUNT", self.entity, distinct=True))
        order = (ast.OrderKey(count, descending=True), *map(ast.OrderKey, keys)) if keys else ()
        group_by = tuple(map(ast.GroupKey, keys))
        return self._written(
            ast.SelectQuery(
                (*map(ast.SelectItem, keys), number),
                ast.Group((ast.Triples((self._match(),)), *self._restrictions(), *elements)),
                modifiers=ast.Modifiers(group_by=group_by, order_by=order, limit=limit),
            )
        )

    def _match(self, score: ast.Var | None = None, passage: ast.Var | None = None) -> ast.Match:
        text = self.text if self.query_string else as_plain_words(self.text)
        return ast.Match(self.entity, ast.Lit(text, language=self.language or None), score=score, snippet=passage)

    def _restrictions(self) -> tuple[ast.Element, ...]:
        elements: tuple[ast.Element, ...] = ()
        classes = self.types.classes
        if len(classes) == 1:
            elements = (ast.Triples((self._typed(ast.Iri(classes[0])),)),)
        elif classes:
            kind = self._free("type")
            elements = (
                ast.InlineData((kind,), tuple((ast.Iri(iri),) for iri in classes)),
                ast.Triples((self._typed(kind),)),
            )
        return elements + self.conditions.elements

    def _typed(self, kind: ast.Var | ast.Iri) -> ast.TriplePattern:
        steps = tuple(map(ast.Iri, self.types.predicates))
        return ast.TriplePattern(self.entity, steps[0] if len(steps) == 1 else ast.PathAlternative(steps), kind)

    def _free(self, name: str) -> ast.Var:
        """A variable that no condition uses."""
        taken = {used for element in self.conditions.elements for used in variables(element)}
        while name in taken:
            name += "_"
        return ast.Var(name)

    def _written(self, query: ast.SelectQuery) -> str:
        return write(ast.Query(query), prefixes={"xsd": XSD, **self.prefixes})
