"""Evaluation of expressions over rows.

Arithmetic and functions of strings are computed over columns where their values are certain to be Oxigraph's
(docs/architecture.md, decision 1). For all others, the distinct values of the variables of an expression are sent to
Oxigraph as VALUES rows, in an in-memory store that is empty except for blank nodes and triple terms, which are not
written in VALUES and are reached through their row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hybridkg.algebra.to_tests import STRING_FUNCTIONS
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.column_groups import ALL, Rows
from hybridkg.operators.column_join import shared_keys
from hybridkg.operators.columns import Column, IdColumn, InColumns, NumberColumn, TermColumn
from hybridkg.operators.context import EVALUATION_US, TEXT_US, ExecutionContext
from hybridkg.operators.few_texts import OfTerm, of_term, values_of_few
from hybridkg.operators.id_sets import below, distinct_ids
from hybridkg.operators.join import Compatible
from hybridkg.operators.mixed_numbers import whole
from hybridkg.operators.number_expressions import NumberExpressions
from hybridkg.operators.text_functions import Strings, TextFunctions, are_truths
from hybridkg.query import ast
from hybridkg.query.parser import parse
from hybridkg.query.walk import variables, walk
from hybridkg.query.write import write
from hybridkg.rdf.gather import gathered
from hybridkg.rdf.solutions import Row, Solutions
from hybridkg.rdf.term_texts import TermsOfTexts, TermTexts
from hybridkg.rdf.terms import XSD_BOOLEAN, BlankNode, Literal, NamedNode, Term, Triple

MIN_TEXTS = 32
"""Minimum number of distinct texts of an expression that is computed over bytes; fewer are computed one by one."""

OF_STRINGS = STRING_FUNCTIONS | {"LANG", "CONCAT"}
"""Functions that are computed of texts, LANG and CONCAT of few."""

ROWS_PER_QUESTION = 20_000
"""VALUES rows in one query: 20,000 rows of three columns took 0.10 s and 1 MB of text on the 2-core machine."""

ROW_IRI = "urn:hybridkg:row:"
CELL_IRI = "urn:hybridkg:cell:"
TRUE = Literal("true", datatype=XSD_BOOLEAN)
FALSE = Literal("false", datatype=XSD_BOOLEAN)

THROUGH_STORE = (BlankNode, Triple)
"""Terms that are no data of VALUES: a triple term may have blank nodes."""

BOOLEAN = "http://www.w3.org/2001/XMLSchema#boolean"


@dataclass(frozen=True)
class ExistsTest:
    """EXISTS taken out of an expression: `variable` stands for its truth value.

    Args:
        variable: a fresh name.
        pattern: its pattern, evaluated on its own.
        negated: NOT EXISTS.
        among: MATCHes of the pattern, with their score variables, whose entities every row binds: only the entities of
            the rows are scored, and the pattern reads their matches (operators/topk/relation_prefix.py).
    """

    variable: str
    pattern: PhysicalOperator
    negated: bool
    among: tuple[tuple[ast.RankedItem, str], ...] = ()

    def column(self, solutions: Solutions, context: ExecutionContext) -> TermColumn:
        """Truth value for each row: whether a compatible solution of the pattern exists."""
        exists = np.zeros(0, np.bool_)
        if solutions.size:
            exists = _exist(solutions, self._solutions(solutions, context))
        return TermColumn(_FALSE_OR_TRUE, (exists != self.negated).astype(np.intp))

    @property
    def shown(self) -> str:
        """Text in an expression for EXPLAIN; the pattern is the operator below."""
        return "NOT EXISTS {...}" if self.negated else "EXISTS {...}"

    def _solutions(self, rows: Solutions, context: ExecutionContext) -> Solutions:
        from hybridkg.operators.topk.relation_prefix import RelationPrefix, relation_among, relation_of_entities

        outer, relations = context.slice, {}
        for match, score in self.among:
            column = rows.ids(match.entity.name) if isinstance(rows, InColumns) else None
            if column is None or context.graph is None:
                relations[score] = relation_among(match, rows.cells(match.entity.name), context)
                continue
            entities = below(distinct_ids(column.ids), context.graph.n_entities)
            relations[score] = relation_of_entities(match, entities, context)
        try:
            context.slice = RelationPrefix(relations)
            return context.run(self.pattern)
        finally:
            context.slice = outer


_FALSE_OR_TRUE = np.array([FALSE, TRUE], object)


def _exist(solutions: Solutions, found: Solutions) -> NDArray[np.bool_]:
    """bool[rows]: whether one of the found solutions is compatible with each row."""
    if not found.size:
        return np.zeros(solutions.size, np.bool_)
    if isinstance(solutions, InColumns) and isinstance(found, InColumns):
        names = [name for name in solutions.variables if name in found.columns]
        keys = shared_keys(solutions, found, names) if names else None
        if keys is not None:
            return np.isin(*keys)
    pairs = Compatible(solutions, found)
    return np.fromiter((next(pairs.rows_for(row), None) is not None for row in solutions.rows), np.bool_)


def shown(expression: ast.Expression, tests: Sequence[ExistsTest] = ()) -> str:
    """Expression in one line as the query has it, without the `IF(condition, true, false)` of the operators.

    >>> shown(ast.Call("IF", (ast.Var("_exists1"), ast.Lit("true", BOOLEAN), ast.Lit("false", BOOLEAN))))
    '?_exists1'
    """
    match expression:
        case ast.Call("IF", (condition, ast.Lit("true", datatype), ast.Lit("false"))) if datatype == BOOLEAN:
            expression = condition
    text = " ".join(write(expression).split())
    for test in tests:
        text = re.sub(rf"\?{re.escape(test.variable)}\b", test.shown, text)
    return text


def with_tests(solutions: Solutions, tests: Sequence[ExistsTest], context: ExecutionContext) -> Solutions:
    """Solutions with a column for each EXISTS."""
    for test in tests:
        column = test.column(solutions, context)
        if isinstance(solutions, InColumns):
            solutions = solutions.having({**solutions.columns, test.variable: column})
            continue
        rows: list[Row] = [(*row, cell) for row, cell in zip(solutions.rows, column.cells(), strict=True)]
        solutions = Solutions((*solutions.variables, test.variable), rows)
    return solutions


@dataclass(frozen=True)
class ExpressionText:
    """Text of an expression, and the properties of it that an evaluation needs.

    Args:
        expression: the expression.
        text: in SPARQL.
        variables: its variables.
        base: IRI that it resolves relative IRIs against; empty without one.
        differs_per_row: whether equal rows may have different values, as for RAND.
        is_of_strings: whether its functions are of strings, as TextFunctions has them.
    """

    expression: ast.Expression
    text: str
    variables: frozenset[str]
    base: str
    differs_per_row: bool
    is_of_strings: bool

    @cached_property
    def of_term(self) -> OfTerm | None:
        """The function of strings that it is of its only variable, for a few terms; None if only the store has it."""
        return of_term(self.expression)

    def names(self, solutions: Solutions) -> tuple[str, ...]:
        """Columns that it reads, sorted."""
        return tuple(sorted(self.variables.intersection(solutions.variables)))


MAX_CACHED_LENGTH = 2_000
"""Maximum characters of an expression whose text is cached, so that long ones do not fill the memory."""


class _LongExpressionError(Exception):
    """Carries the text of an expression that is not cached: `lru_cache` keeps no errors."""

    def __init__(self, text: ExpressionText):
        self.text = text


def text_of(expression: ast.Expression) -> ExpressionText:
    """The text of an expression, cached if it is short.

    >>> text_of(ast.Binary("+", ast.Var("x"), ast.Var("y"))).variables == {"x", "y"}
    True
    """
    try:
        return _short_text_of(expression)
    except _LongExpressionError as e:
        return e.text


@lru_cache(maxsize=512)
def _short_text_of(expression: ast.Expression) -> ExpressionText:
    from hybridkg.algebra.rules.push_filters import PER_ROW

    calls = [node for node in walk(expression) if isinstance(node, ast.Call)]
    text = ExpressionText(
        expression,
        write(expression),
        variables(expression),
        next((call.base for call in calls if call.base), ""),
        any(call.function in PER_ROW for call in calls),
        bool(calls) and all(call.function in OF_STRINGS for call in calls),
    )
    if len(text.text) > MAX_CACHED_LENGTH:
        raise _LongExpressionError(text)
    return text


def evaluate(expression: ast.Expression, solutions: Solutions, context: ExecutionContext) -> list[Term | None]:
    """Value of the expression in each row, None for an error."""
    if isinstance(expression, ast.Var):
        return solutions.cells(expression.name)
    if isinstance(solutions, InColumns):
        return column_of(expression, solutions, context).cells()
    text = text_of(expression)
    names = text.names(solutions)
    keys = solutions.select(names).rows
    distinct = keys if text.differs_per_row else list(dict.fromkeys(keys))
    values = [value for (value,) in _values([text], names, distinct, context)]
    if distinct is keys:
        return values
    value_of = dict(zip(distinct, values, strict=True))
    return [value_of[key] for key in keys]


def column_of(expression: ast.Expression, solutions: InColumns, context: ExecutionContext) -> Column:
    """Column of the values of an expression, computed once for each distinct combination of its variables."""
    if isinstance(expression, ast.Var):
        return solutions.column(expression.name)
    return columns_of_expressions([expression], solutions, context)[0]


def columns_of_expressions(
    expressions: Sequence[ast.Expression], solutions: InColumns, context: ExecutionContext
) -> list[Column]:
    """A column for each expression; those of the same variables are sent to Oxigraph in one query."""
    columns: dict[int, Column] = {}
    texts = _Texts(solutions)
    together: dict[tuple[tuple[str, ...], str], list[tuple[int, ExpressionText]]] = {}
    for at, expression in enumerate(expressions):
        if isinstance(expression, ast.Var):
            columns[at] = solutions.column(expression.name)
            continue
        text = text_of(expression)
        if text.differs_per_row:
            columns[at] = TermColumn.of(evaluate(expression, solutions.in_rows(), context))
            continue
        column: Column | None = None
        if not text.is_of_strings or not isinstance(expression, ast.Call):
            column = NumberExpressions(solutions, lambda part: column_of(part, solutions, context)).column(expression)
        if column is None and text.is_of_strings:
            column = _of_texts(expression, text, texts, context)
        if column is not None:
            columns[at] = column
            continue
        together.setdefault((text.names(solutions), text.base), []).append((at, text))
    for (names, _), parts in together.items():
        group, first = solutions.distinct(names)
        rows = solutions.select(names).take(first).rows
        values = list(_values([text for _, text in parts], names, rows, context))
        for number, (at, _) in enumerate(parts):
            columns[at] = TermColumn.of([row[number] for row in values], group)
    return [columns[at] for at in range(len(expressions))]


def true_in_columns(condition: ast.Expression, solutions: InColumns, context: ExecutionContext) -> NDArray[np.bool_]:
    """bool[rows]: where a condition, as `IF(condition, true, false)`, is true."""
    match condition:
        case ast.Call("IF", (inner, ast.Lit("true", datatype), ast.Lit("false"))) if datatype == BOOLEAN:
            mask = NumberExpressions(solutions, lambda part: column_of(part, solutions, context)).truth(inner)
            if mask is not None:
                return mask
            is_of_strings = text_of(inner).is_of_strings
            if is_of_strings and (tested := _tested_texts(inner, solutions, context)) is not None:
                mask, is_known = tested
                if not is_known.all():
                    rest = np.flatnonzero(~is_known)
                    mask[rest] = _true_by_store(condition, solutions.take(rest), context)
                return mask
    return _true_by_store(condition, solutions, context)


def _true_by_store(condition: ast.Expression, solutions: InColumns, context: ExecutionContext) -> NDArray[np.bool_]:
    values = column_of(condition, solutions, context)
    if not isinstance(values, TermColumn):
        return np.array(true_rows(values.cells()), np.bool_)
    return np.array(true_rows(values.terms.tolist()), np.bool_)[values.codes]


class _Texts:
    """The terms of the columns of some solutions, each read once for all functions of them."""

    def __init__(self, solutions: InColumns):
        self._solutions = solutions
        self._each: dict[str, tuple[IdColumn, Rows] | None] = {}
        self._cells: dict[str, list[Term | None]] = {}

    def each(self, text: ExpressionText) -> tuple[IdColumn, Rows] | None:
        """The distinct terms of the only variable of an expression, and the place of each row in them; None for terms
        that are no ids. Of few rows, all terms: it takes longer to tell them apart than to compute some twice.
        """
        if len(text.variables) != 1:
            return None
        (name,) = text.variables
        if name not in self._each:
            column, read = self._solutions.columns.get(name), None
            if isinstance(column, IdColumn):
                read = (column, ALL) if len(column.ids) < MIN_TEXTS else column.each()
            self._each[name] = read
        return self._each[name]

    def cells(self, text: ExpressionText) -> list[Term | None]:
        """The terms of `each`."""
        (name,) = text.variables
        if name not in self._cells:
            read = self.each(text)
            self._cells[name] = [] if read is None else read[0].cells()
        return self._cells[name]


def _functions(distinct: IdColumn, context: ExecutionContext) -> TextFunctions:
    context.expect(TEXT_US * len(distinct.ids))
    context.meter.check()
    return TextFunctions(distinct.texts())


def _of_texts(
    expression: ast.Expression, text: ExpressionText, texts: _Texts, context: ExecutionContext
) -> Column | None:
    """Column of a function of strings; None unless its value is certain in every row."""
    read = texts.each(text)
    if read is None:
        return None
    distinct, place = read
    if len(distinct.ids) < MIN_TEXTS:
        values = values_of_few(text.of_term, texts.cells(text))
        return None if values is None else TermColumn.of(values, place)
    functions = _functions(distinct, context)
    value = functions.value(expression)
    if value is None or not functions.is_known.all():
        return None
    if isinstance(value, Strings):
        code_of: dict[str, int] = {}
        codes = np.array([code_of.setdefault(text, len(code_of)) for text in value.list()], np.intp)
        terms = np.empty(len(code_of), object)
        terms[:] = list(map(Literal, code_of))
        return TermColumn(terms, codes[place])
    if not isinstance(value, np.ndarray):
        return None
    if are_truths(value):
        return TermColumn(_FALSE_OR_TRUE, value.astype(np.intp)[place])
    return NumberColumn(value.astype(np.float64)[place], whole)


def _tested_texts(
    condition: ast.Expression, solutions: InColumns, context: ExecutionContext
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """(whether a condition on strings is true, whether that is certain) in each row; None for other conditions."""
    texts, text = _Texts(solutions), text_of(condition)
    read = texts.each(text)
    if read is None:
        return None
    distinct, place = read
    if len(distinct.ids) < MIN_TEXTS:
        values = values_of_few(text.of_term, texts.cells(text))
        if values is None or any(value not in (TRUE, FALSE) for value in values):
            return None
        return np.array([value == TRUE for value in values], np.bool_)[place], np.ones(solutions.size, np.bool_)
    functions = _functions(distinct, context)
    mask = functions.truth(condition)
    return None if mask is None else (mask[place], functions.is_known[place])


def _values(
    texts: Sequence[ExpressionText], names: tuple[str, ...], rows: Iterable[Row], context: ExecutionContext
) -> Iterator[Row]:
    """Values of the expressions, which have one base, for each row."""
    taken = frozenset[str]().union(*(text.variables for text in texts))
    base = f"BASE {write(ast.Iri(texts[0].base))}\n" if texts[0].base else ""
    row_name = _fresh("row", taken)
    value_names = [_fresh(f"value{number}", taken) for number in range(len(texts))]
    binds = "\n".join(f"BIND({text.text} AS ?{name})" for text, name in zip(texts, value_names, strict=True))
    head = f"{base}SELECT ?{row_name} ?{' ?'.join(value_names)} WHERE {{\n"
    rest, nothing = iter(rows), (None,) * len(texts)
    while batch := list(islice(rest, ROWS_PER_QUESTION)):
        context.expect(EVALUATION_US * len(batch) * len(texts))
        context.meter.check()
        pattern, triples = inline(names, batch, row_name)
        results: list[Row] = [nothing] * len(batch)
        for row, *values in context.scratch(triples).select(f"{head}{pattern}\n{binds}\n}}").rows:
            assert isinstance(row, NamedNode)
            results[int(row.value[len(ROW_IRI) :])] = tuple(values)
        yield from results


def _fresh(name: str, taken: frozenset[str]) -> str:
    while name in taken:
        name += "_"
    return name


def inline(names: tuple[str, ...], rows: Sequence[Row], row_name: str) -> tuple[str, list[Triple]]:
    """Pattern whose solutions are the given rows, and the triples that provide its blank nodes and triple terms.

    `?row_name` is bound to a different IRI in each. Terms are written by Oxigraph's own serializer, so nothing in them
    can become syntax.
    """
    triples = [
        Triple(NamedNode(f"{ROW_IRI}{number}"), NamedNode(f"{CELL_IRI}{i}"), cell)
        for number, row in enumerate(rows)
        for i, cell in enumerate(row)
        if isinstance(cell, THROUGH_STORE)
    ]
    lines = [f"(<{ROW_IRI}{number}>{''.join(_cell(cell) for cell in row)})" for number, row in enumerate(rows)]
    head = "".join(f" ?{name}" for name in names)
    parts = [f"VALUES (?{row_name}{head}) {{", *lines, "}"]
    stored = sorted({int(triple.predicate.value[len(CELL_IRI) :]) for triple in triples})
    parts += [f"OPTIONAL {{ ?{row_name} <{CELL_IRI}{i}> ?{names[i]} }}" for i in stored]
    return "\n".join(parts), triples


MANY_TEXTS = 500
"""Texts whose evaluation by Oxigraph, 2 us each, takes longer than to parse an expression (2-core machine)."""


@lru_cache(maxsize=256)
def _parsed(expression: str) -> ast.Expression:
    query = parse(f"SELECT * {{ FILTER({expression}) }}").form
    (condition,) = [node.condition for node in walk(query) if isinstance(node, ast.Filter)]
    return condition


def holds(
    expression: str, values: Sequence[Term], scratch: Callable[[Iterable[Triple]], GraphStore]
) -> NDArray[np.bool_]:
    """Truth of a SPARQL expression over `?x` for each value; an error is not true."""
    if isinstance(values, TermsOfTexts) and len(values) >= MANY_TEXTS and len(expression) <= MAX_CACHED_LENGTH:
        functions = TextFunctions(values.texts)
        mask = functions.truth(_parsed(expression))
        if mask is not None:
            if not functions.is_known.all():
                rest = np.flatnonzero(~functions.is_known)
                texts = values.texts
                read = gathered(texts.data, texts.offsets[rest], texts.offsets[rest + 1])
                few = TermsOfTexts(TermTexts(texts.tags, texts.kinds[rest], *read))
                mask[rest] = _hold(few, expression, scratch)
            return mask
    return np.array(_hold(values, expression, scratch), np.bool_)


def _hold(values: Sequence[Term], expression: str, scratch: Callable[[Iterable[Triple]], GraphStore]) -> list[bool]:
    truths = [False] * len(values)
    for start in range(0, len(values), ROWS_PER_QUESTION):
        batch = values[start : start + ROWS_PER_QUESTION]
        pattern, triples = inline(("x",), [(value,) for value in batch], "row")
        sparql = f"SELECT ?row WHERE {{\n{{\n{pattern}\n}}\nFILTER({expression})\n}}"
        for (row,) in scratch(triples).select(sparql).rows:
            assert isinstance(row, NamedNode)
            truths[start + int(row.value[len(ROW_IRI) :])] = True
    return truths


def _cell(cell: Term | None) -> str:
    return " UNDEF" if cell is None or isinstance(cell, THROUGH_STORE) else f" {cell}"


def true_rows(values: Mapping[int, Term | None] | Sequence[Term | None]) -> list[bool]:
    """Effective boolean values (SPARQL 1.1 section 17.2.2) of the results of `IF(condition, true, false)`."""
    return [value == TRUE for value in (values.values() if isinstance(values, Mapping) else values)]
