"""ORDER BY of a query to Oxigraph, done outside of it.

Oxigraph 0.5.13 sorts numbers by value, and a number and a text by their characters, which is no order: "1000" is before
"1999 films", that before "2.5", and 2.5 before 1e3. Its sort notices in a column of some thirty such values, and then
the process aborts. The order of rdf/order.py is total, and it is that of the operators over columns.
algebra/guarded_order.py has the ORDER BY that Oxigraph does itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hybridkg.algebra.names import FreshNames
from hybridkg.algebra.projections import has_aggregate
from hybridkg.query import ast
from hybridkg.query.walk import variables, walk
from hybridkg.rdf.order import value_key
from hybridkg.rdf.solutions import Row, Solutions


@dataclass(frozen=True)
class OrderedStoreQuery:
    """A SELECT whose rows are ordered after the store has found them.

    Args:
        query: for the store: the keys are columns, and nothing is ordered or cut.
        columns: those of the answer.
        keys: (column, descending).
        distinct: whether equal rows of the answer are removed here.
        offset, limit: of the answer.
    """

    query: ast.SelectQuery
    columns: tuple[str, ...]
    keys: tuple[tuple[str, bool], ...]
    distinct: bool
    offset: int
    limit: int | None

    @classmethod
    def of(cls, form: ast.QueryForm) -> OrderedStoreQuery | None:
        """The parts of a SELECT with ORDER BY; None for any other query, or where a key cannot become a column."""
        if not isinstance(form, ast.SelectQuery) or not form.modifiers.order_by or not form.projection:
            return None
        columns = tuple(item.variable.name for item in form.projection)
        known, names = _known_in_groups(form), FreshNames(variables(form))
        items, keys = list(form.projection), list[tuple[str, bool]]()
        for key in form.modifiers.order_by:
            expression = key.expression
            if known is not None and not _outside_aggregates(expression) <= known:
                if isinstance(expression, ast.Var):
                    continue  # unbound in all groups, so it orders nothing
                return None
            name = expression.name if isinstance(expression, ast.Var) else names.name("key")
            if name not in [item.variable.name for item in items]:
                items.append(ast.SelectItem(ast.Var(name), None if isinstance(expression, ast.Var) else expression))
            keys.append((name, key.descending))
        modifiers = form.modifiers
        distinct = form.reduction == "DISTINCT" and len(items) > len(columns)
        query = replace(
            form,
            projection=tuple(items),
            reduction="" if distinct else form.reduction,
            modifiers=replace(modifiers, order_by=(), limit=None, offset=None),
        )
        return cls(query, columns, tuple(keys), distinct, modifiers.offset or 0, modifiers.limit)

    @property
    def reach(self) -> int | None:
        """Number of rows, from the first, that the answer is taken from; None for all."""
        return None if self.limit is None else self.offset + self.limit

    def first(self, found: Solutions) -> Solutions:
        """The rows within `reach`, with their keys, in order; those with equal keys stay as they were found.

        Rows beyond `reach` need not be kept: more rows move none of them forward.
        """
        places = list(range(found.size))
        for name, descending in reversed(self.keys):
            keys = found.mapped(name, value_key)
            places.sort(key=keys.__getitem__, reverse=descending)
        if self.distinct:
            rows = found.select(self.columns).rows
            firsts: dict[Row, int] = {}
            for place in places:
                firsts.setdefault(rows[place], place)
            places = list(firsts.values())
        return found.take(places[: self.reach])

    def answer(self, first: Solutions) -> Solutions:
        """The rows of the answer, from those of `first`."""
        return first.select(self.columns).part(self.offset, None)


def _known_in_groups(form: ast.SelectQuery) -> set[str] | None:
    """Variables with a value in a group; None where nothing is grouped."""
    expressions = [item.expression for item in form.projection or () if item.expression is not None]
    expressions += [*form.modifiers.having, *(key.expression for key in form.modifiers.order_by)]
    if not form.modifiers.group_by and not any(map(has_aggregate, expressions)):
        return None
    known = {item.variable.name for item in form.projection or ()}
    for key in form.modifiers.group_by:
        if key.variable is not None:
            known.add(key.variable.name)
        elif isinstance(key.expression, ast.Var):
            known.add(key.expression.name)
    return known


def _outside_aggregates(expression: ast.Expression) -> set[str]:
    """Names of the variables of an expression that are in no aggregate."""
    inside = {id(node) for part in walk(expression) if isinstance(part, ast.Aggregate) for node in walk(part)}
    return {node.name for node in walk(expression) if isinstance(node, ast.Var) and id(node) not in inside}
