"""Rows best first, with their scores, and what is known about the answer as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from hybridkg.errors import HybridkgError, UnknownNameError, UnsupportedQueryError
from hybridkg.extras import needs_extra
from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.terms import Term, Triple, to_python, to_rdflib
from hybridkg.registry import did_you_mean
from hybridkg.results.numbers import as_float

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import rdflib
    from rdflib.term import Identifier

    from hybridkg.results.evidence import Evidence
    from hybridkg.results.why import ScoreExplainer, Why


MAX_SHOWN = 20
"""Rows in the text of a result."""

NO_MORE = "no more rows satisfy the query"
"""Why an answer is short, where nothing more is known."""


class ExplainedPlan(Protocol):
    """A plan that prints itself (planner.explain)."""

    def text(self, width: int | None = None) -> str:
        """The plan for people, on a terminal of so many columns."""

    def to_json(self) -> dict[str, Any]:
        """The plan as data."""

    def _repr_html_(self) -> str:
        """The plan for a notebook."""


class Provenance(Protocol):
    """What is behind the rows (results.build)."""

    @property
    def evidence(self) -> Evidence:
        """Finds the triples behind a row."""

    @property
    def reasons(self) -> ScoreExplainer:
        """Explains the scores of a row."""


class Row(Mapping[str, Any]):
    """One solution. `row["paper"]` is an rdflib term, or None where the variable is unbound.

    Iterating gives the names of the projected variables, in the query's order.
    """

    __slots__ = ("_cells", "_result")

    def __init__(self, result: ResultSet, cells: Cells):
        self._result, self._cells = result, cells

    def term(self, name: str) -> Term | None:
        """The engine's own term of a projected variable.

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
        """Every score behind the row, projected or not: those of MATCH by their AS name, that of RANK BY as
        `rank` unless it is named or is one of them, that of RERANK as `rerank` unless it is named, that of a MATCH
        without AS by the name of its entity.
        What orders the rows but is no number, such as a title, is no score.
        """
        cells = dict(zip(self._result._variables, self._cells, strict=True))
        found = {label: as_float(cells.get(variable)) for variable, label in self._result._scores}
        return {label: score for label, score in found.items() if score is not None}

    @property
    def rank_score(self) -> float | None:
        """The score that ordered the row, of RERANK where it has reordered it, else of RANK BY; None where nothing is
        ranked, or the row has none.
        """
        cells = dict(zip(self._result._variables, self._cells, strict=True))
        reranked = as_float(cells.get(self._result._reranked_by or ""))
        return as_float(cells.get(self._result._ranked_by or "")) if reranked is None else reranked

    def facts(self) -> list[tuple[Identifier, Identifier, Identifier]]:
        """The triples of the graph that the query's triple patterns matched in this row and its paths walked, as rdflib
        terms.
        """
        return [(to_rdflib(t.subject), to_rdflib(t.predicate), to_rdflib(t.object)) for t in self.triples()]

    def triples(self) -> list[Triple]:
        """The same in the engine's own terms."""
        bound = dict(zip(self._result._variables, self._cells, strict=True))
        return self._result._evidence.triples(bound) if self._result._evidence else []

    def why(self) -> Why:
        """Why the row is in the answer and has its place; print it to read it.

        The parts of each score, which add up to it, the best passages, and the facts of the graph: `evidence` has
        them as a small rdflib Graph.

        Raises:
            UnsupportedQueryError: no score of a MATCH reaches the rows: none is asked for, or rows are grouped.
        """
        from hybridkg.results.why import Why

        reasons = self._result._reasons
        if reasons is None or not (reasons.matches or reasons.reranked):
            raise UnsupportedQueryError(
                "no MATCH gives these rows a score, so there is none to explain", hint="see row.facts()"
            )
        bound = dict(zip(self._result._variables, self._cells, strict=True))
        hits, place = tuple(reasons.hits(bound)), reasons.reordering(bound)
        return Why(self.scores, hits, tuple(self.triples()), reasons.ranked_by, *place)

    def to_python(self) -> dict[str, Any]:
        """Plain Python values: str, int, float, bool, date ..., None where unbound."""
        return {
            name: None if cell is None else to_python(cell)
            for name, cell in zip(self._result.columns, self._cells, strict=False)
        }

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.to_python().items())
        return f"Row({inside})"


@dataclass(frozen=True)
class ResultSet(Sequence[Row]):
    """The answer to a query: a sequence of rows, and facts about the answer as a whole.

    Args:
        columns: projected variables, in the query's order.
        cells: the rows as the engine's own terms, for writers of formats: first a cell for each column, then those
            that stand behind the row, such as scores.
        requested: the LIMIT in force; None where all rows were asked for.
        exact: whether the rows are certainly the right ones in the right order.
        generation: name of the state of the knowledge base that answered.
        stale_indexes: indexes that are older than the graph.
        limits_reached: limits inside the query that were reached, a sentence each.
        strategy: how the query was run.
        warnings: what the query probably does not mean; print one to read it.
        boolean: the answer of an ASK; None for SELECT.
        is_graph: whether the rows are the triples of a CONSTRUCT or DESCRIBE.
        explanation: the plan, for EXPLAIN; else None.
        shortfall: why there are fewer rows than requested, or none of a MATCH or NEAR, in words; else empty.
        reranked: what each RERANK did, in words.
        _variables: names of all cells: `columns`, then those behind the rows.
        _scores: (variable, label) of every score.
        _ranked_by: the variable whose values order the rows; None where nothing is ranked.
        _reranked_by: the variable whose values order those that RERANK has reordered; None without one.
        _prefixes: (prefix, IRI) that the query declares.
        _provenance: the graph and the index behind the rows of a SELECT.
    """

    columns: tuple[str, ...]
    _variables: tuple[str, ...]
    cells: list[Cells]
    requested: int | None = None
    exact: bool = True
    generation: str = ""
    stale_indexes: tuple[str, ...] = ()
    limits_reached: tuple[str, ...] = ()
    strategy: str = ""
    warnings: tuple[HybridkgError, ...] = ()
    boolean: bool | None = None
    is_graph: bool = False
    explanation: ExplainedPlan | None = field(default=None, repr=False)
    shortfall: str = ""
    reranked: tuple[str, ...] = ()
    _scores: tuple[tuple[str, str], ...] = ()
    _ranked_by: str | None = None
    _reranked_by: str | None = None
    _prefixes: tuple[tuple[str, str], ...] = ()
    _provenance: Provenance | None = field(default=None, repr=False)

    @property
    def _evidence(self) -> Evidence | None:
        """Finds the triples behind a row; None where rows are no solutions."""
        return None if self._provenance is None else self._provenance.evidence

    @property
    def _reasons(self) -> ScoreExplainer | None:
        """Explains the scores of a row; None where rows are no solutions."""
        return None if self._provenance is None else self._provenance.reasons

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of the scores that a row may have: the keys of `Row.scores`."""
        return tuple(label for _, label in self._scores)

    @property
    def returned(self) -> int:
        """Rows in the result."""
        return len(self.cells)

    def __len__(self) -> int:
        return len(self.cells)

    def __bool__(self) -> bool:
        """The answer of an ASK; for a SELECT, whether there are rows."""
        return bool(self.cells) if self.boolean is None else self.boolean

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [Row(self, cells) for cells in self.cells[index]]
        return Row(self, self.cells[index])

    def __iter__(self) -> Iterator[Row]:
        return (Row(self, cells) for cells in self.cells)

    def __repr__(self) -> str:
        """What it has, in one line; `str` has the first rows."""
        if self.explanation is not None:
            return "ResultSet(a plan; print it to read it)"
        if self.boolean is not None:
            return f"ResultSet({'yes' if self.boolean else 'no'})"
        names = " ".join(f"?{name}" for name in self.columns)
        return f"ResultSet({names}; {self._rows()}, {'exact' if self.exact else 'not exact'})"

    def __str__(self) -> str:
        """The first rows as a table, and how many there are; the plan for EXPLAIN."""
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
        return f"{table}\n{self._rows()}{more}, {'exact' if self.exact else 'not exact'}".lstrip("\n")

    def counted(self, *, of_requested: bool = True) -> str:
        """`3 rows (of 10 requested: only 3 entities match the text of ?p)`; `0 rows (why)` where none were requested.

        Args:
            of_requested: whether to say how many were requested.
        """
        if of_requested and self.requested is not None and self.returned < self.requested:
            return f"{self._rows()} (of {self.requested:,} requested: {self.shortfall or NO_MORE})"
        return f"{self._rows()} ({self.shortfall})" if self.shortfall and not self.returned else self._rows()

    def _rows(self) -> str:
        return f"{len(self):,} {'row' if len(self) == 1 else 'rows'}"

    def graph_triples(self) -> list[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE, in the engine's own terms.

        Raises:
            UnsupportedQueryError: the query was a SELECT or ASK.
        """
        if not self.is_graph:
            raise UnsupportedQueryError("the result has rows, and is no graph", hint="ask with CONSTRUCT or DESCRIBE")
        return [Triple(*cells) for cells in self.cells]  # type: ignore[arg-type]

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
        return [
            {name: None if cell is None else to_python(cell) for name, cell in zip(columns, cells, strict=False)}
            for cells in self.cells
        ]

    def to_dataframe(self) -> pd.DataFrame:
        """A pandas DataFrame of plain Python values, a column for each projected variable.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        with needs_extra("eval", "to_dataframe"):
            import pandas as pd
        return pd.DataFrame(self.to_python(), columns=list(self.columns))

    def to_arrow(self) -> pyarrow.Table:
        """A pyarrow Table: columns in the result's order, each with the narrowest type that holds all its values.

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
