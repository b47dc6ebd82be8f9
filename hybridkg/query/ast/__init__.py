"""The syntax tree of HybridQL: frozen dataclasses, equal if the queries are, whatever the layout.

Prefixed names are resolved, `a` is rdf:type; predicate-object lists, collections and `[...]` are expanded to triples
with blank nodes, so the tree is small and the canonical text (query.write) needs no prologue. Spans point into the
query text and take no part in equality: parse(write(q)) == q. Grammar: SPARQL 1.1 section 19.8; the additions:
docs/language.md.
"""

from __future__ import annotations

from hybridkg.errors import Span
from hybridkg.query.ast.expressions import (
    Aggregate,
    Binary,
    Call,
    Exists,
    Expression,
    In,
    NamedArgument,
    RankedList,
    RankFunction,
    Unary,
)
from hybridkg.query.ast.paths import (
    Path,
    PathAlternative,
    PathInverse,
    PathNegated,
    PathRepeat,
    PathSequence,
)
from hybridkg.query.ast.patterns import (
    Bind,
    Element,
    Filter,
    GraphPattern,
    Group,
    InlineData,
    Match,
    MinusPattern,
    Model,
    Near,
    OnField,
    OptionalPattern,
    RankedItem,
    ServicePattern,
    SubSelect,
    TriplePattern,
    Triples,
    UnionPattern,
    Vector,
)
from hybridkg.query.ast.queries import (
    AskQuery,
    ConstructQuery,
    DatasetClause,
    DescribeQuery,
    GroupKey,
    Modifiers,
    OrderKey,
    Query,
    QueryForm,
    RankBy,
    Rerank,
    SelectItem,
    SelectQuery,
)
from hybridkg.query.ast.terms import (
    RDF,
    REIFIES,
    Blank,
    Constant,
    GraphTerm,
    Iri,
    IriParameter,
    ListParameter,
    Lit,
    LiteralParameter,
    Syntax,
    TripleTerm,
    Value,
    Var,
    VarOrTerm,
    parameter_for,
)
from hybridkg.query.ast.updates import (
    ClearGraphs,
    CopyGraph,
    CreateGraph,
    DeleteData,
    GraphSet,
    InsertData,
    LoadFile,
    Modify,
    Operation,
    QuadTemplate,
    Update,
)

__all__ = [
    "RDF", "REIFIES", "Aggregate", "AskQuery", "Binary", "Bind", "Blank", "Call", "ClearGraphs", "Constant",
    "ConstructQuery", "CopyGraph", "CreateGraph", "DatasetClause", "DeleteData", "DescribeQuery", "Element",
    "Exists", "Expression", "Filter", "GraphPattern", "GraphSet", "GraphTerm", "Group", "GroupKey", "In",
    "InlineData", "InsertData", "Iri", "IriParameter", "ListParameter", "Lit", "LiteralParameter", "LoadFile",
    "Match", "MinusPattern", "Model", "Modifiers", "Modify", "NamedArgument", "Near", "OnField", "Operation",
    "OptionalPattern", "OrderKey", "Path", "PathAlternative", "PathInverse", "PathNegated", "PathRepeat",
    "PathSequence", "QuadTemplate", "Query", "QueryForm", "RankBy", "RankFunction", "RankedItem", "RankedList",
    "Rerank", "SelectItem", "SelectQuery", "ServicePattern", "Span", "SubSelect", "Syntax", "TriplePattern",
    "TripleTerm", "Triples", "Unary", "UnionPattern", "Update", "Value", "Var", "VarOrTerm", "Vector", "parameter_for",
]  # fmt: skip
