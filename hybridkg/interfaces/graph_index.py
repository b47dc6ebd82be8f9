"""The graph index protocol, implemented by the projection of the graph, and the algebra of its patterns.

A pattern is a small algebra over triples, in terms of RDF and not of any syntax (SPARQL 1.1 section 18.2); a query that
it cannot express is answered by the graph store instead. A variable is its name without `?`; a name that begins with a
space is internal to the translation (a blank node, the middle of a path).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.graph_links import GraphLinks
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.parameter import Parameter, bound
from hybridkg.rdf.term_texts import TaggedTexts, TermTexts
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term

Ids = NDArray[np.uint32]

UNBOUND = np.uint32(2**32 - 1)
"""The value of an unbound variable in a column. No term has this id."""


@dataclass(frozen=True)
class Variable:
    name: str


@dataclass(frozen=True)
class TermParameter(Parameter):
    """Stands for an IRI or a literal: that of parameter `number`."""

    number: int

    def value_in(self, bindings: Any) -> Term:
        term: Term = bindings.values[self.number]
        return term


Slot: TypeAlias = Variable | NamedNode | BlankNode | Literal | TermParameter
"""Subject or object. Literals are in the canonical form of the store (rdf.stored)."""


@dataclass(frozen=True)
class PredicatePath:
    """A single predicate."""

    predicate: str


@dataclass(frozen=True)
class InversePath:
    """`^path`."""

    path: Path


@dataclass(frozen=True)
class AlternativePath:
    """`a|b`. As in Oxigraph, a pair that several branches link is one solution."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Steps:
    """`a/b/c` inside a closure, where only pairs count; outside one it is a Join with intermediate variables."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Closure:
    """`path?` (least 0, most 1), `path*` (0, None), `path+` (1, None): distinct pairs (SPARQL 1.1 section 18.4)."""

    path: Path
    least: int
    most: int | None


Path: TypeAlias = PredicatePath | InversePath | AlternativePath | Steps | Closure


@dataclass(frozen=True)
class ValueComparison:
    """`?variable op constant`, op one of = != < <= > >=, by SPARQL's comparison of values (section 17.3)."""

    variable: str
    op: str
    constant: Term | TermParameter


@dataclass(frozen=True)
class StringTest:
    """CONTAINS, STRSTARTS or STRENDS of a variable and a constant, in that order."""

    function: str
    variable: str
    argument: Literal


@dataclass(frozen=True)
class CasedComparison:
    """`UCASE(?variable) op constant`, or LCASE, of a plain literal of ASCII; op as in ValueComparison."""

    function: str
    variable: str
    op: str
    constant: Literal


@dataclass(frozen=True)
class Opaque:
    """Any expression over one variable whose truth depends on its value alone, as SPARQL that reads `?x`.

    The test is false where the variable is unbound; no expression that could be true there is translated. With
    `of_strings`, its functions are of strings, which need no evaluation one by one.
    """

    variable: str
    expression: str
    of_strings: bool = field(default=False, repr=False, compare=False)


@dataclass(frozen=True)
class Same:
    """`?left = ?right` (or `!=`) of two variables that are both nodes, or `sameTerm`: the same term."""

    left: str
    right: str
    negated: bool = False


@dataclass(frozen=True)
class TextOrder:
    """`STR(?left) op STR(?right)`, op one of < <= > >=, of two variables that are IRIs with ids in one order."""

    left: str
    op: str
    right: str


@dataclass(frozen=True)
class AnyOf:
    """A disjunction; false and an error are equivalent, because it is under no negation."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class AllOf:
    """A conjunction."""

    tests: tuple[Test, ...]


Test: TypeAlias = ValueComparison | StringTest | CasedComparison | Opaque | Same | TextOrder | AnyOf | AllOf


@dataclass(frozen=True)
class Scan:
    """A triple pattern; the predicate is a path without variables."""

    subject: Slot
    path: Path
    object: Slot


@dataclass(frozen=True)
class AnyScan:
    """A triple pattern whose predicate is a variable."""

    subject: Slot
    predicate: Variable
    object: Slot


@dataclass(frozen=True)
class Values:
    """VALUES: rows of terms, None for UNDEF. Terms that are not in the graph stay terms, because they have no id."""

    variables: tuple[str, ...]
    rows: tuple[tuple[Term | TermParameter | None, ...], ...]


@dataclass(frozen=True)
class Join:
    """A conjunction of parts, in any order. Join(()) has one solution without variables."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class LeftJoin:
    """OPTIONAL, with the filters of its group that may read both sides."""

    left: Pattern
    right: Pattern
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Union:
    """Solutions of every branch, with duplicates; a branch may bind fewer variables."""

    branches: tuple[Pattern, ...]


@dataclass(frozen=True)
class Minus:
    """MINUS: left solutions without a compatible right one that shares a bound variable."""

    left: Pattern
    right: Pattern


@dataclass(frozen=True)
class Exists:
    """FILTER [NOT] EXISTS: left solutions with (without) a compatible right one."""

    left: Pattern
    right: Pattern
    negated: bool = False


@dataclass(frozen=True)
class Restrict:
    """FILTER: solutions of the child for which every test is true."""

    child: Pattern
    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Distinct:
    """A sub-select, SELECT [DISTINCT] variables: the projection of the child's columns."""

    child: Pattern
    variables: tuple[str, ...]
    distinct: bool = True


Pattern: TypeAlias = Scan | AnyScan | Values | Join | LeftJoin | Union | Minus | Exists | Restrict | Distinct


@dataclass(frozen=True)
class BoundPattern:
    """A pattern with parameters, and the terms that they stand for.

    Args:
        template: the pattern.
        values: the term of each parameter by its number; None for one that is not in the pattern.
        compiled: what an index has compiled of it, which a plan that runs again finds here.
    """

    template: Pattern
    values: tuple[Term | None, ...]
    compiled: list[tuple[GraphIndex, PreparedPattern | None]] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def whole(self) -> Pattern:
        """The pattern with the terms in place."""
        whole: Pattern = bound(self.template, self)
        return whole


AskedPattern: TypeAlias = Pattern | BoundPattern


class IdTable(NamedTuple):
    """A multiset of solutions in ids.

    Args:
        variables: names of the columns.
        columns: uint32[rows] each; UNBOUND where a row has no value.
        size: number of rows, also without columns.
    """

    variables: tuple[str, ...]
    columns: tuple[Ids, ...]
    size: int

    def column(self, name: str) -> Ids:
        return self.columns[self.variables.index(name)]


@dataclass(frozen=True)
class CountTable:
    """The number of solutions of each combination of values.

    Args:
        variables: names of the columns.
        columns: uint32[rows] each, ascending by the first, then by the second, ...; UNBOUND is a value, the last one.
        counts: int64[rows], at least 1; without variables there is one row, whose count may be 0.
    """

    variables: tuple[str, ...]
    columns: tuple[Ids, ...]
    counts: NDArray[np.int64]

    def column(self, name: str) -> Ids:
        return self.columns[self.variables.index(name)]


class Cardinality(NamedTuple):
    """An estimate between two bounds that are (nearly) certain."""

    low: float
    estimate: float
    high: float


class PreparedPattern(Protocol):
    """A pattern compiled by the projection, its constants looked up. Safe to use from many threads."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that solutions may bind, internal ones included, in a fixed order."""

    def size(self, variable: str | None = None) -> Cardinality:
        """The number of distinct values of a variable, or of solutions. Under 50 us."""

    def domain(self, variable: str) -> float:
        """Estimated distinct values of one of `variables` before constants and tests restrict the solutions."""

    def unbound_share(self, variable: str) -> float:
        """Estimated share of the solutions that leave a variable unbound, 0..1."""

    def work(self, variable: str | None = None) -> float:
        """Estimated entries of the projection that `candidates` (or, without a variable, `rows`) reads."""

    def work_each(self, variable: str) -> float:
        """Estimated entries that `rows` reads per value when `variable` is bound to few values."""

    def candidates(
        self, variable: str, meter: Meter, among: Ids | None = None, bound: Mapping[str, Ids] | None = None
    ) -> Ids:
        """The candidate set: ids of the variable in any solution, ascending and distinct.

        Args:
            variable: bound in every solution.
            meter: counts work, and may stop the run.
            among: restricts the variable to these ids, ascending and distinct.
            bound: the same for other variables that every solution binds.
        """

    def range_of(self, variable: str, meter: Meter) -> Ids:
        """Ids among which all candidates of a variable are, ascending and distinct; without listing solutions where
        candidates would. The variable is bound in every solution.
        """

    def rows(
        self,
        columns: Sequence[str],
        meter: Meter,
        bound: Mapping[str, Ids] | None = None,
        max_rows: int | None = None,
    ) -> IdTable:
        """The solutions, projected to `columns` with duplicates, in an order that depends on the graph alone.

        Args:
            columns: of `variables`; a name that no solution binds has a column of UNBOUND.
            meter: counts work, and may stop the run.
            bound: restricts variables that every solution binds to these ids, ascending and distinct.
            max_rows: the maximum size of an intermediate result; default: that of the index.

        Raises:
            QueryLimitError: an intermediate result is too large, or the time is over.
        """

    def only_values(self, variable: str, ids: Ids, meter: Meter) -> tuple[str, Ids] | None:
        """The other variable and its only value for each id of `variable`; None for a pattern that is more than one
        triple pattern, or one in which a value of `variable` may have several.

        Args:
            variable: bound in every solution.
            ids: uint32[n], in any order, repeats allowed; without UNBOUND.
            meter: counts work, and may stop the run.

        Returns:
            The name, and uint32[n], UNBOUND for an id without a solution.
        """

    def has_distinct_rows(self, columns: Sequence[str]) -> bool:
        """Whether no two solutions have the same values of some columns, as far as the form of the pattern tells."""

    def has_any(self, meter: Meter) -> bool:
        """Whether there is a solution; stops early where there are many.

        Raises:
            QueryLimitError: an intermediate result is too large, or the time is over.
        """

    def any_work(self) -> float:
        """Estimated entries of the projection that `has_any` reads. Under 50 us."""

    def counts(
        self,
        keys: Sequence[str],
        meter: Meter,
        bound: Mapping[str, Ids] | None = None,
        max_rows: int | None = None,
    ) -> CountTable:
        """The number of solutions for each combination of values of `keys`; solutions are listed only where needed.

        Equal to grouping `rows(keys)`.

        Args:
            keys: distinct names, perhaps none; a name that no solution binds has a column of UNBOUND.
            meter: counts work, and may stop the run.
            bound: restricts variables that every solution binds to these ids, ascending and distinct.
            max_rows: the maximum size of an intermediate result; default: that of the index.

        Raises:
            QueryLimitError: an intermediate result is too large, a count exceeds 2^62, or the time is over.
        """

    def counts_work(self, keys: Sequence[str]) -> float:
        """Estimated entries of the projection that `counts` reads. Under 50 us."""


class GraphIndex(Protocol):
    """The graph as columns of ids. Safe to use from many threads.

    Ids below `n_entities` are those of the NodeTable, which the text index uses as well; then come the other nodes of
    the graph, up to `n_nodes`, then its literals, then predicates that are no nodes. The order of ids is not an order
    of terms.
    """

    n_entities: int
    n_nodes: int

    def compile(self, pattern: AskedPattern) -> PreparedPattern | None:
        """The compiled pattern; None where the projection lacks something that it needs. Under 100 us for a pattern of
        five triples, under 30 us for another instance of a cached template.
        """

    def lacks(self, pattern: AskedPattern) -> tuple[str, ...]:
        """The predicates, sorted, of which it does not hold every triple, and which a pattern reads."""

    def has_nodes_only(self, predicate: str) -> bool:
        """Whether every object of a predicate is an IRI or a blank node; False for one that the index does not hold."""

    def object_kinds(self, predicate: str) -> frozenset[str] | None:
        """The kinds of the objects of a predicate: `node`, and segments of literals (`string`, `language`, `number`,
        `boolean`, `datetime zoned`, `datetime`, `date zoned`, `date`, `other`); None for a predicate of which the
        index does not hold every triple.
        """

    def orders_objects(self, *predicates: str) -> bool:
        """Whether every object of some predicates is an IRI, and `order_keys` orders them by their texts."""

    def terms(self, ids: Ids) -> list[Term | None]:
        """The term of each id; None for UNBOUND."""

    def tagged(self, ids: Ids) -> TaggedTexts:
        """The tags and the texts of a few terms; ids in any order."""

    def texts(self, ids: Ids) -> TermTexts:
        """The text of each term of ascending ids; UNBOUND may be the last ones."""

    def order_keys(self, ids: Ids, *, total: bool) -> NDArray[Any] | None:
        """Numbers in the order of the terms (rdf/order.py): unbound, blank nodes, IRIs, literals by value.

        Args:
            ids: in any order, repeats allowed, UNBOUND among them.
            total: equal values of different terms (1 and 1.0) differ, by datatype and text.

        Returns:
            number[len(ids)]; None where ids do not decide the order: nodes with and without text, literals that are not
            comparable.
        """

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """int64[len(terms)]: the id of each term, -1 for one that is not in the graph."""

    def around(self, ids: Ids, most: int) -> GraphLinks:
        """The triples between nodes that have one of some nodes at one end.

        Args:
            ids: of nodes, in any order, repeats allowed.
            most: a predicate of which a node has more triples in a direction is left out there; which ones were the
                first would depend on the order of ids.
        """

    def degrees(self, ids: Ids, without: str) -> NDArray[np.int64]:
        """int64[len(ids)]: the triples with each node as subject or object, without those of one predicate."""
