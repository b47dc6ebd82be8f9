"""A join that asks the store only about the values that the other side has."""

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
class BindJoin(OneChild):
    """The rows of HashJoin(fragment, child), the fragment asked only about what the child has.

    Args:
        child: its rows.
        fragment: what is asked.
        variable: bound in every row of both sides.
        sliced: (variable, score variable) of relations that the rows are joined with above this, of which an operator
            has chosen a part (operators/topk/relation_prefix.py); the fragment binds the variables in every row.
    """

    fragment: GraphFragment
    variable: str
    sliced: tuple[tuple[str, str], ...] = ()

    def estimate(self, known: EstimationContext) -> float | None:
        """Each row of the child as often as the fragment has rows for an entity."""
        return times(known.rows(self.child), self.fragment.rows_each(known, self.variable))

    def work(self, known: EstimationContext) -> Work | None:
        """The fragment is asked about the rows of the child."""
        asked = self.fragment.work_for(known, self.variable, known.rows(self.child))
        return work_of({**asked, ROWS: known.rows(self)})

    def run(self, context: ExecutionContext) -> Solutions:
        """Reads the child, then what the fragment has for it."""
        right = context.run(self.child)
        left = Solutions(self.fragment.columns, self._met(right, context) if right.rows else [])
        pairs = Compatible(left, right)
        merged = (pairs.merged(row, other) for row in left.rows for other in pairs.rows_for(row))
        return Solutions(pairs.variables, context.collect(merged))

    def _met(self, right: Solutions, context: ExecutionContext) -> list[Row]:
        """Rows of the fragment for those of the child."""
        if isinstance(self.child, PrefixScan) and self.fragment.prepared(context) is not None:
            import numpy as np

            assert context.slice is not None
            ids = np.sort(context.slice.relations[self.child.score][0])
            return self.fragment.rows_for(context, self.variable, ids, self._chosen(context)).rows
        at = right.variables.index(self.variable)
        values: list[Term | None] = list(dict.fromkeys(row[at] for row in right.rows))
        return met(self.fragment, self.variable, values, context, self._chosen(context))

    def _chosen(self, context: ExecutionContext) -> dict[str, Ids]:
        """The entities, by variable, that rows can have which are not lost above this."""
        import numpy as np

        if context.slice is None:
            return {}
        return {name: np.sort(context.slice.relations[score][0]) for name, score in self.sliced}

    def asks(self, known: EstimationContext) -> str:
        """The fragment, without the values."""
        return self.fragment.asks(known)

    def describe(self) -> str:
        """The probed variable."""
        return f"BindJoin on ?{self.variable}"

    def details(self, known: EstimationContext) -> str:
        """What is probed."""
        return self.fragment.details(known)


def met(
    fragment: GraphFragment,
    variable: str,
    values: list[Term | None],
    context: ExecutionContext,
    more: Mapping[str, Ids] = {},
) -> list[Row]:
    """Rows of a fragment: at least those whose `variable` has one of some distinct values, and others one of `more`.

    From the projection, or read or probed in the store as operators.probing decides.
    """
    if fragment.prepared(context) is None:
        return rows_meeting(fragment.in_store, variable, len(values), lambda: values, context)
    import numpy as np

    assert context.graph is not None
    ids = context.graph.find([value for value in values if value is not None])
    return fragment.rows_for(context, variable, np.sort(ids[ids >= 0]).astype(np.uint32), more).rows
