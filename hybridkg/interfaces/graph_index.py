"""What the engine asks of the projection of the graph, and the patterns it asks about.

A pattern is a small algebra over triples, in terms of RDF and not of any syntax (SPARQL 1.1 section 18.2): whoever
translates a query into it leaves out what it cannot say, and asks the graph store instead. A variable is its name
without `?`; a name that begins with a space is the translator's own (a blank node, the middle of a path).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.parameter import Parameter, bound
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term

Ids = NDArray[np.uint32]

UNBOUND = np.uint32(2**32 - 1)
"""In a column of a table: the row does not bind the variable. No term has this id."""


@dataclass(frozen=True)
class Variable:
    """A variable, by its name."""

    name: str


@dataclass(frozen=True)
class TermParameter(Parameter):
    """Stands for an IRI or a literal: that of parameter `number`."""

    number: int

    def value_in(self, bindings: Any) -> Term:
        """As Parameter has it."""
        term: Term = bindings.values[self.number]
        return term


Slot: TypeAlias = Variable | NamedNode | BlankNode | Literal | TermParameter
"""What stands in subject or object place. Literals are in the form in which the store has them (rdf.stored)."""


# --- paths -----------------------------------------------------------------------


@dataclass(frozen=True)
class PredicatePath:
    """One predicate."""

    predicate: str


@dataclass(frozen=True)
class InversePath:
    """`^path`."""

    path: Path


@dataclass(frozen=True)
class AlternativePath:
    """`a|b`. As Oxigraph has it, a pair that several branches link is one solution."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Steps:
    """`a/b/c` inside a closure, where only pairs count; elsewhere a sequence is a Join with variables between."""

    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Closure:
    """`path?` (least 0, most 1), `path*` (0, None), `path+` (1, None): distinct pairs (SPARQL 1.1 section 18.4)."""

    path: Path
    least: int
    most: int | None


Path: TypeAlias = PredicatePath | InversePath | AlternativePath | Steps | Closure


# --- tests of values --------------------------------------------------------------


@dataclass(frozen=True)
class ValueComparison:
    """`?variable op constant`, op one of = != < <= > >=, with SPARQL's own comparison of values (section 17.3)."""

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
class Opaque:
    """Any expression over one variable whose truth depends on its value alone, as SPARQL that reads `?x`.

    Where the variable is unbound the test is false (the translator makes none that could be true then).
    """

    variable: str
    expression: str


@dataclass(frozen=True)
class Same:
    """`?left = ?right` (or `!=`) of two variables that are both nodes, or `sameTerm`: the same term."""

    left: str
    right: str
    negated: bool = False


@dataclass(frozen=True)
class AnyOf:
    """One of the tests is true; false and an error are the same here, because no negation is outside of it."""

    tests: tuple[Test, ...]


@dataclass(frozen=True)
class AllOf:
    """All of the tests are true."""

    tests: tuple[Test, ...]


Test: TypeAlias = ValueComparison | StringTest | Opaque | Same | AnyOf | AllOf


# --- patterns -------------------------------------------------------------------


@dataclass(frozen=True)
class Scan:
    """A triple pattern; the predicate is a path without variables."""

    subject: Slot
    path: Path
    object: Slot


@dataclass(frozen=True)
class Values:
    """VALUES: rows of terms, None for UNDEF. Terms that the graph does not have stay terms (ids cannot name them)."""

    variables: tuple[str, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True)
class Join:
    """All parts, in any order. Join(()) has one solution without variables."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class LeftJoin:
    """OPTIONAL, with the filters of its group that may read both sides."""

    left: Pattern
    right: Pattern
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True)
class Union:
    """Solutions of every branch, duplicates kept; a branch may bind fewer variables."""

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
    """Solutions of the child for which every test is true."""

    child: Pattern
    tests: tuple[Test, ...]


@dataclass(frozen=True)
class Distinct:
    """SELECT [DISTINCT] variables as a sub-select: the child's columns, cut down."""

    child: Pattern
    variables: tuple[str, ...]
    distinct: bool = True


Pattern: TypeAlias = Scan | Values | Join | LeftJoin | Union | Minus | Exists | Restrict | Distinct


@dataclass(frozen=True)
class BoundPattern:
    """A pattern with parameters, and the terms that they stand for.

    Args:
        template: the pattern.
        values: the term of each parameter by its number; None for one that is not in the pattern.
    """

    template: Pattern
    values: tuple[Term | None, ...]

    @cached_property
    def whole(self) -> Pattern:
        """The pattern with the terms in place."""
        whole: Pattern = bound(self.template, self)
        return whole


AskedPattern: TypeAlias = Pattern | BoundPattern


# --- answers -------------------------------------------------------------------


@dataclass(frozen=True)
class IdTable:
    """Solutions in ids: a multiset of rows.

    Args:
        variables: names of the columns.
        columns: uint32[rows] for each; UNBOUND where a row has no value.
        size: rows, also where there is no column.
    """

    variables: tuple[str, ...]
    columns: tuple[Ids, ...]
    size: int

    def column(self, name: str) -> Ids:
        """One column."""
        return self.columns[self.variables.index(name)]


class Cardinality(NamedTuple):
    """How many: a best guess between two bounds that are (nearly) sure."""

    low: float
    estimate: float
    high: float


class PreparedPattern(Protocol):
    """A pattern that the projection has accepted, its constants looked up. May be used from many threads."""

    @property
    def variables(self) -> tuple[str, ...]:
        """What solutions may bind, the translator's own included, in a fixed order."""

    def size(self, variable: str | None = None) -> Cardinality:
        """How many distinct values of a variable its solutions have, or how many solutions there are. Under 50 us."""

    def work(self, variable: str | None = None) -> float:
        """About how many entries of the projection `candidates` (or, without a variable, `rows`) will read."""

    def work_each(self, variable: str) -> float:
        """About how many entries `rows` reads for each value when `variable` is bound to few values."""

    def candidates(
        self, variable: str, meter: Meter, among: Ids | None = None, bound: Mapping[str, Ids] | None = None
    ) -> Ids:
        """The candidate set: ids that the variable has in some solution, ascending and distinct.

        Args:
            variable: bound in every solution.
            meter: counts, and may stop the run.
            among: ascending and distinct; only these are asked about.
            bound: the same for other variables that every solution binds.
        """

    def rows(self, columns: Sequence[str], meter: Meter, bound: Mapping[str, Ids] | None = None) -> IdTable:
        """The solutions, cut down to `columns` (duplicates kept), in an order that depends on the graph alone.

        Args:
            columns: of `variables`; a name that no solution binds gives a column of UNBOUND.
            meter: counts, and may stop the run.
            bound: for some variables that every solution binds, the ids (ascending, distinct) they may have.

        Raises:
            QueryLimitError: an intermediate result is too large, or the time is over.
        """


class GraphIndex(Protocol):
    """The graph as columns of ids. Safe to use from many threads.

    Ids below `n_entities` are those of the NodeTable, which the text index uses as well; then come the other nodes
    of the graph, up to `n_nodes`, then its literals. Ids say nothing about the order of terms across these.
    """

    n_entities: int
    n_nodes: int

    def compile(self, pattern: AskedPattern) -> PreparedPattern | None:
        """The pattern, ready to be asked; None where the projection does not hold all that it takes. Under 100 us
        for a pattern of five triples, under 30 us for one whose template has been seen with other IRIs.
        """

    def terms(self, ids: Ids) -> list[Term | None]:
        """The term of each id; None for UNBOUND."""

    def find(self, terms: Sequence[Term]) -> NDArray[np.int64]:
        """int64[len(terms)]: the id of each term, -1 for one that the graph does not have."""
