"""The result of a query: its rows with scores, exactness and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hybridkg.extras import needs_extra
from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import to_rdflib
from hybridkg.results.python_values import PYTHON_VALUE
from hybridkg.results.result import Result, Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import rdflib

MAX_SHOWN = 20
"""Rows in the text of a result."""

ROWS_PER_BLOCK = 2048
"""Rows whose cells are written at once, as many as in a block of a ResultStream."""


@dataclass(frozen=True)
class ResultSet(Result, Sequence[Row]):
    """The result of a query: a sequence of rows, with properties of the result as a whole.

    Args:
        _solutions: the rows as the engine holds them, in columns of ids where it can: a cell for each column, then
            cells that are not projected, such as scores.
        _shortfall: returns `shortfall`.
    """

    _solutions: Solutions
    _shortfall: Callable[[], str] = field(default=str, repr=False, compare=False)

    @property
    def cells(self) -> list[Cells]:
        """The rows in the engine's types, made from columns at the first access: a cell for each column, then cells
        that are not projected, such as scores.
        """
        return self._solutions.rows

    @property
    def _projected(self) -> list[Cells]:
        solutions = self._solutions
        return solutions.rows if len(solutions.variables) == len(self.columns) else self._narrowed.rows

    @cached_property
    def _narrowed(self) -> Solutions:
        """The solutions without cells that are not projected."""
        return self._solutions.select(self._solutions.variables[: len(self.columns)])

    def blocks(self) -> Iterator[Solutions]:
        """As Result has it."""
        for first in range(0, len(self), ROWS_PER_BLOCK):
            yield self._solutions.part(first, first + ROWS_PER_BLOCK)

    def rows(self) -> Iterator[Cells]:
        """As Result has it."""
        return iter(self._projected)

    def __iter__(self) -> Iterator[Row]:
        """As Result has it."""
        return (Row(self, cells, place) for place, cells in enumerate(self._projected))

    def held(self) -> ResultSet:
        """As Result has it."""
        return self

    @cached_property
    def shortfall(self) -> str:
        """The reason for fewer rows than requested, or for none of a MATCH or NEAR; else empty."""
        return self._shortfall()

    @property
    def returned(self) -> int:
        """Number of rows."""
        return self._solutions.size

    def __len__(self) -> int:
        return self._solutions.size

    def __bool__(self) -> bool:
        """The answer of an ASK; for other forms, whether there are rows."""
        return len(self) > 0 if self.boolean is None else self.boolean

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[place] for place in range(len(self))[index]]
        place = range(len(self))[index]
        return Row(self, self._projected[place], place)

    def __repr__(self) -> str:
        if self.explanation is not None:
            return "ResultSet(a plan; print it to read it)"
        if self.boolean is not None:
            return f"ResultSet({'yes' if self.boolean else 'no'})"
        names = " ".join(f"?{name}" for name in self.columns)
        return f"ResultSet({names}; {self._row_count()}, {'exact' if self.exact else 'not exact'})"

    def __str__(self) -> str:
        """The first rows as a table, with the number of rows; the plan for EXPLAIN."""
        if self.explanation is not None:
            return self.explanation.text()
        from io import StringIO

        from hybridkg.results.formats.table import write_table

        out = StringIO()
        write_table(replace(self, _solutions=self._solutions.part(0, MAX_SHOWN)), out)
        table = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
        if self.boolean is not None:
            return table
        more = f", of which the first {MAX_SHOWN} are shown" if len(self) > MAX_SHOWN else ""
        return f"{table}\n{self._row_count()}{more}, {'exact' if self.exact else 'not exact'}".lstrip("\n")

    def to_graph(self) -> rdflib.Graph:
        """The triples of a CONSTRUCT or DESCRIBE as an rdflib Graph.

        Raises:
            UnsupportedQueryError: the query was a SELECT or ASK.
        """
        import rdflib

        graph = rdflib.Graph()
        for triple in self.graph_triples():
            graph.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
        return graph

    def to_python(self) -> list[dict[str, Any]]:
        """Every row as plain Python values."""
        columns = self.columns
        rows = self._solutions.mapped_rows([PYTHON_VALUE] * len(columns))
        return [dict(zip(columns, row, strict=True)) for row in rows]

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas DataFrame of plain Python values.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needs_extra("eval", "to_dataframe"):
            import pandas as pd
        form, names = PYTHON_VALUE, self._solutions.variables
        columns = {
            name: self._solutions.mapped(variable, form) for name, variable in zip(self.columns, names, strict=False)
        }
        if not columns or not len(self):  # pandas would give empty columns another type, and no column no rows
            return pd.DataFrame(self.to_python(), columns=list(self.columns))
        return pd.DataFrame(columns, columns=list(self.columns))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow Table, each column with the narrowest type that holds all its values.

        Integers become int64, other numbers float64, xsd:boolean bool, xsd:date date32, xsd:dateTime timestamp[us]
        (in UTC where the values have zones). Text, IRIs, and columns of mixed types are strings, as a dictionary where
        at most half of them are distinct.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        from hybridkg.results.formats.arrow import result_to_arrow

        return result_to_arrow(self)

    def _repr_html_(self) -> str:
        """The first rows as an HTML table, for notebooks; the plan for EXPLAIN."""
        from hybridkg.results.formats.html import result_to_html

        return result_to_html(self) if self.explanation is None else self.explanation._repr_html_()
