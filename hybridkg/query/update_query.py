"""The SELECT that an update evaluates: its solutions fill the templates of DELETE and INSERT."""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import walk


def query_of(modify: ast.Modify, beside_new: Sequence[str] | None = None) -> ast.Query:
    """The query for the solutions of a modification, each once for every time it occurs.

    Its columns are the variables of the templates in the order of their first appearance; without any, one variable
    that WHERE binds, or `*`, because the number of solutions still counts. USING becomes FROM. `WITH <g>` without
    USING makes <g> the default graph while all named graphs stay visible (SPARQL 1.1 Update section 3.1.3), which is
    what `GRAPH <g> { WHERE }` says: GRAPH inside it, sub-selects and EXISTS mean the same in both. The difference is a
    graph that does not exist: `GRAPH <g> {}` has no solution, and `{}` has one in the empty default graph. So FROM says
    it there, with FROM NAMED for the others.

    Args:
        modify: the modification.
        beside_new: IRIs of all named graphs where that of WITH does not exist; None where it does.

    >>> from hybridkg.query.parser import parse_update
    >>> from hybridkg.query.write import write
    >>> update = parse_update("WITH <http://e/g> DELETE { ?s ?p 1 } WHERE { ?s ?p ?o }")
    >>> print(write(query_of(update.operations[0])))
    SELECT ?s ?p
    WHERE {
      GRAPH <http://e/g> {
        ?s ?p ?o .
      }
    }
    """
    where, dataset = modify.where, modify.using
    if modify.with_graph is not None and not dataset and beside_new is not None:
        clauses = [ast.DatasetClause(modify.with_graph, span=modify.with_graph.span)]
        if any(isinstance(node, ast.GraphPattern) for node in walk(where)):
            clauses += [ast.DatasetClause(ast.Iri(name), named=True) for name in beside_new]
        dataset = tuple(clauses)
    elif modify.with_graph is not None and not dataset:
        span = modify.with_graph.span
        where = ast.Group((ast.GraphPattern(modify.with_graph, where, span=span),), span=where.span)
    columns = tuple(ast.SelectItem(variable, span=variable.span) for variable in _columns(modify))
    form = ast.SelectQuery(columns or None, where, dataset=dataset, modifiers=modify.modifiers, span=modify.span)
    return ast.Query(form, span=modify.span)


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
