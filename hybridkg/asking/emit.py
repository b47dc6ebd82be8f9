"""The queries of filled slots, as syntax trees: `soft` ranks by the satisfied constraints, `strict` demands them.

    rank = sum of the weights of the satisfied constraints + 8 text score / best text score + 2.5 similarity

The weights are logarithms of likelihood ratios (satisfied_weight.py), and so is the text score, as far as it estimates
one. A constraint with many answers or little confidence therefore yields to what the words say. The class of the
answers excludes others only where it is sure (slots.py); otherwise it is one of the constraints.

The text scores are divided by a constant, the best score of the whole question in the index, and not by that of the
rows, so that the answers of `strict` have the order that they have among those of `soft`. The best score of the words
that no constraint covers would make much of a few words that say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hybridkg.asking.satisfied_weight import satisfied_weight
from hybridkg.asking.slots import AbsenceConstraint, Constraint, PathConstraint, Slots, Step, ValueConstraint
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.terms import XSD
from hybridkg.text.match_query.query_string import as_plain_words

TOP = 200
"""Entities of each of MATCH and NEAR that are ranked without satisfying a constraint."""

LIMIT = 100
MAX_RANKED = 1_000
"""Nodes that satisfy all constraints, or one of several, up to which all of them are ranked; 0.1 ms each."""

BEST = 500
"""Of more nodes that satisfy all constraints, the best by words and the best by similarity that are ranked. All of
them that are among the TOP of the whole index are among these, so `soft` and `strict` rank the same ones."""

WORDS, SIMILAR = 8.0, 2.5
"""Rank of the best text score and of a similarity of 1. Chosen on held-out wordings (satisfied_weight.py); with 5 to 10
and a quarter of it, Hit@1 and Recall@20 differ by .01 at most."""

X, TEXT, SIMILARITY, OF_CLASS = ast.Var("x"), ast.Var("t"), ast.Var("v"), ast.Var("g0")

JOINED, TESTED = "abcd", "klmn"
"""First letters of the variables of each constraint: where it gives answers, and where EXISTS tests one. With names of
its own, EXISTS reads only ?x, so that DISTINCT drops the other variables of the branches early (narrow_distinct.py)."""


@dataclass(frozen=True)
class QuerySurroundings:
    """Properties of the knowledge base that a query depends on.

    Args:
        types: predicates that lead to classes.
        has_vectors: whether NEAR has vectors.
        best_score: the highest text score of the whole question in the index; 0 for none.
        mixed: (predicate, inverse, target) of steps that also lead to other classes than the target.
        prefixes: to shorten IRIs.
        classes: number of instances of each class.
        entities: number of all entities.
        limit: rows.
        matches: whether some entity has a word of the text.
    """

    types: Sequence[str]
    has_vectors: bool
    best_score: float
    mixed: frozenset[Step]
    prefixes: Mapping[str, str]
    classes: Mapping[str, int]
    entities: int
    limit: int = LIMIT
    matches: bool = True

    @property
    def has_text(self) -> bool:
        """Whether the words are matched; a text that no entity has is left out where vectors rank."""
        return self.matches or not self.has_vectors


def fusion_query(text: str, around: QuerySurroundings, target: str | None = None) -> str:
    """The plain fusion of text and similarity, of the instances of a class or of all entities."""
    typed = (ast.Triples((_typed(X, target, around),)),) if target else ()
    scores = [TEXT] * around.has_text + [SIMILARITY] * around.has_vectors
    parts = [_or_zero(ast.RankFunction("tmm", (ast.RankedList(score),))) for score in scores]
    return _written((_either(_tops(text, around)), *typed, *_ranked(text, around)), _sum(parts), around)


def soft_query(slots: Slots, around: QuerySurroundings) -> str:
    """The query that ranks nodes higher the more of the constraints they satisfy."""
    assert slots.target is not None
    typed = (ast.Triples((_typed(X, slots.target.iri, around),)),)
    inside = () if slots.is_class_sure else typed
    branches = [ast.Group((*inside, *branch.elements)) for branch in _joined(slots, around)]
    if len(slots.constraints) > 1:
        for number, one in enumerate(slots.constraints):
            if isinstance(one, PathConstraint) and one.reach <= MAX_RANKED:
                branches.append(ast.Group((*inside, *_pattern(one, JOINED[number], around))))
    branches += _tops(slots.text, around)
    tests = [
        ast.Bind(_exists(one, TESTED[number], around), _satisfied(number))
        for number, one in enumerate(slots.constraints)
    ]
    flags = [_flag(_satisfied(number)) for number in range(len(slots.constraints))]
    is_of_class: ast.Expression = _integer(1)
    if not slots.is_class_sure:
        tests.insert(0, ast.Bind(ast.Exists(ast.Group(typed)), OF_CLASS))
        is_of_class = _flag(OF_CLASS)
    where = (_either(branches), *(typed if slots.is_class_sure else ()), *tests, *_ranked(slots.text, around))
    return _written(where, _rank(slots, is_of_class, flags, around), around)


def pattern_query(slots: Slots, around: QuerySurroundings) -> str:
    """The query of all nodes that satisfy all constraints, without a rank and a limit."""
    assert slots.target is not None
    typed = ast.Triples((_typed(X, slots.target.iri, around),))
    where = ast.Group((typed, *_all_patterns(slots.constraints, around)))
    return write(ast.Query(ast.SelectQuery((ast.SelectItem(X),), where, "DISTINCT")), prefixes=around.prefixes)


def strict_query(slots: Slots, around: QuerySurroundings) -> str:
    """The query whose answers satisfy all constraints."""
    assert slots.target is not None
    typed = ast.Triples((_typed(X, slots.target.iri, around),))
    where = (*_elements(_joined(slots, around)), typed, *_ranked(slots.text, around))
    return _written(where, _rank(slots, _integer(1), [_integer(1)] * len(slots.constraints), around), around)


def _joined(slots: Slots, around: QuerySurroundings) -> list[ast.Group]:
    """The nodes that satisfy all constraints, or the best of them."""
    assert slots.target is not None
    everything = _all_patterns(slots.constraints, around)
    items = _items(slots.text, around)
    if slots.answers <= MAX_RANKED or not items:
        return [ast.Group(everything)]
    typed = ast.Triples((_typed(X, slots.target.iri, around),))
    best = ast.Var("s")
    return [
        ast.Group(
            (
                ast.SubSelect(
                    ast.SelectQuery(
                        (ast.SelectItem(X),),
                        ast.Group((typed, *everything, ast.Triples((replace(item, score=best),)))),
                        "DISTINCT",
                        modifiers=ast.Modifiers(rank_by=ast.RankBy(best), limit=BEST),
                    )
                ),
            )
        )
        for item in items
    ]


def _elements(branches: Sequence[ast.Group]) -> tuple[ast.Element, ...]:
    """The branches of a union, or what is in the only one."""
    return branches[0].elements if len(branches) == 1 else (_either(branches),)


def _rank(
    slots: Slots, is_of_class: ast.Expression, flags: Sequence[ast.Expression], around: QuerySurroundings
) -> ast.Expression:
    """The rank; the same operations in the same order for both queries, so that equal rows have equal bits."""
    assert slots.target is not None
    target, instances = slots.target, around.classes.get(slots.target.iri, 0)
    weighted = [
        (satisfied_weight(one.confidence, one.reach, instances), flag)
        for one, flag in zip(slots.constraints, flags, strict=True)
    ]
    if not slots.is_class_sure:
        weighted.insert(0, (satisfied_weight(target.confidence, instances, around.entities), is_of_class))
    parts: list[ast.Expression] = [ast.Binary("*", _decimal(weight), flag) for weight, flag in weighted]
    if around.has_text:
        scaled = ast.Binary("/", TEXT, _decimal(around.best_score / WORDS))
        parts.append(_or_zero(scaled))
    if around.has_vectors:
        parts.append(ast.Binary("*", _decimal(SIMILAR), _or_zero(SIMILARITY)))
    return _sum(parts)


def _tops(text: str, around: QuerySurroundings) -> list[ast.Group]:
    return [ast.Group((ast.Triples((replace(item, top=TOP, score=None),)),)) for item in _items(text, around)]


def _ranked(text: str, around: QuerySurroundings) -> tuple[ast.Element, ...]:
    """The scores, where a node has them."""
    return tuple(ast.OptionalPattern(ast.Group((ast.Triples((item,)),))) for item in _items(text, around))


def _items(text: str, around: QuerySurroundings) -> list[ast.RankedItem]:
    """The ranked predicates, with their scores."""
    items: list[ast.RankedItem] = []
    if around.has_text:
        items.append(ast.Match(X, ast.Lit(as_plain_words(text)), score=TEXT))
    if around.has_vectors:
        items.append(ast.Near(X, ast.Lit(text), score=SIMILARITY))
    return items


def _either(branches: Sequence[ast.Group]) -> ast.Element:
    return branches[0] if len(branches) == 1 else ast.UnionPattern(tuple(branches))


def _all_patterns(constraints: Sequence[Constraint], around: QuerySurroundings) -> tuple[ast.Element, ...]:
    """The patterns of all constraints; those of values and absences last, because they only restrict."""
    numbered = sorted(enumerate(constraints), key=lambda one: not isinstance(one[1], PathConstraint))
    return tuple(element for number, one in numbered for element in _pattern(one, JOINED[number], around))


def _pattern(constraint: Constraint, letter: str, around: QuerySurroundings) -> tuple[ast.Element, ...]:
    if isinstance(constraint, PathConstraint):
        return _path(constraint, letter, around)
    if isinstance(constraint, ValueConstraint):
        return _value(constraint, letter)
    return (ast.Filter(ast.Exists(_missing(constraint, letter, around), negated=True)),)


def _exists(constraint: Constraint, letter: str, around: QuerySurroundings) -> ast.Expression:
    if isinstance(constraint, AbsenceConstraint):
        return ast.Exists(_missing(constraint, letter, around), negated=True)
    return ast.Exists(ast.Group(_pattern(constraint, letter, around)))


def _path(constraint: PathConstraint, letter: str, around: QuerySurroundings) -> tuple[ast.Element, ...]:
    """The triples of a path. Neither its answers nor the nodes on the way to them are the anchor."""
    anchor = ast.Iri(constraint.anchor.iri)
    triples: list[ast.TriplePattern] = []
    others: list[ast.Element] = []
    here: ast.Iri | ast.Var = anchor
    for at, step in enumerate(constraint.steps):
        is_last = at == len(constraint.steps) - 1
        there = X if is_last else ast.Var(f"{letter}{at + 1}")
        triples.append(_triple(here, step, there))
        if not is_last and step in around.mixed:
            triples.append(_typed(there, step.target, around))
        if step.target == constraint.anchor.kind and (at or is_last):
            others.append(ast.Filter(ast.Binary("!=", there, anchor)))
        here = there
    return (ast.Triples(tuple(triples)), *others)


def _value(constraint: ValueConstraint, letter: str) -> tuple[ast.Element, ...]:
    value = ast.Var(f"{letter}1")
    measured: ast.Expression = ast.Call("YEAR", (value,)) if constraint.years else value
    tests: list[ast.Expression] = [
        ast.Binary(operator, measured, _integer(number)) for operator, number in constraint.tests
    ]
    condition = tests[0]
    for test in tests[1:]:
        condition = ast.Binary("&&", condition, test)
    triple = ast.TriplePattern(X, ast.Iri(constraint.predicate), value)
    return ast.Triples((triple,)), ast.Filter(condition)


def _missing(constraint: AbsenceConstraint, letter: str, around: QuerySurroundings) -> ast.Group:
    other = ast.Var(f"{letter}1")
    triples = [_triple(X, constraint.step, other)]
    if constraint.step in around.mixed:
        triples.append(_typed(other, constraint.step.target, around))
    return ast.Group((ast.Triples(tuple(triples)),))


def _triple(here: ast.Iri | ast.Var, step: Step, there: ast.Var) -> ast.TriplePattern:
    if step.others:
        paths = (ast.PathInverse(ast.Iri(iri)) if inverse else ast.Iri(iri) for iri, inverse in step.alternatives)
        return ast.TriplePattern(here, ast.PathAlternative(tuple(paths)), there)
    predicate = ast.Iri(step.predicate)
    return ast.TriplePattern(there, predicate, here) if step.inverse else ast.TriplePattern(here, predicate, there)


def _typed(node: ast.Var, kind: str, around: QuerySurroundings) -> ast.TriplePattern:
    steps = tuple(map(ast.Iri, around.types))
    return ast.TriplePattern(node, steps[0] if len(steps) == 1 else ast.PathAlternative(steps), ast.Iri(kind))


def _satisfied(number: int) -> ast.Var:
    return ast.Var(f"g{number + 1}")


def _flag(satisfied: ast.Var) -> ast.Expression:
    return ast.Call("IF", (satisfied, _integer(1), _integer(0)))


def _or_zero(value: ast.Expression) -> ast.Expression:
    return ast.Call("COALESCE", (value, _integer(0)))


def _sum(parts: Sequence[ast.Expression]) -> ast.Expression:
    total = parts[0]
    for part in parts[1:]:
        total = ast.Binary("+", total, part)
    return total


def _integer(number: int) -> ast.Lit:
    return ast.Lit(str(number), XSD + "integer")


def _decimal(number: float) -> ast.Lit:
    return ast.Lit(f"{max(number, 1e-4):.4f}", XSD + "decimal")


def _written(where: tuple[ast.Element, ...], rank: ast.Expression, around: QuerySurroundings) -> str:
    query = ast.SelectQuery(
        (ast.SelectItem(X),),
        ast.Group(where),
        "DISTINCT",
        modifiers=ast.Modifiers(rank_by=ast.RankBy(rank), limit=around.limit),
    )
    return write(ast.Query(query), prefixes={"xsd": XSD, **around.prefixes})
