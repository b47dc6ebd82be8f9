"""The syntax tree of HybridQL: frozen dataclasses, equal when the queries are, whatever the layout.

Prefixed names are resolved, `a` is rdf:type, predicate-object lists,
collections and `[...]` are written out as triples with blank nodes, so the
tree is small and the canonical text (query.write) needs no prologue. Spans
point into the query text and take no part in equality: parse(write(q)) == q.
Grammar: SPARQL 1.1 Query section 19.8; the additions: docs/language.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from hybridkg.errors import Span

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@dataclass(frozen=True)
class Syntax:
    """Base of every node of the tree."""

    span: Span = field(default=Span(), compare=False, kw_only=True, repr=False)


# --- terms ---------------------------------------------------------------


@dataclass(frozen=True)
class Var(Syntax):
    """`?name` or `$name`, without the mark."""

    name: str


@dataclass(frozen=True)
class Iri(Syntax):
    """An absolute IRI."""

    value: str


@dataclass(frozen=True)
class Blank(Syntax):
    """`_:label`, or a fresh label for `[]`; a variable that cannot be projected."""

    label: str


@dataclass(frozen=True)
class Lit(Syntax):
    """A literal. datatype is an absolute IRI, None for simple and language-tagged strings."""

    lexical: str
    datatype: str | None = None
    language: str | None = None


GraphTerm: TypeAlias = Iri | Lit | Blank
VarOrTerm: TypeAlias = Var | Iri | Lit | Blank

# --- expressions (productions 110-127) ------------------------------------


@dataclass(frozen=True)
class Binary(Syntax):
    """op is one of `|| && = != < > <= >= + - * /`."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Unary(Syntax):
    """op is one of `! + -`."""

    op: str
    operand: Expression


@dataclass(frozen=True)
class In(Syntax):
    """`operand [NOT] IN (options)`."""

    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False


@dataclass(frozen=True)
class Call(Syntax):
    """A built-in (its upper-case name) or a function named by an IRI.

    base is what IRI and URI resolve against, where the query has a BASE.
    """

    function: str | Iri
    arguments: tuple[Expression, ...]
    distinct: bool = False
    base: str | None = None


@dataclass(frozen=True)
class Exists(Syntax):
    """`[NOT] EXISTS { pattern }`."""

    pattern: Group
    negated: bool = False


@dataclass(frozen=True)
class Aggregate(Syntax):
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; argument None is `*`."""

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str | None = None


Expression: TypeAlias = "Var | Iri | Lit | Binary | Unary | In | Call | Exists | Aggregate | RankFunction"

# --- property paths (productions 88-96) ------------------------------------


@dataclass(frozen=True)
class PathSequence(Syntax):
    """`a / b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class PathAlternative(Syntax):
    """`a | b`."""

    parts: tuple[Path, ...]


@dataclass(frozen=True)
class PathInverse(Syntax):
    """`^a`."""

    path: Path


@dataclass(frozen=True)
class PathRepeat(Syntax):
    """`a*`, `a+` or `a?`; mark is that character."""

    path: Path
    mark: str


@dataclass(frozen=True)
class PathNegated(Syntax):
    """`!(a | ^b)`; each part is an IRI or the inverse of one."""

    parts: tuple[Iri | PathInverse, ...]


Path: TypeAlias = Iri | PathSequence | PathAlternative | PathInverse | PathRepeat | PathNegated

# --- graph patterns (productions 53-67) -------------------------------------


@dataclass(frozen=True)
class TriplePattern(Syntax):
    """One triple; the predicate may be a path."""

    subject: VarOrTerm
    predicate: Var | Path
    object: VarOrTerm


@dataclass(frozen=True)
class NamedArgument(Syntax):
    """`name=value` of a field or a model."""

    name: str
    value: Lit


@dataclass(frozen=True)
class OnField(Syntax):
    """`field[@language][^weight] [name=value ...]` of an ON clause."""

    name: str
    language: str | None = None
    weight: float | None = None
    arguments: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True)
class Model(Syntax):
    """`USING name(args)`."""

    name: str
    arguments: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True)
class Match(Syntax):
    """`?entity MATCH [ALL] [QUERY] text [ON (...)] [USING ...] [TOP n] [AS ?score] [SNIPPET ?snippet]`."""

    entity: Var
    text: Lit | Var
    all_terms: bool = False
    query_syntax: bool = False
    fields: tuple[OnField, ...] = ()
    model: Model | None = None
    top: int | None = None
    score: Var | None = None
    snippet: Var | None = None
    plain_words: bool = field(default=False, compare=False, kw_only=True)
    """Set where a parameter gave the text: a search box is data, never query syntax. Not written."""


@dataclass(frozen=True)
class Vector(Syntax):
    """`[0.1, ...]`: float[dimensions]."""

    values: tuple[float, ...]


@dataclass(frozen=True)
class Near(Syntax):
    """`?entity NEAR [EXACT] target [USING encoder] [TOP n] [WITHIN threshold] [AS ?score]`.

    The target is a text, an entity, a variable bound elsewhere, or a vector.
    """

    entity: Var
    target: Lit | Iri | Var | Vector
    exact: bool = False
    encoder: Model | None = None
    top: int | None = None
    within: float | None = None
    score: Var | None = None


RankedItem: TypeAlias = Match | Near
"""A ranked predicate: a relation (entity, score)."""


@dataclass(frozen=True)
class Triples(Syntax):
    """A triples block: one basic graph pattern, with the ranked predicates written between its triples."""

    items: tuple[TriplePattern | RankedItem, ...]


@dataclass(frozen=True)
class Group(Syntax):
    """`{ ... }`, the elements in the order written."""

    elements: tuple[Element, ...]


@dataclass(frozen=True)
class OptionalPattern(Syntax):
    """`OPTIONAL { ... }`."""

    pattern: Group


@dataclass(frozen=True)
class UnionPattern(Syntax):
    """`{...} UNION {...} ...`, at least two branches (one braced group alone is a Group)."""

    branches: tuple[Group, ...]


@dataclass(frozen=True)
class MinusPattern(Syntax):
    """`MINUS { ... }`."""

    pattern: Group


@dataclass(frozen=True)
class GraphPattern(Syntax):
    """`GRAPH name { ... }`."""

    name: Var | Iri
    pattern: Group


@dataclass(frozen=True)
class ServicePattern(Syntax):
    """`SERVICE [SILENT] endpoint { ... }`."""

    endpoint: Var | Iri
    pattern: Group
    silent: bool = False


@dataclass(frozen=True)
class Filter(Syntax):
    """`FILTER condition`."""

    condition: Expression


@dataclass(frozen=True)
class Bind(Syntax):
    """`BIND(expression AS ?variable)`."""

    expression: Expression
    variable: Var


@dataclass(frozen=True)
class InlineData(Syntax):
    """`VALUES (?x ?y) { (a b) ... }`; None is UNDEF. Every row has one cell for each variable."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Iri | Lit | None, ...], ...]


@dataclass(frozen=True)
class SubSelect(Syntax):
    """A SELECT inside a group."""

    query: SelectQuery


Element: TypeAlias = (
    Triples
    | Group
    | OptionalPattern
    | UnionPattern
    | MinusPattern
    | GraphPattern
    | ServicePattern
    | Filter
    | Bind
    | InlineData
    | SubSelect
)

# --- queries (productions 1-30) ----------------------------------------------


@dataclass(frozen=True)
class DatasetClause(Syntax):
    """`FROM <iri>` or `FROM NAMED <iri>`."""

    graph: Iri
    named: bool = False


@dataclass(frozen=True)
class Projection(Syntax):
    """`?x`, or `(expression AS ?x)`."""

    variable: Var
    expression: Expression | None = None


@dataclass(frozen=True)
class GroupKey(Syntax):
    """A key of GROUP BY, with a name where one is given."""

    expression: Expression
    variable: Var | None = None


@dataclass(frozen=True)
class OrderKey(Syntax):
    """A key of ORDER BY."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class RankBy(Syntax):
    """`RANK BY expression [AS ?score]`."""

    expression: Expression
    score: Var | None = None


@dataclass(frozen=True)
class RankedList(Syntax):
    """A score as an argument of a RankFunction, with its weight where one is given."""

    score: Var
    weight: float | None = None


@dataclass(frozen=True)
class RankFunction(Syntax):
    """`rrf(...)`, `minmax(...)` or `zscore(...)`: a function of all surviving scores; stands in RANK BY only."""

    name: str
    lists: tuple[RankedList, ...]
    arguments: tuple[NamedArgument, ...] = ()


@dataclass(frozen=True)
class Rerank(Syntax):
    """`RERANK TOP n USING reranker(...) [ON ?variable] [AS ?score]`."""

    top: int
    reranker: Model
    on: Var | None = None
    score: Var | None = None


@dataclass(frozen=True)
class Modifiers(Syntax):
    """Solution modifiers; RANK BY stands where ORDER BY does, RERANK behind it."""

    group_by: tuple[GroupKey, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderKey, ...] = ()
    rank_by: RankBy | None = None
    limit: int | None = None
    offset: int | None = None
    rerank: Rerank | None = None


@dataclass(frozen=True)
class SelectQuery(Syntax):
    """projection None is `SELECT *`; reduction is "", "DISTINCT" or "REDUCED"."""

    projection: tuple[Projection, ...] | None
    where: Group
    reduction: str = ""
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class AskQuery(Syntax):
    """`ASK { ... }`."""

    where: Group
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class ConstructQuery(Syntax):
    """`CONSTRUCT { template } WHERE { ... }`; the short form has its own triples as template."""

    template: tuple[TriplePattern, ...]
    where: Group
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


@dataclass(frozen=True)
class DescribeQuery(Syntax):
    """`DESCRIBE`; subjects empty is `*`."""

    subjects: tuple[Var | Iri, ...]
    where: Group | None
    dataset: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = Modifiers()
    values: InlineData | None = None


QueryForm: TypeAlias = SelectQuery | AskQuery | ConstructQuery | DescribeQuery


@dataclass(frozen=True)
class Query(Syntax):
    """A whole query text.

    explain is "", "plan" (EXPLAIN) or "analyze" (EXPLAIN ANALYZE). prefixes are those declared, kept only to
    shorten IRIs when something is shown.
    """

    form: QueryForm
    explain: str = ""
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
