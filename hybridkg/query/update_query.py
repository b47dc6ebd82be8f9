"""The SELECT that an update evaluates: its solutions fill the templates of DELETE and INSERT."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import rebuild, walk


def query_of(modify: ast.Modify) -> ast.Query:
    """The query for the solutions of a modification, each once for every time it occurs.

    Its columns are the variables of the templates in the order of their first appearance; without any, one variable
    that WHERE binds, or `*`, because the number of solutions still counts. USING becomes FROM. `WITH <g>` without
    USING makes <g> the default graph while all named graphs stay visible (SPARQL 1.1 Update section 3.1.3), so the
    triples outside GRAPH and SERVICE are put into `GRAPH <g> { ... }`.

    >>> from hybridkg.query.parser import parse_update
    >>> from hybridkg.query.write import write
    >>> update = parse_update("WITH <http://e/g> DELETE { ?s ?p 1 } WHERE { ?s ?p ?o FILTER(?o > 2) }")
    >>> print(write(query_of(update.operations[0])))
    SELECT ?s ?p
    WHERE {
      GRAPH <http://e/g> {
        ?s ?p ?o .
      }
      FILTER(?o > 2)
    }
    """
    where, modifiers = modify.where, modify.modifiers
    if modify.with_graph is not None and not modify.using:
        in_graph = _InGraph(modify.with_graph)
        where, modifiers = in_graph(where), in_graph(modifiers)
    columns = tuple(ast.SelectItem(variable, span=variable.span) for variable in _columns(modify))
    form = ast.SelectQuery(columns or None, where, dataset=modify.using, modifiers=modifiers, span=modify.span)
    return ast.Query(form, span=modify.span)


@dataclass(frozen=True)
class _InGraph:
    """Rewriting of a pattern over the default graph to one over a named graph.

    GRAPH around the whole pattern would differ where the graph does not exist: `{}` has one solution over an empty
    default graph, and `GRAPH <g> {}` has none over a missing <g> (SPARQL 1.1 section 18.6).
    """

    graph: ast.Iri

    def __call__(self, node: Any) -> Any:
        """The node over the named graph."""
        match node:
            case ast.GraphPattern() | ast.ServicePattern():
                return node
            case ast.Group():
                return replace(node, elements=self._elements(node))
            case _:
                return rebuild(node, self)

    def _elements(self, group: ast.Group) -> tuple[ast.Element, ...]:
        """The elements, filters last: a FILTER between triples does not end their basic graph pattern, whose blank
        nodes must stay in one GRAPH.
        """
        elements: list[ast.Element] = []
        filters: list[ast.Element] = []
        triples: list[ast.TriplePattern] = []

        def end() -> None:
            if triples:
                block = ast.Triples(tuple(triples), span=triples[0].span)
                inner = ast.Group((block,), span=block.span)
                elements.append(ast.GraphPattern(self.graph, inner, span=block.span))
                triples.clear()

        for element in group.elements:
            if isinstance(element, ast.Triples):
                triples += [item for item in element.items if isinstance(item, ast.TriplePattern)]
                ranked = tuple(item for item in element.items if not isinstance(item, ast.TriplePattern))
                if ranked:
                    elements.append(replace(element, items=ranked))
            elif isinstance(element, ast.Filter):
                filters.append(self(element))
            else:
                end()
                elements.append(self(element))
        end()
        return (*elements, *filters)


def template_variables(modify: ast.Modify) -> tuple[ast.Var, ...]:
    """The variables of DELETE and INSERT, in the order of their first appearance."""
    found: dict[ast.Var, ast.Var] = {}
    for block in (*modify.delete, *modify.insert):
        for node in (block.graph, *block.triples):
            for below in walk(node) if node is not None else ():
                if isinstance(below, ast.Var):
                    found.setdefault(below, below)
    return tuple(found)


def _columns(modify: ast.Modify) -> tuple[ast.Var, ...]:
    return template_variables(modify) or tuple(map(ast.Var, sorted(in_scope(modify.where))[:1]))


def bound_in(modify: ast.Modify) -> frozenset[str]:
    """The variables that a solution of a modification may bind, the score of RANK BY included."""
    rank = modify.modifiers.rank_by
    scores = {rank.score.name} if rank is not None and rank.score is not None else set()
    return in_scope(modify.where) | scores
