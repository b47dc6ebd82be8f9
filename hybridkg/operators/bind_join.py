"""Bind join: the join of rows with a fragment restricted to the values of one variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hybridkg.interfaces.meter import ROWS, Work
from hybridkg.interfaces.text_index import Ids
from hybridkg.operators.base import OneChild
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.estimation_context import EstimationContext, times, work_of
from hybridkg.operators.graph_fragment import GraphFragment
from hybridkg.operators.join import Compatible
from hybridkg.operators.probing import rows_meeting
from hybridkg.operators.topk.relation_prefix import PrefixScan
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.terms import Term


@dataclass(frozen=True)
class FragmentProbe(OneChild):
    """Operator that restricts a fragment to the values of a variable of its child, bound in every row of both."""

    fragment: GraphFragment
    variable: str

    def asks(self, estimates: EstimationContext) -> str:
        return self.fragment.asks(estimates)

    def describe(self) -> str:
        return f"{type(self).__name__} on ?{self.variable}"

    def details(self, estimates: EstimationContext) -> str:
        return self.fragment.details(estimates)


@dataclass(frozen=True)
class BindJoin(FragmentProbe):
    """Rows of HashJoin(fragment, child), the fragment restricted to the values of the child.

    `sliced` has the (variable, score variable) of relations joined above, of which a top-k operator selects a prefix
    (operators/topk/relation_prefix.py); the fragment binds the variables in every row.
    """

    sliced: tuple[tuple[str, str], ...] = ()

    def estimate(self, estimates: EstimationContext) -> float | None:
        return times(estimates.rows(self.child), self.fragment.rows_each(estimates, self.variable))

    def work(self, estimates: EstimationContext) -> Work | None:
        probe = self.fragment.work_for(estimates, self.variable, estimates.rows(self.child))
        return work_of({**probe, ROWS: estimates.rows(self)})

    def run(self, context: ExecutionContext) -> Solutions:
        right = context.run(self.child)
        left = Solutions(self.fragment.columns, self._restricted(right, context) if right.rows else [])
        pairs = Compatible(left, right)
        merged = (pairs.merged(row, other) for row in left.rows for other in pairs.rows_for(row))
        return Solutions(pairs.variables, context.collect(merged))

    def _restricted(self, right: Solutions, context: ExecutionContext) -> list[Row]:
        if isinstance(self.child, PrefixScan) and self.fragment.prepared(context) is not None:
            import numpy as np

            assert context.slice is not None
            ids = np.sort(context.slice.relations[self.child.score][0])
            return self.fragment.rows_for(context, self.variable, ids, self._prefilters(context)).rows
        at = right.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in right.rows))
        return met(self.fragment, self.variable, values, context, self._prefilters(context))

    def _prefilters(self, context: ExecutionContext) -> dict[str, Ids]:
        """Entities, by variable, of rows that survive the joins above."""
        import numpy as np

        if context.slice is None:
            return {}
        return {name: np.sort(context.slice.relations[score][0]) for name, score in self.sliced}


def met(
    fragment: GraphFragment,
    variable: str,
    values: list[Term | None],
    context: ExecutionContext,
    more: Mapping[str, Ids] = {},
) -> list[Row]:
    """Rows of a fragment: at least those whose `variable` has one of the distinct values, and whose other variables
    have one of `more`.

    From the projection, or from the store, read or probed as operators/probing.py decides.
    """
    if fragment.prepared(context) is None:
        return rows_meeting(fragment.in_store, variable, len(values), lambda: values, context)
    import numpy as np

    assert context.graph is not None
    ids = context.graph.find([value for value in values if value is not None])
    return fragment.rows_for(context, variable, np.sort(ids[ids >= 0]).astype(np.uint32), more).rows
