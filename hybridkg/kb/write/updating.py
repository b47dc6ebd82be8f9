"""Execution of an update request: WHERE by the query engine, templates to quads, and their effective change.

The solutions of an operation are computed whole before it changes anything, and each operation sees what those before
it have done (SPARQL 1.1 Update, section 3). A request that fails is undone.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeAlias, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

from hybridkg.compute.garbage_collector import collector_paused
from hybridkg.config.run_settings import LimitSettings
from hybridkg.errors import HybridkgError, LoadError, NotAnIriError, QueryWarning, SourceName, UserError
from hybridkg.interfaces.meter import Meter
from hybridkg.interfaces.progress import SILENT
from hybridkg.kb.known_names import iri_hint
from hybridkg.kb.limits import Limits
from hybridkg.kb.parsed_query import Parameters, ParsedQuery
from hybridkg.kb.query_options import QueryOptions
from hybridkg.kb.query_run import QueryRun
from hybridkg.kb.query_session import QuerySession
from hybridkg.kb.write.absent_triples import absent_triples, triples_elsewhere
from hybridkg.kb.write.graph_operations import clear, copy_graph, create
from hybridkg.kb.write.load_into import load_into
from hybridkg.kb.write.transaction import prefix_warnings
from hybridkg.kb.write.transaction_state import TransactionState
from hybridkg.query import ast
from hybridkg.query.checks.check_update import check_update, unbound_template_variables
from hybridkg.query.checks.check_values import check_update_values
from hybridkg.query.constants import term_of_constant
from hybridkg.query.parameters.bind import bind_update
from hybridkg.query.parser import parse_update
from hybridkg.query.scope import ranked_items
from hybridkg.query.update_query import bound_in, query_of
from hybridkg.rdf.known_prefixes import ONLY_WELL_KNOWN, KnownPrefixes
from hybridkg.rdf.terms import BlankNode, DefaultGraph, GraphName, Literal, NamedNode, Quad, Term, triple_of
from hybridkg.registry import did_you_mean
from hybridkg.results.result_set import ResultSet

Row: TypeAlias = Sequence[Term | None]

Cell: TypeAlias = Callable[[Row], Term | None]
"""The term of one place of a template in a solution; None where it is unbound."""


@dataclass(frozen=True)
class UpdateOptions:
    """Limits of a request, as those of a query (QueryOptions); `timeout` is that of all its operations together.

    Raises:
        UserError: one of them is no number, or out of range.
    """

    timeout: float | None = None
    max_rows: int | None = None
    max_megabytes: float | None = None
    cancel: threading.Event | None = None
    name: str = "update"

    def __post_init__(self) -> None:
        Limits.of(LimitSettings(), self.timeout, self.max_rows, self.max_megabytes)

    def deadline(self) -> float | None:
        """The end of a request that starts now, on the clock of `monotonic`; None without a time limit."""
        return monotonic() + self.timeout if self.timeout else None

    def of_where(self, deadline: float | None) -> QueryOptions:
        """The limits of a WHERE that starts now: those of its request, with the time left until the deadline."""
        left = self.timeout if deadline is None else max(deadline - monotonic(), 1e-3)
        return QueryOptions(None, None, left, self.max_rows, self.max_megabytes, self.cancel, self.name)


CONTRADICTING = frozenset(("W102", "W120", "W121", "W303"))
"""Codes of warnings that have said why nothing has changed."""

CHECKED_EVERY = 1_000
"""Quads of templates between checks of the time limit; about 3 ms."""


TOLD_FROM = 100_000
"""Quads of a graph from which a WHERE reports its progress; a scan of fewer takes about 0.1 s."""


class UpdateRun:
    """The run of one request in a transaction.

    Args:
        state: of the transaction.
        update: checked, with its parameters bound.
        text: of the request, into which its spans point.
        options: its limits.
    """

    def __init__(self, state: TransactionState, update: ast.Update, text: str, options: UpdateOptions):
        self._state, self._update, self._text, self._options = state, update, text, options
        self._deadline = options.deadline()
        cancel = options.cancel
        self._meter = Meter(self._deadline, options.timeout, lambda: cancel is not None and cancel.is_set())
        self._document = self._blanks = 0
        self._labels: dict[str, BlankNode] = {}
        self.exact = True
        self.solution_count: int | None = None
        """Solutions of all WHEREs so far; None without a WHERE."""
        self.warnings: list[HybridkgError] = [*_never_bound(update, SourceName(options.name, text))]

    @property
    def why_nothing(self) -> str | None:
        """Why nothing has changed, if so, in words; empty for the usual reason, None where a warning has said it."""
        if any(warning.code in CONTRADICTING for warning in self.warnings):
            return None
        operations = self._update.operations
        is_removal = bool(operations) and all(isinstance(one, ast.DeleteData) for one in operations)
        return "the graph has none of these triples" if is_removal else ""

    def run(self) -> None:
        """Runs the operations; an error of one undoes them all."""
        self._state.begin_request()
        try:
            with collector_paused():
                for operation in self._update.operations:
                    self._run(operation)
            self.warnings += prefix_warnings(self._state.building.prefixes.new_clashes)
        except BaseException as e:
            self._state.undo_request()
            if isinstance(e, HybridkgError):
                raise e.at(SourceName(self._options.name, self._text)) from e.__cause__
            raise

    def _run(self, operation: ast.Operation) -> None:
        graph = self._state.graph
        before = graph.size()
        match operation:
            case ast.InsertData(templates):
                graph.apply([], self._data(templates))
            case ast.DeleteData(templates):
                quads = list(self._data(templates))
                source = SourceName(self._options.name, self._text)
                absent = absent_triples(
                    graph.store, templates, quads, self._state.prefixes.under(self._update.prefixes)
                )
                self.warnings += [warning.at(source) for warning in absent]
                self.warnings += triples_elsewhere(graph.store, quads)
                graph.apply(quads, [])
            case ast.Modify():
                self._modify(operation)
            case ast.LoadFile():
                self._load(operation)
            case ast.ClearGraphs():
                clear(graph, operation)
            case ast.CreateGraph():
                create(graph, operation)
            case ast.CopyGraph():
                copy_graph(graph, operation)
        if graph.size() != before or isinstance(operation, ast.Modify):
            self._state.changed()

    # --- solutions ------------------------------------------------------------------------

    def _modify(self, operation: ast.Modify) -> None:
        result = self.solutions(operation)
        self.solution_count = (self.solution_count or 0) + len(result.cells)
        rows, at = result.cells, {name: n for n, name in enumerate(result.columns)}
        target = _iri(operation.with_graph) if operation.with_graph else DefaultGraph()
        removed = self._instances(operation.delete, rows, at, target)
        left_out = Counter[ast.Var]()
        self._state.graph.apply(removed, self._instances(operation.insert, rows, at, target, left_out))
        source = SourceName(self._options.name, self._text)
        self.warnings += [_literal_subject(*one).at(source) for one in left_out.items()]

    def solutions(self, operation: ast.Modify) -> ResultSet:
        """The solutions of a WHERE in the state of this moment."""
        query = replace(query_of(operation), prefixes=self._update.prefixes)
        state = self._state
        ranked = [item.span for item in ranked_items(query.form)]
        if ranked:
            state.refuse_old_text(ranked[0])
        snapshot = state.snapshot(ranked=bool(ranked))
        session = QuerySession(snapshot, state.folder.path)
        parsed = ParsedQuery.of(query, self._text)
        options = self._options.of_where(self._deadline)
        progress = state.progress if state.building.counts["quads"] >= TOLD_FROM else SILENT
        progress.start("evaluating the WHERE", None)
        with QueryRun(session, parsed, options, state.folder.config, SILENT) as run:
            result = cast(ResultSet, run.answer(parsed, None, run.execute))
        progress.done(len(result.cells))
        self.exact = self.exact and result.exact
        known = {warning.span for warning in self.warnings}  # the WHERE says only that nothing binds the variable
        self.warnings += [warning for warning in result.warnings if warning.span not in known]
        return result

    # --- templates ------------------------------------------------------------------------

    def _data(self, templates: Sequence[ast.QuadTemplate]) -> Iterator[Quad]:
        """The quads of DATA, whose blank nodes are new: no two operations of DATA share a label (W3C syntax tests)."""
        self._labels = {}
        iris: dict[str, NamedNode] = {}
        for template in templates:
            graph = DefaultGraph() if template.graph is None else self._ground(template.graph, iris)
            for number, one in enumerate(template.triples):
                if number % CHECKED_EVERY == 0:
                    self._meter.check()
                subject, predicate = self._ground(one.subject, iris), self._ground(one.predicate, iris)
                quad = _quad(subject, predicate, self._ground(one.object, iris), graph)
                if quad is not None:
                    yield quad
            for number, quad in enumerate(template.ground):
                if number % CHECKED_EVERY == 0:
                    self._meter.check()
                own = quad.subject, quad.predicate, quad.object
                yield quad if template.graph is None else Quad(*own, cast(GraphName, graph))

    def _ground(self, term: ast.Syntax, iris: dict[str, NamedNode]) -> Term | None:
        """The term of DATA; `iris` are those before."""
        if type(term) is ast.Iri:
            node = iris.get(term.value)
            if node is None:
                node = iris[term.value] = NamedNode(term.value)
            return node
        if type(term) is ast.Lit:
            return term_of_constant(term)
        return self._cell(cast(ast.VarOrTerm, term), {})(())

    def _instances(
        self,
        templates: Sequence[ast.QuadTemplate],
        rows: Sequence[Row],
        at: dict[str, int],
        target: GraphName,
        left_out: Counter[ast.Var] | None = None,
    ) -> Iterator[Quad]:
        """The quads of templates for each solution; those with an unbound or a misplaced term are left out.

        `left_out` counts those with a literal as subject, by its variable.
        """
        patterns = [
            (
                one.subject,
                self._cell(one.subject, at),
                self._cell(cast(ast.Var | ast.Iri, one.predicate), at),
                self._cell(one.object, at),
                None if template.graph is None else self._cell(template.graph, at),
            )
            for template in templates
            for one in template.triples
        ]
        for number, row in enumerate(rows):
            if number * len(patterns) % CHECKED_EVERY < len(patterns):
                self._meter.check()
            self._labels = {}
            for term, subject, predicate, target_term, graph in patterns:
                s, g = subject(row), target if graph is None else graph(row)
                quad = _quad(s, predicate(row), target_term(row), g)
                if quad is not None:
                    yield quad
                elif left_out is not None and isinstance(s, Literal) and isinstance(term, ast.Var):
                    left_out[term] += 1

    def _cell(self, term: ast.VarOrTerm, at: dict[str, int]) -> Cell:
        match term:
            case ast.Var(name):
                place = at.get(name)
                return (lambda row: None) if place is None else (lambda row: row[place])
            case ast.Blank(label):
                return lambda row: self._blank(label)
            case ast.TripleTerm():
                return self._triple_cell(term, at)
        constant = term_of_constant(term)
        return lambda row: constant

    def _triple_cell(self, term: ast.TripleTerm, at: dict[str, int]) -> Cell:
        """The cell of a triple term, which is unbound where a part is, or where RDF has no such triple."""
        subject, predicate, target = (self._cell(part, at) for part in (term.subject, term.predicate, term.object))
        return lambda row: triple_of(subject(row), predicate(row), target(row))

    def _blank(self, label: str) -> BlankNode:
        """The blank node of a label: a new one for each solution.

        It is labelled as if the request were one more document (store/rdf_io/blank_nodes.py).
        """
        if label not in self._labels:
            if not self._document:
                self._document = self._state.building.next_document()
            self._blanks += 1
            self._labels[label] = BlankNode(f"d{self._document}x{self._blanks}")
        return self._labels[label]

    # --- LOAD -----------------------------------------------------------------------------

    def _load(self, operation: ast.LoadFile) -> None:
        source, settings = operation.source.value, self._state.folder.config.updates
        if settings.load == "refuse":
            raise UserError(
                f'LOAD reads {source!r}, and kb.toml says load = "refuse"',
                hint=f'hybridkg load {self._state.folder.path} FILE\nor in kb.toml, below [updates]: load = "files"',
                span=operation.source.span,
            )
        try:
            parts = urlsplit(source)
            if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
                raise LoadError(f"LOAD reads local files only, not {source!r}", hint="file:///path/of/a/file.ttl")
            load_into(self._state, [url2pathname(parts.path)], _iri(operation.into) if operation.into else None)
        except (LoadError, OSError):
            if not operation.silent:
                raise


def _quad(
    subject: Term | None, predicate: Term | None, target: Term | None, graph: GraphName | Term | None
) -> Quad | None:
    """The quad of four terms; None where one is unbound or misplaced."""
    if (
        isinstance(subject, _NODES)
        and isinstance(predicate, NamedNode)
        and target is not None
        and isinstance(graph, _GRAPHS)
    ):
        return Quad(subject, predicate, target, graph)
    return None


_NODES = (NamedNode, BlankNode)
_GRAPHS = (NamedNode, BlankNode, DefaultGraph)


def checked_update(
    text: str, params: Parameters | None, name: str, prefixes: KnownPrefixes = ONLY_WELL_KNOWN
) -> ast.Update:
    """The operations of a request, with its parameters bound; it need not declare the `prefixes`.

    Raises:
        HybridkgError: the text is no update, breaks a rule, or a parameter cannot be bound; has the place.
    """
    if not isinstance(text, str):
        raise UserError(f"an update is a text, not {type(text).__name__!r}", hint="of a file: path.read_text()")
    source = SourceName(name, text)
    try:
        with collector_paused():
            update = bind_update(parse_update(text, name=name, prefixes=prefixes), params or {})
            check_update(update)
            check_update_values(update)
    except HybridkgError as e:
        if isinstance(e, NotAnIriError):
            e.hint = iri_hint(e.text, prefixes) or e.hint
        raise e.at(source) from e.__cause__
    return update


def _never_bound(update: ast.Update, source: SourceName) -> Iterator[HybridkgError]:
    """A warning for each variable of a template that no WHERE binds: its triples are left out."""
    for operation in update.operations:
        if isinstance(operation, ast.Modify):
            names = [f"?{name}" for name in sorted(bound_in(operation))]
            for variable in unbound_template_variables(replace(update, operations=(operation,))):
                yield QueryWarning(
                    "W102",
                    f"nothing in WHERE binds ?{variable.name}, so the triples with it are left out",
                    hint=did_you_mean(f"?{variable.name}", names)
                    or f"it binds: {', '.join(names[:8]) or 'no variable'}",
                    span=variable.span,
                ).at(source)


def _literal_subject(variable: ast.Var, count: int) -> QueryWarning:
    triples = "1 triple of the template was" if count == 1 else f"{count:,} triples of the templates were"
    return QueryWarning(
        "W121",
        f"{triples} left out: ?{variable.name} is a literal there, which cannot be a subject",
        hint=f"the subject is the node that has the literal; FILTER(!ISLITERAL(?{variable.name})) omits such solutions",
        span=variable.span,
    )


def _iri(iri: ast.Iri) -> NamedNode:
    return NamedNode(iri.value)
