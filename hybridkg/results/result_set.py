"""The result of a query: its rows with scores, exactness and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hybridkg.extras import needs_extra
from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.terms import to_rdflib
from hybridkg.results.result import Result, Row

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import rdflib
<<<<<<< HEAD
=======
    from rdflib.term import Identifier

    from hybridkg.results.why import Why
>>>>>>> f5a14a8 (kb: why() and facts() of a row are under the limits of its query)

MAX_SHOWN = 20
"""Rows in the text of a result."""

<<<<<<< HEAD
=======
NO_MORE = "no more rows satisfy the query"
"""Default reason of a shortfall."""


class ExplainedPlan(Protocol):
    """A plan with its texts (planner/explain.py)."""

    def text(self, width: int | None = None) -> str:
        """The plan for a terminal of `width` columns."""

    def to_json(self) -> dict[str, Any]:
        """JSON form."""

    def _repr_html_(self) -> str:
        """HTML form, for notebooks."""


class Provenance(Protocol):
    """Evidence and score explanations of the rows (results/build.py)."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of all cells in the plan; those in the text may differ."""

    def triples(self, bound: Mapping[str, Term | None]) -> list[Triple]:
        """The triples of a row that its query matched."""

    def why(self, bound: Mapping[str, Term | None], scores: Mapping[str, float]) -> Why | None:
        """The explanation of a row; None where there is no score to explain."""


class Row(Mapping[str, Any]):
    """One solution: `row["paper"]` is an rdflib term, or None where the variable is unbound.

    Iterates over the names of the projected variables, in the query's order.
    """

    __slots__ = ("_cells", "_result")

    def __init__(self, result: ResultSet, cells: Cells):
        self._result, self._cells = result, cells

    def term(self, name: str) -> Term | None:
        """The term of a projected variable, in the engine's type.

        Raises:
            UnknownNameError: the query does not project it.
        """
        name = name.lstrip("?$")
        try:
            return self._cells[self._result.columns.index(name)]
        except ValueError:
            raise UnknownNameError(
                f"the result has no column {name!r}; its columns: {', '.join(self._result.columns)}",
                hint=did_you_mean(name, list(self._result.columns)),
            ) from None

    def __getitem__(self, name: str) -> Identifier | None:
        columns = self._result.columns
        try:
            term = self._cells[columns.index(name.lstrip("?$"))]
        except (ValueError, AttributeError, TypeError):
            raise KeyError(f"{name!r}; the columns: {', '.join(columns)}") from None
        return None if term is None else to_rdflib(term)

    def __iter__(self) -> Iterator[str]:
        return iter(self._result.columns)

    def __len__(self) -> int:
        return len(self._result.columns)

    @property
    def scores(self) -> dict[str, float]:
        """Every score of the row, projected or not, by name.

        The name of a score of MATCH is its AS name, without AS that of its entity; RANK BY has `rank` unless it has a
        name or is one of these, RERANK has `rerank` unless it has a name. Values that are no numbers are left out.
        """
        cells = dict(zip(self._result._variables, self._cells, strict=True))
        scores = {label: as_float(cells.get(variable)) for variable, label in self._result._scores}
        return {label: score for label, score in scores.items() if score is not None}

    @property
    def rank_score(self) -> float | None:
        """The score that ordered the row, of RERANK if it reordered the row, else of RANK BY; None without a score."""
        cells = dict(zip(self._result._variables, self._cells, strict=True))
        reranked = as_float(cells.get(self._result._reranked_by or ""))
        return as_float(cells.get(self._result._ranked_by or "")) if reranked is None else reranked

    def facts(self) -> list[tuple[Identifier, Identifier, Identifier]]:
        """The triples that the triple patterns and paths of the query matched in this row, as rdflib terms.

        Raises:
            QueryLimitError, QueryStoppedError: it takes more time or rows than the query may.
        """
        return [(to_rdflib(t.subject), to_rdflib(t.predicate), to_rdflib(t.object)) for t in self.triples()]

    def triples(self) -> list[Triple]:
        """The triples of `facts`, in the engine's types."""
        provenance = self._result._provenance
        if provenance is None:
            return []
        return provenance.triples(dict(zip(provenance.variables, self._cells, strict=True)))

    def why(self) -> Why:
        """Explanation of the row: the parts of each score, the best passages, the facts of the graph.

        Raises:
            UnsupportedQueryError: the rows have no score of a MATCH: the query has none, or groups the rows.
            QueryLimitError, QueryStoppedError: it takes more time or rows than the query may.
        """
        provenance, why = self._result._provenance, None
        if provenance is not None:
            why = provenance.why(dict(zip(provenance.variables, self._cells, strict=True)), self.scores)
        if why is None:
            raise UnsupportedQueryError(
                "no MATCH gives these rows a score, so there is none to explain", hint="see row.facts()"
            )
        return why

    def to_python(self) -> dict[str, Any]:
        """The row as plain Python values: str, int, float, bool, date ..., None where unbound."""
        return {
            name: None if cell is None else to_python(cell)
            for name, cell in zip(self._result.columns, self._cells, strict=False)
        }

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.to_python().items())})"

>>>>>>> f5a14a8 (kb: why() and facts() of a row are under the limits of its query)

@dataclass(frozen=True)
class ResultSet(Result, Sequence[Row]):
    """The result of a query: a sequence of rows, with properties of the result as a whole.

    Args:
        cells: the rows in the engine's types: a cell for each column, then cells that are not projected, such as
            scores.
        shortfall: the reason for fewer rows than requested, or for none of a MATCH or NEAR; else empty.
    """

    cells: list[Cells]
    shortfall: str = ""

    def rows(self) -> Iterator[Cells]:
        """As Result has it."""
        return iter(self.cells)

    def held(self) -> ResultSet:
        """As Result has it."""
        return self

    @property
    def returned(self) -> int:
        """Number of rows."""
        return len(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __bool__(self) -> bool:
        """The answer of an ASK; for other forms, whether there are rows."""
        return bool(self.cells) if self.boolean is None else self.boolean

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Row(self, cells) for cells in self.cells[index]]
        return Row(self, self.cells[index])

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
        write_table(replace(self, cells=self.cells[:MAX_SHOWN]), out)
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
        return [row.to_python() for row in self]

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas DataFrame of plain Python values.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needs_extra("eval", "to_dataframe"):
            import pandas as pd
        return pd.DataFrame(self.to_python(), columns=list(self.columns))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow Table, each column with the narrowest type that holds all its values.

        Integers become int64, other numbers float64, xsd:boolean bool, xsd:date date32, xsd:dateTime timestamp[us]
        (in UTC where the values have zones). Text, IRIs, and columns of mixed types are strings.

        Raises:
            MissingExtraError: pyarrow is not installed.
        """
        from hybridkg.results.formats.arrow import result_to_arrow

        return result_to_arrow(self)

    def _repr_html_(self) -> str:
        """The first rows as an HTML table, for notebooks; the plan for EXPLAIN."""
        from hybridkg.results.formats.html import result_to_html

        return result_to_html(self) if self.explanation is None else self.explanation._repr_html_()
