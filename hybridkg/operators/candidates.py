"""The candidate set of a query: which entities of a variable the graph lets take part."""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.interfaces.meter import GRAPH_QUESTIONS, STORE_QUESTIONS, STORE_ROWS
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.text_access import every_match, scores_among
from hybridkg.operators.text_query import checked_index, text_query
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.terms import BlankNode, NamedNode


@dataclass(frozen=True)
class Candidates:
    """Finds the entities of one variable that the fragments and filtering MATCHes of a query leave.

    Args:
        variable: bound in every row of every fragment.
        fragments: what they are in.
        filters: MATCHes whose scores order nothing; those on other variables of the fragments, and on this one.
    """

    variable: str
    fragments: tuple[GraphFragment, ...]
    filters: tuple[ast.Match, ...] = ()

    @property
    def unrestricted(self) -> bool:
        """Whether every entity is a candidate."""
        return not self.fragments and not self.filters

    def find(self, context: ExecutionContext, among: Ids | None = None) -> Ids | None:
        """uint32[n], ascending and distinct, below the number of entities; None where every entity is a candidate.

        Args:
            context: of the run.
            among: only these are asked about, and the answer is among them; ascending and distinct.
        """
        found = among
        elsewhere: dict[str, list[ast.Match]] = {}
        for match in self.filters:
            if match.entity.name != self.variable:
                elsewhere.setdefault(match.entity.name, []).append(match)
                continue
            found = _both(found, self._matching(match, context, found))
        bound = {name: self._all_matching(matches, context) for name, matches in elsewhere.items()}
        for fragment in self.fragments:
            of_fragment = {name: ids for name, ids in bound.items() if name in fragment.columns}
            found = _candidates(fragment, self.variable, found, of_fragment, context)
        return found

    def _matching(self, match: ast.Match, context: ExecutionContext, among: Ids | None) -> Ids:
        """The entities that match, among those that are left."""
        import numpy as np

        index = checked_index(context.text, match)
        if among is None:
            return every_match(index, text_query(match), context)[0]
        return among[~np.isnan(scores_among(index, text_query(match), among, context))]

    def _all_matching(self, matches: list[ast.Match], context: ExecutionContext) -> Ids:
        """The entities of another variable that pass all of its filters."""
        found: Ids | None = None
        for match in matches:
            found = _both(found, self._matching(match, context, found))
        assert found is not None
        return found


def _candidates(
    fragment: GraphFragment, variable: str, among: Ids | None, bound: dict[str, Ids], context: ExecutionContext
) -> Ids:
    """The entities of a variable in the solutions of a fragment."""
    import numpy as np

    prepared = fragment.prepared(context)
    if prepared is None:
        return _both(among, _asked(fragment, variable, context))
    assert context.graph is not None
    context.meter.add(GRAPH_QUESTIONS, 1)
    if bound:
        if among is not None:
            bound = {**bound, variable: among}
        found = np.unique(prepared.rows([variable], context.meter, bound).column(variable))
    else:
        found = prepared.candidates(variable, context.meter, among)
    return found[: np.searchsorted(found, context.graph.n_entities)]


def _asked(fragment: GraphFragment, variable: str, context: ExecutionContext) -> Ids:
    """The same from the store, which is asked for distinct terms."""
    import numpy as np

    assert context.nodes is not None
    projection = (ast.Projection(ast.Var(variable)),)
    query = ast.SelectQuery(projection, fragment.group, reduction="DISTINCT", dataset=fragment.dataset)
    rows = context.collect(context.store.select(write(query)).rows)
    context.meter.add(STORE_QUESTIONS, 1)
    context.meter.add(STORE_ROWS, len(rows))
    wanted = context.nodes.find_many([term for (term,) in rows if isinstance(term, NamedNode | BlankNode)])
    return np.unique(wanted[wanted >= 0].astype(np.uint32))


def _both(first: Ids | None, second: Ids) -> Ids:
    if first is None:
        return second
    import numpy as np

    return np.intersect1d(first, second, assume_unique=True)
