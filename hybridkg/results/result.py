"""The properties of every result of a query, whether its rows are held or read once, and of a row."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from hybridkg.errors import HybridkgError, UnknownNameError, UnsupportedQueryError
from hybridkg.rdf.known_prefixes import ONLY_WELL_KNOWN, KnownPrefixes
from hybridkg.rdf.solutions import Row as Cells
from hybridkg.rdf.solutions import Solutions
from hybridkg.rdf.terms import NamedNode, Term, Triple, to_python, to_rdflib
from hybridkg.registry import did_you_mean
from hybridkg.results.iri_names import MAX_LABELLED, IriNames, LabelLookup
from hybridkg.results.numbers import as_float
from hybridkg.terminal_text import ForPeople

if TYPE_CHECKING:
    from rdflib.term import Identifier

    from hybridkg.results.result_set import ResultSet
    from hybridkg.results.why import Why

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

    def why(self, bound: Mapping[str, Term | None], scores: Mapping[str, float], *, brief: bool = False) -> Why | None:
        """The explanation of a row, `brief` without passages and facts; None where there is no score to explain."""


class Row(Mapping[str, Any]):
    """One solution: `row["paper"]` is an rdflib term, or None where the variable is unbound.

    Iterates over the names of the projected variables, in the query's order.
    """

    __slots__ = ("_cells", "_place", "_result")

    def __init__(self, result: Result, cells: Cells, place: int | None = None):
        self._result, self._cells, self._place = result, cells, place

    def _all_cells(self) -> Cells:
        """The cells with those that are not projected: a result that holds its rows makes these when they are read."""
        return self._cells if self._place is None else self._result.held().cells[self._place]

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
            raise KeyError(
                f"{name!r}; a row is indexed by the name of a column: {', '.join(map(repr, columns))}"
            ) from None
        return None if term is None else to_rdflib(term)

    def __getattr__(self, name: str) -> Any:
        columns = () if name.startswith("_") else self._result.columns
        hint = f"; the value of the column is row[{name!r}]" if name in columns else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

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
        cells = dict(zip(self._result._variables, self._all_cells(), strict=True))
        scores = {label: as_float(cells.get(variable)) for variable, label in self._result._scores}
        return {label: score for label, score in scores.items() if score is not None}

    @property
    def rank_score(self) -> float | None:
        """The score that ordered the row, of RERANK if it reordered the row, else of RANK BY; None without a score."""
        cells = dict(zip(self._result._variables, self._all_cells(), strict=True))
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
        return provenance.triples(dict(zip(provenance.variables, self._all_cells(), strict=True)))

    def why(self, *, brief: bool = False) -> Why:
        """Explanation of the row: the parts of each score, the best passages, the facts of the graph.

        With `brief`, only the parts of each score, for which no text is read.

        Raises:
            UnsupportedQueryError: the rows have no score of a MATCH: the query has none, or groups the rows.
            QueryLimitError, QueryStoppedError: it takes more time or rows than the query may.
        """
        provenance, why = self._result._provenance, None
        if provenance is not None:
            bound = dict(zip(provenance.variables, self._all_cells(), strict=True))
            why = provenance.why(bound, self.scores, brief=brief)
        if why is None:
            raise UnsupportedQueryError(
                "no MATCH gives these rows a score, so there is none to explain", hint="see row.facts()"
            )
        return replace(why, names=self._result.iri_names())

    def to_python(self) -> dict[str, Any]:
        """The row as plain Python values: str, int, float, bool, date ..., None where unbound."""
        return {
            name: None if cell is None else to_python(cell)
            for name, cell in zip(self._result.columns, self._cells, strict=False)
        }

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self.to_python().items())})"


@dataclass(frozen=True)
class Result(ABC):
    """The result of a query: a ResultSet, which holds its rows, or a ResultStream, whose rows are read once.

    Args:
        columns: projected variables, in the query's order.
        requested: the LIMIT in force; None for all rows.
        exact: whether rows, scores and order are certainly those that the query means.
        generation: name of the generation that answered.
        stale_indexes: indexes that are older than the graph.
        limits_reached: a sentence for each limit inside the query that was reached.
        strategy: name of the strategy that ran.
        warnings: warnings about the query; `str` of one is its text.
        boolean: the answer of an ASK; None for other forms.
        is_graph: whether the rows are the triples of a CONSTRUCT or DESCRIBE.
        explanation: the plan, for EXPLAIN; else None.
        reranked: a sentence for each RERANK.
        _variables: names of all cells, those of `columns` first.
        _scores: (variable, label) of every score.
        _ranked_by: the variable that orders the rows; None without a ranking.
        _reranked_by: the score variable of the outermost RERANK; None without one.
        _snippets: the variables of SNIPPET, whose texts have marked words.
        _computed: the columns that are computed from scores alone, and are rounded as scores.
        _prefixes: (prefix, IRI) pairs of the query: declared ones, and others that it uses.
        _known: prefixes that the query need not declare.
        _labels: labels that tables show in place of IRIs, by IRI.
        _label_lookup: finds them; None for a plan.
        _provenance: evidence and score explanations of the rows of a SELECT.
    """

    columns: tuple[str, ...]
    _variables: tuple[str, ...]
    requested: int | None = field(default=None, kw_only=True)
    exact: bool = field(default=True, kw_only=True)
    generation: str = field(default="", kw_only=True)
    stale_indexes: tuple[str, ...] = field(default=(), kw_only=True)
    limits_reached: tuple[str, ...] = field(default=(), kw_only=True)
    strategy: str = field(default="", kw_only=True)
    warnings: tuple[HybridkgError, ...] = field(default=(), kw_only=True)
    boolean: bool | None = field(default=None, kw_only=True)
    is_graph: bool = field(default=False, kw_only=True)
    explanation: ExplainedPlan | None = field(default=None, repr=False, kw_only=True)
    reranked: tuple[str, ...] = field(default=(), kw_only=True)
    _scores: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    _ranked_by: str | None = field(default=None, kw_only=True)
    _reranked_by: str | None = field(default=None, kw_only=True)
    _snippets: tuple[str, ...] = field(default=(), kw_only=True)
    _computed: tuple[str, ...] = field(default=(), kw_only=True)
    _prefixes: tuple[tuple[str, str], ...] = field(default=(), kw_only=True)
    _labels: Mapping[str, str] = field(default_factory=dict, repr=False, kw_only=True)
    _label_lookup: LabelLookup | None = field(default=None, repr=False, kw_only=True)
    _known: KnownPrefixes = field(default=ONLY_WELL_KNOWN, repr=False, kw_only=True)
    _provenance: Provenance | None = field(default=None, repr=False, kw_only=True)

    @abstractmethod
    def blocks(self) -> Iterator[Solutions]:
        """The rows in blocks of some thousand, as the engine holds them: a cell for each column, then cells that are
        not projected, such as scores. A writer that reads a block by `mapped` makes each distinct term once.
        """

    @abstractmethod
    def rows(self) -> Iterator[Cells]:
        """The rows in the engine's types: a cell for each column."""

    @property
    @abstractmethod
    def returned(self) -> int | None:
        """Number of rows; None until it is known."""

    @property
    @abstractmethod
    def shortfall(self) -> str | None:
        """The reason for fewer rows than requested, or for none of a MATCH or NEAR, else empty; None until known."""

    @abstractmethod
    def held(self) -> ResultSet:
        """The same result with all of its rows in memory."""

    @abstractmethod
    def __iter__(self) -> Iterator[Row]:
        """The rows."""

    def scores_in(self, block: Solutions) -> Iterator[dict[str, float]]:
        """`Row.scores` of each row of a block."""
        held = dict(zip(self._variables, block.variables, strict=True))
        names = {label: variable for variable, label in self._scores}
        scores = {label: held[variable] for label, variable in names.items() if variable in held}
        columns = [block.mapped(variable, as_float) for variable in scores.values()]
        for row in zip(*columns, strict=True) if columns else repeat((), block.size):
            yield {label: score for label, score in zip(scores, row, strict=True) if score is not None}

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of the scores, the keys of `Row.scores`."""
        return tuple(label for _, label in self._scores)

    def counted(self, *, of_requested: bool = True) -> str:
        """The number of rows with the reason of a shortfall, `0 rows (...)`; empty before the rows are counted.

        With `of_requested`, as `3 rows (of 10 requested: only 3 entities match the text of ?p)`.
        """
        returned = self.returned
        if returned is None:
            return ""
        if of_requested and self.requested is not None and returned < self.requested:
            return f"{self._row_count()} (of {self.requested:,} requested: {self.shortfall or NO_MORE})"
        return f"{self._row_count()} ({self.shortfall})" if self.shortfall and not returned else self._row_count()

    def _row_count(self) -> str:
        return f"{self.returned:,} {'row' if self.returned == 1 else 'rows'}"

    def graph_triples(self) -> Iterator[Triple]:
        """The triples of a CONSTRUCT or DESCRIBE, in the engine's types.

        Raises:
            UnsupportedQueryError: the query was a SELECT or ASK.
        """
        if not self.is_graph:
            raise UnsupportedQueryError(
                "the result has rows, and is not a graph", hint="ask with CONSTRUCT or DESCRIBE"
            )
        return (Triple(*cells) for cells in self.rows())  # type: ignore[arg-type]

    def iri_names(self) -> IriNames:
        """The short forms of IRIs in a table: the query's own prefixes come first."""
        return IriNames(self._known.under(self._prefixes), self._labels)

    def with_prefixes(self, prefixes: Mapping[str, str]) -> Self:
        """The same result, whose tables and graphs also use these prefixes, after those of the query."""
        own = dict(self._prefixes)
        more = tuple((name, iri) for name, iri in prefixes.items() if name not in own)
        return replace(self, _prefixes=self._prefixes + more)

    def with_labels(self) -> ResultSet:
        """The same result, whose tables (`str`, notebooks, format `table`) show labels in place of IRIs.

        They are looked up at once, for the first 5,000 distinct IRIs; `limits_reached` says so if there are more. A
        label is by the label predicates of the profile, such as rdfs:label.
        """
        held = self.held()
        if held._label_lookup is None:
            return held
        iris = dict.fromkeys(
            cell.value for cells in held.cells for cell in cells[: len(held.columns)] if isinstance(cell, NamedNode)
        )
        labels = held._label_lookup(list(iris)[:MAX_LABELLED])
        more = len(iris) - MAX_LABELLED
        note = (f"labels were looked up for the first {MAX_LABELLED:,} IRIs, and {more:,} have none",)
        return replace(held, _labels=labels, limits_reached=held.limits_reached + (note if more > 0 else ()))

    def write(self, out: str | Path | TextIO | ForPeople, format: str | None = None) -> None:
        """Writes the result to a file or a text stream, in a format of `hybridkg query --format`.

        Without a format it is that of the file's extension, such as .csv or .ttl, else json.

        A file (UTF-8) appears when it is complete: after an error there is none, or the one from before.

        Raises:
            UnknownNameError: no such format.
            UnsupportedQueryError: the format cannot write this result.
            StorageError: the file cannot be written.
            HybridkgError: of a stream, as for `KnowledgeBase.query`.
        """
        from hybridkg.interfaces.output_format import OUTPUT_FORMATS, format_of, is_one_pass
        from hybridkg.storage.whole_file import whole_file

        if format is None:
            format = format_of(Path(out), "json") if isinstance(out, str | Path) else "json"
        writer = OUTPUT_FORMATS.get(format)
        result = self if is_one_pass(writer) else self.held()
        if isinstance(out, str | Path):
            with whole_file(Path(out)) as file:
                writer(result, file)
        else:
            writer(result, out)
