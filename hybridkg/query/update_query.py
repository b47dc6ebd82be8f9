"""The SELECT that an update evaluates: its solutions fill the templates of DELETE and INSERT."""

from __future__ import annotations

from hybridkg.query import ast
from hybridkg.query.scope import in_scope
from hybridkg.query.walk import walk


def query_of(modify: ast.Modify) -> ast.Query:
    """The query for the solutions of a modification, each once for every time it occurs.

    Its columns are the variables of the templates in the order of their first appearance; without any, one variable
    that WHERE binds, or `*`, because the number of solutions still counts. USING becomes FROM. `WITH <g>` without
    USING makes <g> the default graph while all named graphs stay visible (SPARQL 1.1 Update section 3.1.3), which is
    what `GRAPH <g> { WHERE }` says: GRAPH inside it, sub-selects and EXISTS mean the same in both. The difference is a
    graph that does not exist: as a default graph it is empty and `{}` has one solution there, while SPARQL gives
    `GRAPH <g> {}` none. Oxigraph gives one, so a WITH of a new graph works.

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
    where = modify.where
    if modify.with_graph is not None and not modify.using:
        span = modify.with_graph.span
        where = ast.Group((ast.GraphPattern(modify.with_graph, where, span=span),), span=where.span)
    columns = tuple(ast.SelectItem(variable, span=variable.span) for variable in _columns(modify))
    form = ast.SelectQuery(columns or None, where, dataset=modify.using, modifiers=modify.modifiers, span=modify.span)
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
