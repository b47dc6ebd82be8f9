"""Translation of a group to a pattern of the projection: SPARQL 1.1 section 18.2.2.

A group with an unsupported part is declined as a whole, with the reason, and is answered by Oxigraph. The rules are
those of Oxigraph 0.5.13; tests/graph/test_fragments_equal_oxigraph.py compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from hybridkg.algebra.decorrelation import correlated_part
from hybridkg.algebra.to_path import path_of, starts_at_node
from hybridkg.algebra.to_tests import Scope, UnsupportedPatternError, term_or_parameter, value_tests
from hybridkg.interfaces.graph_index import (
    AnyScan,
    Distinct,
    Exists,
    InversePath,
    Join,
    LeftJoin,
    Minus,
    Path,
    Pattern,
    Restrict,
    Scan,
    Slot,
    TermParameter,
    Test,
    Union,
    Values,
    Variable,
)
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.query import ast
from hybridkg.query.walk import has, variables
from hybridkg.rdf.terms import Term

MAX_DEPTH = 100
"""Levels of a pattern: each OPTIONAL of a group is one."""


@dataclass(frozen=True)
class DeclinedPattern:
    """A group that the projection cannot express; the reason is the unsupported part, for EXPLAIN."""

    reason: str


def pattern_of(group: ast.Group, dataset: tuple[ast.DatasetClause, ...] = ()) -> Pattern | DeclinedPattern:
    """The pattern with the solutions of a rank-free group, or the reason why there is none.

    Args:
        group: its solutions are those of `SELECT *`; blank nodes and inner nodes of paths are generated variables,
            whose names begin with a space.
        dataset: FROM and FROM NAMED of the query.

    >>> from hybridkg.query.parser import parse
    >>> pattern_of(parse("SELECT * { ?x <e:p>/<e:q> ?y FILTER(?y > 3) }").form.where).tests[0].op
    '>'
    >>> pattern_of(parse("SELECT * { ?x !<e:p> ?y }").form.where)
    DeclinedPattern(reason='a negated property set')
    """
    if dataset:
        return DeclinedPattern("FROM")
    try:
        return _Translator().group(group).pattern
    except UnsupportedPatternError as e:
        return DeclinedPattern(str(e))


@dataclass
class _Part(Scope):
    """A pattern under construction: a join of parts, with the properties of their variables.

    Args:
        parts: in the order of the text.
        depth: levels of the deepest part.
        optional_only: place of the LeftJoin whose right side alone binds the variable, in each of its solutions.
    """

    parts: list[Pattern] = field(default_factory=list)
    depth: int = 1
    optional_only: dict[str, int] = field(default_factory=dict)

    @property
    def pattern(self) -> Pattern:
        return self.parts[0] if len(self.parts) == 1 else Join(tuple(self.parts))

    def deeper(self, depth: int) -> None:
        self.depth = max(self.depth, depth)
        if self.depth > MAX_DEPTH:
            raise UnsupportedPatternError(f"a pattern of more than {MAX_DEPTH} levels")

    def join(self, other: _Part) -> None:
        """Adds the parts of another pattern; joins have no order."""
        for name in other.maybe:
            sides = [s for s in (self, other) if name in s.maybe]
            if all(name in s.nodes for s in sides) or any(name in s.nodes and name in s.sure for s in sides):
                self.nodes.add(name)
            else:
                self.nodes.discard(name)
        before = len(self.parts)
        moved = {name: at + before for name, at in other.optional_only.items() if name not in self.maybe}
        for name in other.maybe:
            self.optional_only.pop(name, None)
        self.optional_only |= moved
        self.maybe |= other.maybe
        self.sure |= other.sure
        self.assumed_nodes |= other.assumed_nodes
        self.parts += other.parts
        self.deeper(other.depth)

    def left_join(self, right: _Part, tests: tuple[Test, ...]) -> None:
        for name in right.maybe:
            if name not in self.maybe:
                if name in right.nodes:
                    self.nodes.add(name)
            elif name not in self.sure and name not in right.nodes:
                self.nodes.discard(name)
        optional_only = {} if tests else dict.fromkeys(right.sure - self.maybe, 0)
        self.maybe |= right.maybe
        self.assumed_nodes |= right.assumed_nodes
        self.wrap(LeftJoin(self.pattern, right.pattern, tests), right.depth)
        self.optional_only = optional_only

    def unmatched(self, name: str) -> bool:
        """`OPTIONAL { ... ?name ... } FILTER(!BOUND(?name))` becomes a NOT EXISTS; false for any other pattern."""
        at = None if name in self.assumed_nodes else self.optional_only.get(name)
        pattern = None if at is None else self.parts[at]
        if at is not None and isinstance(pattern, LeftJoin):
            self.parts[at] = Exists(pattern.left, pattern.right, negated=True)
            self.optional_only = {other: place for other, place in self.optional_only.items() if place != at}
            return True
        return False

    def wrap(self, pattern: Pattern, depth: int = 0) -> None:
        """Replaces the parts by a pattern that contains them."""
        self.parts, self.optional_only = [pattern], {}
        self.deeper(max(self.depth, depth) + 1)


@dataclass
class _Translator:
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def fresh(self) -> Variable:
        return Variable(f" {next(self.numbers)}")

    def group(self, group: ast.Group) -> _Part:
        part, filters = self.elements(group)
        self.restrict(part, filters)
        return part

    def elements(self, group: ast.Group) -> tuple[_Part, list[ast.Expression]]:
        """The elements except the filters, and the filters, which do not end a basic graph pattern."""
        part = _Part()
        filters = [element.condition for element in group.elements if isinstance(element, ast.Filter)]
        blanks: dict[str, Variable] = {}
        for element in group.elements:
            if filters and isinstance(element, ast.OptionalPattern | ast.MinusPattern):
                filters = self.early(part, filters)
            match element:
                case ast.Filter():
                    continue
                case ast.Triples(items):
                    for item in items:
                        self.triple(item, blanks, part)
                    continue
                case ast.OptionalPattern(pattern):
                    self.optional(part, pattern)
                case ast.MinusPattern(pattern):
                    right = self.group(pattern)
                    if part.maybe & right.maybe:
                        part.wrap(Minus(part.pattern, right.pattern), right.depth)
                case _:
                    part.join(self.joined(element))
            blanks = {}
        return part, filters

    def early(self, part: _Part, filters: list[ast.Expression]) -> list[ast.Expression]:
        """Applies the filters that read only what every solution binds before an OPTIONAL or MINUS, which changes none
        of it; returns the others.
        """
        tests: list[Test] = []
        late: list[ast.Expression] = []
        for condition in filters:
            own = _tests_before(condition, part)
            tests += own or ()
            late += [condition] if own is None else []
        if tests:
            part.wrap(Restrict(part.pattern, tuple(tests)))
        return late

    def joined(self, element: ast.Element) -> _Part:
        """An element whose solutions are joined with the earlier ones."""
        match element:
            case ast.Group():
                return self.group(element)
            case ast.UnionPattern(branches):
                return self.union(branches)
            case ast.InlineData():
                return self.values(element)
            case ast.SubSelect(query):
                return self.sub_select(query)
            case ast.GraphPattern():
                raise UnsupportedPatternError("GRAPH")
            case ast.ServicePattern():
                raise UnsupportedPatternError("SERVICE")
            case ast.Bind():
                raise UnsupportedPatternError("BIND")
        raise TypeError(f"no pattern for {type(element).__name__}")

    def optional(self, part: _Part, group: ast.Group) -> None:
        """OPTIONAL: its filters see both sides; those that read only the right side stay there."""
        right, filters = self.elements(group)
        both = _Part(part.maybe | right.maybe, set(part.sure | right.sure))
        both.nodes = {
            name
            for name in both.maybe
            if any(name in s.nodes and name in s.sure for s in (part, right))
            or all(name in s.nodes or name not in s.maybe for s in (part, right))
        }
        both.assumed_nodes = part.assumed_nodes | right.assumed_nodes
        inside: list[ast.Expression] = []
        tests: list[Test] = []
        for condition, negated in _conjuncts(filters):
            read = variables(condition)
            if isinstance(condition, ast.Exists):
                if read & both.maybe - right.sure:
                    raise UnsupportedPatternError("EXISTS of an OPTIONAL that reads what is before it")
                inside.append(ast.Unary("!", condition) if negated else condition)
            elif read <= right.sure:
                inside.append(ast.Unary("!", condition) if negated else condition)
            else:
                tests += value_tests(condition, both, negated=negated)
        self.restrict(right, inside)
        part.left_join(right, tuple(tests))

    def union(self, branches: tuple[ast.Group, ...]) -> _Part:
        parts = [self.group(branch) for branch in branches]
        whole = _Part(sure=set.intersection(*(p.sure for p in parts)))
        whole.maybe = {name for p in parts for name in p.maybe}
        whole.nodes = whole.maybe - {name for p in parts for name in p.maybe - p.nodes}
        for p in parts:
            whole.deeper(p.depth)
            whole.assumed_nodes |= p.assumed_nodes
        whole.wrap(Union(tuple(p.pattern for p in parts)))
        return whole

    def values(self, data: ast.InlineData) -> _Part:
        names = tuple(variable.name for variable in data.variables)
        if len(set(names)) < len(names):
            raise UnsupportedPatternError("VALUES that names a variable twice")
        rows = tuple(tuple(None if cell is None else _cell(cell) for cell in row) for row in data.rows)
        columns = list(zip(*data.rows, strict=True)) if rows else [()] * len(names)
        part = _Part(set(names), parts=[Values(names, rows)])
        for name, column in zip(names, columns, strict=True):
            if None not in column:
                part.sure.add(name)
            if not any(isinstance(cell, ast.Lit) for cell in column):
                part.nodes.add(name)
        return part

    def sub_select(self, query: ast.SelectQuery) -> _Part:
        modifiers = query.modifiers
        if query.reduction == "REDUCED":
            raise UnsupportedPatternError("REDUCED")
        if modifiers.group_by or modifiers.having or any(item.expression for item in query.projection or ()):
            raise UnsupportedPatternError("a sub-select that computes")
        if modifiers.limit is not None or modifiers.offset is not None:
            raise UnsupportedPatternError("a sub-select with a limit")
        if modifiers.rank_by is not None or modifiers.rerank is not None:
            raise UnsupportedPatternError("RANK BY")
        part = self.group(query.where)
        if query.values is not None:
            part.join(self.values(query.values))
        if query.projection is None:
            shown = tuple(sorted(name for name in part.maybe if not name.startswith(" ")))
        else:
            shown = tuple(dict.fromkeys(p.variable.name for p in query.projection if p.variable.name in part.maybe))
        part.wrap(Distinct(part.pattern, shown, query.reduction == "DISTINCT"))
        part.maybe &= set(shown)
        part.sure &= part.maybe
        part.nodes &= part.maybe
        part.assumed_nodes &= part.maybe
        return part

    def restrict(self, part: _Part, filters: list[ast.Expression]) -> None:
        """Applies the filters of a group to the rest of it."""
        tests: list[Test] = []
        exists: list[tuple[ast.Group, bool]] = []
        outer: frozenset[str] = frozenset()
        for condition, negated in _conjuncts(filters):
            match condition:
                case ast.Exists(pattern):
                    outer = outer or frozenset(part.maybe)
                    if correlated_part(pattern, outer) is not None:
                        raise UnsupportedPatternError("an EXISTS that depends on its row by more than equal values")
                    exists.append((pattern, condition.negated != negated))
                case ast.Call("BOUND", (ast.Var(name),)) if negated and part.unmatched(name):
                    continue
                case _:
                    tests += value_tests(condition, part, negated=negated)
        if tests:
            part.wrap(Restrict(part.pattern, tuple(tests)))
        for pattern, negated in exists:
            right = self.group(pattern)
            part.wrap(Exists(part.pattern, right.pattern, negated), right.depth)

    def triple(self, item: ast.TriplePattern | ast.RankedItem, blanks: dict[str, Variable], part: _Part) -> None:
        """A triple and its path: outside closures and alternatives a path is a join, one triple for each step."""
        if not isinstance(item, ast.TriplePattern):
            raise UnsupportedPatternError("MATCH")
        if isinstance(item.predicate, ast.Var):
            predicate = Variable(item.predicate.name)
            subject, target = self.slot(item.subject, blanks), self.slot(item.object, blanks)
            part.parts.append(_any_scan(part, subject, predicate, target))
            return
        waiting = [(self.slot(item.subject, blanks), item.predicate, self.slot(item.object, blanks))]
        while waiting:
            subject, path, target = waiting.pop()
            match path:
                case ast.PathInverse(inner):
                    waiting.append((target, inner, subject))
                case ast.PathSequence(steps):
                    stops = [subject, *(self.fresh() for _ in steps[1:]), target]
                    waiting += reversed(list(zip(stops, steps, stops[1:], strict=False)))
                case _:
                    part.parts.append(_scan(part, subject, path_of(path), target))

    def slot(self, term: ast.VarOrTerm, blanks: dict[str, Variable]) -> Slot:
        match term:
            case ast.Var(name):
                return Variable(name)
            case ast.Blank(label):
                if label not in blanks:
                    blanks[label] = self.fresh()
                return blanks[label]
        return term_or_parameter(term)


def _cell(cell: ast.Iri | ast.Lit | ast.TripleTerm) -> Term | TermParameter:
    """The term in a cell of VALUES, or the parameter in its place.

    Raises:
        UnboundParameterError: the parameter stands for all cells of a column.
    """
    if isinstance(cell, ast.ListParameter):
        raise UnboundParameterError("the length of a list decides", cell.number)
    return term_or_parameter(cell)


def _scan(scope: _Part, subject: Slot, path: Path, target: Slot) -> Scan:
    _bind(scope, subject, is_node=starts_at_node(path), is_assumed=True)
    _bind(scope, target, is_node=starts_at_node(InversePath(path)), is_assumed=False)
    return Scan(subject, path, target)


def _any_scan(scope: _Part, subject: Slot, predicate: Variable, target: Slot) -> AnyScan:
    _bind(scope, subject, is_node=True, is_assumed=True)
    _bind(scope, predicate, is_node=True, is_assumed=True)
    _bind(scope, target, is_node=False, is_assumed=False)
    return AnyScan(subject, predicate, target)


def _bind(scope: _Part, slot: Slot, *, is_node: bool, is_assumed: bool) -> None:
    """Records that a triple pattern binds a slot, to a node or to any term; Oxigraph may assume a node, too."""
    if isinstance(slot, Variable):
        if is_node or (slot.name in scope.nodes and slot.name in scope.sure):
            scope.nodes.add(slot.name)
        else:
            scope.nodes.discard(slot.name)
        if is_assumed:
            scope.assumed_nodes.add(slot.name)
        scope.maybe.add(slot.name)
        scope.sure.add(slot.name)
        scope.optional_only.pop(slot.name, None)


def _tests_before(condition: ast.Expression, part: _Part) -> list[Test] | None:
    """Tests of a condition on the variables that a part always binds; None for another one, and where more has to be
    known of them.
    """
    if not variables(condition) <= part.sure or has(condition, ast.Exists):
        return None
    try:
        return [test for one, negated in _conjuncts([condition]) for test in value_tests(one, part, negated=negated)]
    except UnsupportedPatternError:
        return None


def _conjuncts(conditions: list[ast.Expression]) -> Iterator[tuple[ast.Expression, bool]]:
    """Conditions of a conjunction, each with whether it is negated."""
    waiting = [(condition, False) for condition in reversed(conditions)]
    while waiting:
        condition, negated = waiting.pop()
        match condition:
            case ast.Unary("!", operand):
                waiting.append((operand, not negated))
            case ast.Binary("&&" | "||" as op, left, right) if (op == "&&") != negated:
                waiting += [(right, negated), (left, negated)]
            case _:
                yield condition, negated
