"""Syntax of updates (SPARQL 1.1 Update, productions 29-51)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from hybridkg.query.ast.patterns import Group, TriplePattern
from hybridkg.query.ast.queries import DatasetClause, Modifiers
from hybridkg.query.ast.terms import Iri, Syntax, Var
from hybridkg.rdf.terms import Quad


@dataclass(frozen=True)
class QuadTemplate(Syntax):
    """Triples of DATA or of a template; a graph of None is the default graph, or the one of WITH.

    `ground` are more triples, of INSERT DATA only, which have no nodes of their own: programs write thousands. They
    have neither variables nor blank nodes, and their graph is that of the template.
    """

    triples: tuple[TriplePattern, ...]
    graph: Var | Iri | None = None
    ground: tuple[Quad, ...] = ()


@dataclass(frozen=True)
class InsertData(Syntax):
    """`INSERT DATA { ... }`; a variable stands for a parameter."""

    quads: tuple[QuadTemplate, ...]


@dataclass(frozen=True)
class DeleteData(Syntax):
    """`DELETE DATA { ... }`; a variable stands for a parameter."""

    quads: tuple[QuadTemplate, ...]


@dataclass(frozen=True)
class Modify(Syntax):
    """`[WITH graph] [DELETE { ... }] [INSERT { ... }] [USING ...] WHERE { ... } [RANK BY | ORDER BY] [LIMIT] [OFFSET]`.

    A clause that is absent has no quads. With `is_short` it is DELETE WHERE, whose `where` repeats `delete`.
    """

    where: Group
    delete: tuple[QuadTemplate, ...] = ()
    insert: tuple[QuadTemplate, ...] = ()
    with_graph: Iri | None = None
    using: tuple[DatasetClause, ...] = ()
    modifiers: Modifiers = field(default_factory=Modifiers)
    is_short: bool = False


@dataclass(frozen=True)
class LoadFile(Syntax):
    """`LOAD [SILENT] <source> [INTO GRAPH <into>]`; an `into` of None is the default graph."""

    source: Iri
    into: Iri | None = None
    silent: bool = False


GraphSet: TypeAlias = Iri | Literal["DEFAULT", "NAMED", "ALL"]
"""The graphs that CLEAR or DROP empties."""


@dataclass(frozen=True)
class ClearGraphs(Syntax):
    """`CLEAR [SILENT] graphs`, or DROP; a store without empty graphs does the same for both."""

    graphs: GraphSet
    drop: bool = False
    silent: bool = False


@dataclass(frozen=True)
class CreateGraph(Syntax):
    """`CREATE [SILENT] GRAPH <graph>`."""

    graph: Iri
    silent: bool = False


@dataclass(frozen=True)
class CopyGraph(Syntax):
    """`ADD`, `MOVE` or `COPY [SILENT] source TO target`; a graph of None is the default graph."""

    kind: Literal["ADD", "MOVE", "COPY"]
    source: Iri | None
    target: Iri | None
    silent: bool = False


Operation: TypeAlias = InsertData | DeleteData | Modify | LoadFile | ClearGraphs | CreateGraph | CopyGraph
"""One operation of a request; each sees what those before it have done."""


@dataclass(frozen=True)
class Update(Syntax):
    """A whole update request; `explain` and `prefixes` are those of `Query`."""

    operations: tuple[Operation, ...]
    explain: str = ""
    prefixes: tuple[tuple[str, str], ...] = field(default=(), compare=False)
