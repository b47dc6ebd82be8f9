"""The pattern compiler: constants become ids, tests become sets of ids, and patterns become nodes or are declined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hybridkg.graph.columns import ProjectionColumns
from hybridkg.graph.match.any_predicate import AnyPredicateNode, OpenAnyPredicateNode
from hybridkg.graph.match.combine import EmptyNode, RestrictNode, SelectNode, TableNode, UnionNode, ordered_union
from hybridkg.graph.match.comparisons import comparison
from hybridkg.graph.match.conditions import MAX_REQUESTED as MAX_IN_A_STEP
from hybridkg.graph.match.conditions import (
    ColumnsInOrder,
    ColumnTest,
    Combined,
    IdTest,
    RowTest,
    SameColumns,
    all_of,
    any_of,
)
from hybridkg.graph.match.edges import Edge, End, IdParameter, edge_of
from hybridkg.graph.match.ids import IdRanges, Mask
from hybridkg.graph.match.join import JoinNode
from hybridkg.graph.match.nodes import PatternNode
from hybridkg.graph.match.open_parts import OpenConditions, OpenTableNode, closed
from hybridkg.graph.match.optional import OptionalNode, SemiJoinNode
from hybridkg.graph.match.paths import Relations
from hybridkg.graph.match.reduce import Member
from hybridkg.graph.match.shape import (
    PatternDeclined,
    certain_of,
    may_be_empty,
    measure,
    occurrences,
    predicates_of,
    variables_of_test,
)
from hybridkg.graph.match.strings import TermStrings
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.graph.predicate_terms import PredicateTerms
from hybridkg.graph.term_order import TermOrder
from hybridkg.interfaces.graph_index import (
    UNBOUND,
    AllOf,
    AnyOf,
    AnyScan,
    CasedComparison,
    Distinct,
    Exists,
    Ids,
    InversePath,
    Join,
    LeftJoin,
    Minus,
    Opaque,
    Path,
    Pattern,
    PredicatePath,
    Restrict,
    Same,
    Scan,
    Slot,
    Steps,
    StringTest,
    TermParameter,
    Test,
    TextOrder,
    Union,
    ValueComparison,
    Values,
    Variable,
)
from hybridkg.rdf.term_texts import TermsOfTexts
from hybridkg.rdf.terms import RDF_TYPE, Literal, NamedNode, Term

MAX_CACHED = 1_000
"""Compiled tests in the cache of a projection; a comparison takes about 0.1 ms to compile."""

Truth = Callable[[str, Sequence[Term]], Sequence[bool] | Mask]
"""(expression over ?x, values) -> for each value, whether the expression is true; an error is false."""

VALUES_AT_ONCE = 1 << 16
"""Values whose texts are in memory at once."""

MAX_REQUESTED = 200_000
"""Values that Oxigraph may have to evaluate for one test; 0.6 s on the 2-core machine."""


def _most_requested(condition: IdTest) -> int:
    return MAX_IN_A_STEP if condition.of_strings else MAX_REQUESTED


COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal
}  # fmt: skip


@dataclass
class PatternCompiler:
    """The compiler of one pattern.

    Args:
        terms: the terms of the columns, and all predicates.
        relations: of the paths of the columns.
        cache: compiled tests of all patterns, at most MAX_CACHED.
        whole: the pattern.
        values: the terms of its parameters. None leaves their ids open, and declines patterns that need the terms.
    """

    columns: ProjectionColumns
    terms: PredicateTerms
    relations: Relations
    strings: TermStrings
    order: TermOrder
    truth: Truth
    cache: dict[Test, IdTest]
    whole: Pattern
    values: Sequence[Term | None] | None = None
    id_parameters: set[int] = field(default_factory=set)
    """Numbers of the parameters whose ids are open."""
    _hidden: int = 0
    _odd: set[str] = field(default_factory=set)
    """Subjects of zero-length paths: Oxigraph 0.5.13 assumes that they are nodes when it simplifies tests, but they may
    be literals."""
    _tested: set[str] = field(default_factory=set)
    _predicates: set[str] = field(default_factory=set)
    """Variable predicates: their values may be no nodes."""
    _zero: set[str] = field(default_factory=set)
    """Variables at an end of zero-length paths, which link nodes alone with themselves."""

    def compiled(self) -> PatternNode:
        """The node of the whole pattern.

        Raises:
            PatternDeclined: the projection cannot answer it.
        """
        measure(self.whole)
        self._predicates = predicates_of(self.whole)
        node = self.node(self.whole)
        if self._tested & self._odd or self._predicates & self._zero:
            raise PatternDeclined
        return node

    def node(self, pattern: Pattern, depth: int = 0) -> PatternNode:
        match pattern:
            case Scan() | AnyScan() | Join() | Restrict() | Values():
                return self._join(pattern, depth)
            case LeftJoin(left, right, tests):
                return self._optional(self.node(left, depth + 1), self.node(right, depth + 1), tests, depth)
            case Union(branches):
                return UnionNode(tuple(self.node(branch, depth + 1) for branch in branches))
            case Minus(left, right):
                return self._semi_join(self.node(left, depth + 1), self.node(right, depth + 1), True, False)
            case Exists(left, right, negated):
                self._check_exists(pattern, left, right)
                return self._semi_join(self.node(left, depth + 1), self.node(right, depth + 1), negated, True)
            case Distinct(child, variables, distinct):
                return SelectNode(self.node(child, depth + 1), tuple(dict.fromkeys(variables)), distinct)
        raise PatternDeclined

    def _join(self, pattern: Pattern, depth: int) -> PatternNode:
        """The node of nested joins and their tests, flattened."""
        scans: list[Scan] = []
        any_scans: list[AnyScan] = []
        values: list[Values] = []
        others: list[PatternNode] = []
        inner: list[JoinNode] = []
        tests: list[Test] = []
        waiting: list[tuple[Pattern, int]] = [(pattern, depth)]
        while waiting:
            part, at = waiting.pop()
            match part:
                case Scan(subject, InversePath(path), object_):
                    waiting.append((Scan(object_, path, subject), at))
                case Scan(subject, Steps(paths), object_):
                    waiting += [(scan, at + 1) for scan in reversed(self._steps(subject, paths, object_))]
                case Scan():
                    scans.append(part)
                case AnyScan():
                    any_scans.append(part)
                case Join(parts):
                    waiting += [(one, at + 1) for one in reversed(parts)]
                case Values():
                    values.append(part)
                case Restrict(child, inner_tests) if self._certain_tests(child, inner_tests):
                    tests += inner_tests
                    waiting.append((child, at + 1))
                case Restrict(child, inner_tests):
                    inside = self.node(child, at + 1)
                    self._check_scope(inner_tests, inside)
                    others.append(RestrictNode(inside, self._row_tests(inner_tests, at + 1)))
                case _:
                    node = self.node(part, at + 1)
                    if isinstance(node, JoinNode):
                        inner.append(node)
                    else:
                        others.append(node)
        edges, absent = [edge for node in inner for edge in node.edges], False
        others += [other for node in inner for other in node.others]
        members = tuple(member for node in inner for member in node.members)
        for scan in scans:
            relation = self.relations.of(scan.path)
            if relation is None:
                raise PatternDeclined
            if may_be_empty(scan.path):
                self._zero |= {end.name for end in (scan.subject, scan.object) if isinstance(end, Variable)}
                if isinstance(scan.subject, Variable):
                    self._odd.add(scan.subject.name)
            is_type = isinstance(scan.path, PredicatePath) and scan.path.predicate == RDF_TYPE
            edge = edge_of(self._end(scan.subject), relation, self._end(scan.object), is_type)
            absent = absent or edge.subject == -1 or edge.object == -1
            edges.append(edge)
        any_nodes = [self._any(scan) for scan in any_scans]
        absent = absent or any(node.subject == -1 or node.object == -1 for node in any_nodes)
        if values:
            certain = {name for edge in edges for name in edge.variables}
            certain = certain.union(*(node.certain for node in (*others, *any_nodes)))
            others = [*(self._values(part, certain) for part in values), *others]
        others += any_nodes
        variables = ordered_union([*(edge.variables for edge in edges), *(node.variables for node in others)])
        if absent:
            return EmptyNode(variables)
        if not edges and not members and not tests and len(others) == 1:
            return others[0]
        conditions, rest = self._conditions(tests, edges, depth) if tests else ({}, [])
        if isinstance(conditions, OpenConditions) or any(isinstance(n.conditions, OpenConditions) for n in inner):
            if any_nodes or any(node.conditions or node.tests for node in inner):
                raise PatternDeclined  # their conditions are joined with those of the values
            return JoinNode.of(tuple(edges), tuple(others), conditions, members, tuple(rest), variables)
        for node in inner:
            rest += node.tests
            for name, condition in node.conditions.items():
                conditions[name] = all_of([condition, conditions[name]]) if name in conditions else condition
        if conditions:
            others = [node.under(conditions) if isinstance(node, AnyPredicateNode) else node for node in others]
        self._check_delegated(conditions, edges, any_nodes)
        return JoinNode.of(tuple(edges), tuple(others), conditions, members, tuple(rest), variables)

    def _any(self, scan: AnyScan) -> AnyPredicateNode:
        table = self.relations.all(self.terms)
        if table is None:
            raise PatternDeclined
        subject, object_ = self._end(scan.subject), self._end(scan.object)
        is_open = isinstance(subject, IdParameter) or isinstance(object_, IdParameter)
        kind = OpenAnyPredicateNode if is_open else AnyPredicateNode
        return kind(subject, scan.predicate.name, object_, table, {})

    def _steps(self, subject: Slot, paths: Sequence[Path], object_: Slot) -> list[Scan]:
        slots: list[Slot] = [subject]
        for _ in paths[1:]:
            self._hidden += 1
            slots.append(Variable(f" step{self._hidden}"))
        slots.append(object_)
        return [Scan(a, path, b) for a, path, b in zip(slots, paths, slots[1:], strict=False)]

    def _end(self, slot: Slot) -> End:
        """The variable, or the id of the constant; -1 for a term that is not in the graph."""
        if isinstance(slot, Variable):
            return slot.name
        if isinstance(slot, TermParameter):
            if self.values is None:
                self.id_parameters.add(slot.number)
                return IdParameter(slot.number)
            slot = self._value(slot)
        return self.columns.terms.id_of(slot)

    def _value(self, parameter: TermParameter) -> NamedNode | Literal:
        value = None if self.values is None else self.values[parameter.number]
        if not isinstance(value, NamedNode | Literal):
            raise PatternDeclined
        return value

    def _values(self, part: Values, certain: set[str]) -> TableNode:
        """The node of VALUES; open if a cell is a parameter."""
        cells = [cell for row in part.rows for cell in row]
        if self.values is not None or not any(isinstance(cell, TermParameter) for cell in cells):
            return self._table(part, certain, self.values or ())
        if None in cells:
            raise PatternDeclined  # the values decide whether a row with UNDEF stays
        zeros = {name: np.zeros(len(part.rows), np.uint32) for name in part.variables}
        return OpenTableNode(SolutionTable(zeros, len(part.rows)), lambda terms: self._table(part, certain, terms))

    def _table(self, part: Values, certain: set[str], values: Sequence[Term | None]) -> TableNode:
        """The node of VALUES, without rows that cannot match because a term is not in the graph.

        Args:
            part: VALUES.
            certain: variables that every solution of the rest binds.
            values: the terms of the parameters.
        """
        rows_of_terms = [
            [values[cell.number] if isinstance(cell, TermParameter) else cell for cell in row] for row in part.rows
        ]
        terms = list(dict.fromkeys(term for row in rows_of_terms for term in row if term is not None))
        found = self.terms.find(terms).tolist() if terms else []
        id_of: dict[Term | None, int] = {None: int(UNBOUND), **dict(zip(terms, found, strict=True))}
        rows = [[id_of[term] for term in row] for row in rows_of_terms]
        if found and (min(found) < 0 or max(found) >= self.columns.terms.n_terms):
            of_nodes = [self._node_ids(part.variables, row) for row in rows]
            rows = [row for row in of_nodes if self._may_match(part, row, certain)]
        cells = np.array(rows, np.uint32).reshape(len(rows), len(part.variables))
        return TableNode(SolutionTable({name: cells[:, i].copy() for i, name in enumerate(part.variables)}, len(rows)))

    def _node_ids(self, variables: Sequence[str], row: Sequence[int]) -> list[int]:
        """The ids of a row of VALUES, -1 for a predicate that is no node where the variable only has nodes."""
        n_terms = self.columns.terms.n_terms
        return [
            -1 if n_terms <= i < UNBOUND and name not in self._predicates else i
            for name, i in zip(variables, row, strict=True)
        ]

    @staticmethod
    def _may_match(part: Values, row: Sequence[int], certain: set[str]) -> bool:
        """Whether a row of VALUES has no absent term for a variable that every solution of the rest binds.

        Raises:
            PatternDeclined: another one is absent; its solutions have a term that the graph has not.
        """
        absent = [name for name, i in zip(part.variables, row, strict=True) if i == -1]
        if any(name in certain for name in absent):
            return False
        if absent:
            raise PatternDeclined
        return True

    def _certain_tests(self, child: Pattern, tests: Sequence[Test]) -> bool:
        bound = certain_of(child)
        return all(variables_of_test(test) <= bound for test in tests)

    def _conditions(
        self, tests: Iterable[Test], edges: Sequence[Edge], depth: int
    ) -> tuple[dict[str, IdTest] | OpenConditions, list[RowTest]]:
        by_variable: dict[str, list[IdTest | ValueComparison]] = {}
        rest: list[RowTest] = []
        waiting = list(tests)
        while waiting:
            test = waiting.pop(0)
            if isinstance(test, AllOf):
                waiting = [*test.tests, *waiting]
                continue
            if self.values is None and isinstance(test, ValueComparison) and isinstance(test.constant, TermParameter):
                self._tested.add(test.variable)
                by_variable.setdefault(test.variable, []).append(test)
                continue
            row_test = self._row_test(test, depth)
            if isinstance(row_test, ColumnTest):
                by_variable.setdefault(row_test.variable, []).append(row_test.condition)
            else:
                rest.append(row_test)
        ready = {
            name: all_of(own)
            for name, mixed in by_variable.items()
            if len(own := [one for one in mixed if isinstance(one, IdTest)]) == len(mixed)
        }
        if len(ready) == len(by_variable):
            return ready, rest
        return OpenConditions(by_variable, self._compared, lambda found: self._check_delegated(found, edges, ())), rest

    def _row_test(self, test: Test, depth: int) -> RowTest:
        match test:
            case Same(left, right, negated):
                return SameColumns(left, right, negated)
            case TextOrder(left, op, right):
                return ColumnsInOrder(left, right, COMPARED[op], self._order_keys)
            case AnyOf(tests) | AllOf(tests):
                every = isinstance(test, AllOf)
                row_tests = tuple(self._row_test(inner, depth + 1) for inner in tests)
                names = {name for inner in row_tests for name in inner.variables}
                conditions = [inner.condition for inner in row_tests if isinstance(inner, ColumnTest)]
                if len(names) == 1 and len(conditions) == len(row_tests):
                    return ColumnTest(names.pop(), all_of(conditions) if every else any_of(conditions))
                return Combined(row_tests, every)
            case ValueComparison() | StringTest() | CasedComparison() | Opaque():
                if isinstance(test, ValueComparison):
                    test = closed(test, self.values)
                self._tested.add(test.variable)
                return ColumnTest(test.variable, self._compared(test))
        raise PatternDeclined

    def _compared(self, test: ValueComparison | StringTest | CasedComparison | Opaque) -> IdTest:
        """The ids that pass a test; cached."""
        condition = self.cache.get(test)
        if condition is None:
            condition = self._condition(test)
            if len(self.cache) < MAX_CACHED:
                self.cache[test] = condition
        return condition

    def _order_keys(self, ids: Ids) -> Any:
        keys = self.order.keys(ids, total=True)
        assert keys is not None  # GraphIndex.orders_objects has said so
        return keys

    def _condition(self, test: ValueComparison | StringTest | CasedComparison | Opaque) -> IdTest:
        compiled: IdTest | None
        match test:
            case ValueComparison(_, op, constant):
                assert not isinstance(constant, TermParameter)
                decide = self._decide(f"?x {op} {constant}")
                compiled = comparison(op, constant, self.terms, self.strings, decide)
            case StringTest(function, _, argument):
                decide = self._decide(f"{function}(?x, {argument})")
                compiled = self.strings.condition(function, argument, decide)
            case CasedComparison(function, _, op, constant):
                decide = self._decide(f"{function}(?x) {op} {constant}")
                compiled = self.strings.cased(function == "UCASE", op, constant, decide)
            case Opaque(_, expression, of_strings):
                everything = IdRanges.of([(0, self.terms.n_terms)])
                compiled = IdTest(IdRanges(()), everything, self._decide(expression), everything, of_strings)
        if compiled is None:
            raise PatternDeclined
        return compiled

    def _decide(self, expression: str) -> Callable[[Ids], Mask]:
        terms, truth = self.terms, self.truth

        def decide(ids: Ids) -> Mask:
            parts = [ids[first : first + VALUES_AT_ONCE] for first in range(0, len(ids), VALUES_AT_ONCE)]
            truths = [truth(expression, TermsOfTexts(terms.texts(part))) for part in parts]
            return np.concatenate([np.zeros(0, np.bool_), *truths])

        return decide

    def _check_delegated(
        self, conditions: Mapping[str, IdTest], edges: Sequence[Edge], any_nodes: Sequence[AnyPredicateNode]
    ) -> None:
        """Declines patterns for which Oxigraph would have to evaluate too many values."""
        for name, condition in conditions.items():
            if condition.delegated.size > (most := _most_requested(condition)):
                sizes = [
                    edge.relation.sources_in(condition.delegated, edge.from_subject(name))
                    for edge in edges
                    if name in edge.variables
                ]
                sizes += [node.sources_in(name, condition.delegated) for node in any_nodes if name in node.variables]
                if min(sizes, default=float(condition.delegated.size)) > most:
                    raise PatternDeclined

    @staticmethod
    def _check_scope(tests: Sequence[Test], *nodes: PatternNode) -> None:
        """Declines tests of variables outside their group: unbound there, but Oxigraph 0.5.13 may use outer values."""
        scope = frozenset().union(*(node.variables for node in nodes))
        if not all(variables_of_test(test) <= scope for test in tests):
            raise PatternDeclined

    def _check_exists(self, pattern: Exists, left: Pattern, right: Pattern) -> None:
        """Declines an EXISTS that may depend on more than its left side: Oxigraph substitutes all bound variables."""
        if self.whole is pattern:
            return
        inside, outside = occurrences(pattern), occurrences(self.whole)
        own = occurrences(left)
        if any(name not in own and outside[name] > inside[name] for name in occurrences(right)):
            raise PatternDeclined

    def _row_tests(self, tests: Iterable[Test], depth: int) -> tuple[RowTest, ...]:
        """Row tests of variables that may be unbound; declines those with too many delegated values."""
        row_tests = tuple(self._row_test(test, depth) for test in tests)
        waiting = list(row_tests)
        while waiting:
            test = waiting.pop()
            if isinstance(test, Combined):
                waiting += test.tests
            elif isinstance(test, ColumnTest) and test.condition.delegated.size > _most_requested(test.condition):
                raise PatternDeclined
        return row_tests

    def _optional(self, left: PatternNode, right: PatternNode, tests: Sequence[Test], depth: int) -> PatternNode:
        self._check_scope(tests, left, right)
        return OptionalNode(left, right, self._row_tests(tests, depth + 1))

    def _semi_join(self, left: PatternNode, right: PatternNode, negated: bool, disjoint: bool) -> PatternNode:
        shared = set(left.variables) & set(right.variables)
        if len(shared) == 1 and shared <= left.certain and shared <= right.certain:
            member = Member(shared.pop(), right, negated)
            if isinstance(left, JoinNode):
                return JoinNode.of(
                    left.edges, left.others, left.conditions, (*left.members, member), left.tests, left.variables
                )
            return JoinNode.of((), (left,), {}, (member,), (), left.variables)
        return SemiJoinNode(left, right, negated, disjoint)
