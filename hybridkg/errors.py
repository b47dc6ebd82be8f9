"""The family of errors that hybridkg raises on purpose.

An error has its parts as data (code, message, hint, place) and renders itself (`HybridkgError.render`), with a caret
below the wrong characters of a query, so that the command line, notebooks and tests show the same text. Exit codes: 1
the work failed, 2 the user's mistake.
"""

from __future__ import annotations

from dataclasses import dataclass

from hybridkg.terminal_text import printable, without_passwords

COMMITTED = "the change had been committed before that"
"""The note of an exception that ended what follows a commit."""


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of character offsets, `start <= end`, into a source text."""

    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class SourceName:
    """A text with its name in messages: `query`, `topics.hq`, ...

    >>> SourceName("query", "SELECT *\\nWHERE").line_and_column(9)
    (2, 1)
    """

    name: str
    text: str

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in characters) of a character offset."""
        before = self.text[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its end."""
        lines = self.text.split("\n")
        return lines[number - 1].rstrip("\r") if number <= len(lines) else ""


WIDEST_QUOTED_LINE = 160
"""Characters of a source line shown with a caret; a longer line is cut around the caret."""


class HybridkgError(Exception):
    """Base of every error that hybridkg raises on purpose. Passwords in addresses are masked.

    Args:
        message: what is wrong, lower case, no final full stop, names in quotes as the user wrote them.
        hint: what to do about it; may be empty.
        span: the wrong characters of `source`.
        source: the text that `span` points into.
        place: `file:line`, for errors that are not about a query.
    """

    code = "H000"
    exit_code = 1
    label = "error"

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        span: Span | None = None,
        source: SourceName | None = None,
        place: str = "",
    ):
        message, hint, place = map(without_passwords, (message, hint, place))
        super().__init__(message)
        self.message, self.hint, self.span, self.source, self.place = message, hint, span, source, place

    def at(self, source: SourceName) -> HybridkgError:
        """The same error with the text of its span, unless it has one."""
        if self.source is None:
            self.source = source
        return self

    def render(self) -> str:
        """The error as printable text, with the line and a caret where there is a source."""
        parts = [f"{self.label}[{self.code}]: {self.message}"]
        if self.span is not None and self.source is not None:
            parts += _quoted(self.source, self.span)
        elif self.place:
            parts.append(f" --> {self.place}")
        parts += [f"  hint: {line}" if i == 0 else f"        {line}" for i, line in enumerate(self.hint.splitlines())]
        return printable(without_passwords("\n".join(parts)))

    def __str__(self) -> str:
        return self.render()


def _quoted(source: SourceName, span: Span) -> list[str]:
    line_number, column = source.line_and_column(span.start)
    line = source.line(line_number)
    width = max(1, min(span.end - span.start, len(line) - column + 1))
    shown, caret_column = line, column
    if len(line) > WIDEST_QUOTED_LINE:
        start = max(0, column - WIDEST_QUOTED_LINE // 2)
        shown = line[start : start + WIDEST_QUOTED_LINE]
        caret_column = column - start
        width = max(1, min(width, len(shown) - caret_column + 1))
    margin = " " * len(str(line_number))
    tabs_kept = "".join("\t" if c == "\t" else " " for c in shown[: caret_column - 1])
    return [
        f"{margin}--> {source.name}:{line_number}:{column}",
        f"{margin} |",
        f"{line_number} | {shown}",
        f"{margin} | {tabs_kept}{'^' * width}",
    ]


class QueryWarning(HybridkgError):  # noqa: N818 - not an error
    """A probable mistake in a query. Never raised: it is part of the result (`result.warnings`).

    Args:
        code: W101 a product, W102 a variable that nothing binds, W103 an unused score, W104 a literal as the entity
            of a MATCH, W105 scores of different kinds added, W106 a text without words, W107 a predicate or class
            that does not occur, W108 a prefix or fuzzy word of too many terms, W109 a NEAR whose target has no
            vector, W110 a failed reranker in a query that keeps the earlier order, W111 a NEAR over vectors of
            another encoder than kb.toml now names, W112 a constant that no triple has in its place, W113 a comparison
            or function that never has a value, because of the kinds of values, W114 a parameter without a value,
            W115 a text in a language that neither the stemmers nor the index know, W116 a text without a language
            whose words only literals of another language have, W117 an aggregate without a value, W118 a LIMIT that
            takes any rows of a ranked pattern, W119 an order with the worst score first, W120 a
            triple of DELETE DATA that is not in the graph, and is with a similar object, W121 triples of a template
            whose subject is a literal.
        message, hint, span: as for every error.
    """

    label = "warning"

    def __init__(self, code: str, message: str, *, hint: str = "", span: Span | None = None):
        super().__init__(message, hint=hint, span=span)
        self.code = code

    def copy(self) -> QueryWarning:
        """A copy for another result, whose place may be changed."""
        return QueryWarning(self.code, self.message, hint=self.hint, span=self.span)


class EvaluationWarning(HybridkgError):  # noqa: N818 - not an error
    """A figure that may be wrong. Never raised: it is part of a report (`report.warnings`, `outcome.warnings()`).

    W201: a measure reads equal scores, and a run file has separated them, as trec_eval needs.
    """

    label, code = "warning", "W201"

    def to_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message, "hint": self.hint}


class LoadWarning(HybridkgError):  # noqa: N818 - not an error
    """An input that was loaded and is probably not what was meant. Never raised: it is in `LoadReport.warnings`."""

    code = "W301"
    label = "warning"


class PrefixWarning(LoadWarning):
    """A prefix of an input that means another namespace in queries."""

    code = "W302"


class ElsewhereWarning(HybridkgError):  # noqa: N818 - not an error
    """Triples to be removed that are in a named graph instead. Never raised: it is in the warnings of a report."""

    code = "W303"
    label = "warning"

    @classmethod
    def of(cls, graph: str, found: int, missing: int, hint: str = "") -> ElsewhereWarning:
        """The warning for `missing` triples that the default graph does not have, and of which `graph` has `found`.

        Without a hint of its own, it names how a file is removed from that graph.

        >>> ElsewhereWarning.of("<e:g>", 1, 3).message
        '3 triples to be removed are not in the default graph; the graph <e:g> has 1 of them'
        >>> ElsewhereWarning.of("<e:g>", 1, 1).message
        'the triple to be removed is not in the default graph, but in the graph <e:g>'
        """
        what = "the triple to be removed is" if missing == 1 else f"{missing:,} triples to be removed are"
        where = f", but in the graph {graph}" if found == missing else f"; the graph {graph} has {found:,} of them"
        return cls(
            f"{what} not in the default graph{where}",
            hint=hint
            or f"hybridkg remove KB FILE --graph '{graph}' removes them there\n"
            f"in Python: kb.delete(..., graph='{graph}')",
        )

    @classmethod
    def of_rows(cls, table: str, graph: str, found: int) -> ElsewhereWarning:
        """The warning for rows of a table that replace nothing in `graph`, which has `found` triples of them."""
        return cls(
            f"{table}: {found:,} triples of its rows are in the graph {graph}; they stay, and the new ones are in the "
            "default graph",
            hint=f"hybridkg load KB FILE --replace '{graph}' puts the table in place of that graph\n"
            f"in Python: kb.load(..., replace='{graph}')",
        )


class DescribedWarning(LoadWarning):
    """Rows of a table about entities that the knowledge base has already."""

    code = "W304"


class DriftWarning(LoadWarning):
    """A column of a table with other types of values than in earlier loads of the table."""

    code = "W305"


class NewRowsWarning(LoadWarning):
    """A table whose rows were to replace earlier ones, and are all new."""

    code = "W306"


class ServiceError(HybridkgError):
    """A SPARQL service in a query did not respond."""

    code = "S304"


class EndpointError(HybridkgError):
    """The SPARQL endpoint with the graph does not respond, refuses, or its response cannot be used."""

    code = "S305"


class OverloadedError(HybridkgError):
    """Too many queries that were stopped are still at work in the background, and none ended in time."""

    code = "S306"


class UserError(HybridkgError):
    """Base of the user's mistakes; exit code 2."""

    code, exit_code = "H001", 2

    def _render_traceback_(self, *_: object) -> list[str]:
        """The lines that a notebook shows in place of a traceback, which has nothing about a mistake of the user."""
        return self.render().split("\n")


class QuerySyntaxError(UserError):
    """The query text does not follow the grammar."""

    code = "Q101"


class UndeclaredPrefixError(QuerySyntaxError):
    """A prefix of the query is not declared; `prefix` is its name."""

    def __init__(self, message: str, prefix: str, *, hint: str = "", span: Span | None = None):
        super().__init__(message, hint=hint, span=span)
        self.prefix = prefix


class QueryLimitError(UserError):
    """The query is larger or deeper than the parser accepts."""

    code = "Q102"


class QueryStoppedError(QueryLimitError):
    """A query was cancelled, or exceeded its time limit; `doing`, set later than the rest, is the running operator."""

    code = "Q103"

    def __init__(self, message: str, *, hint: str = "", doing: str = ""):
        super().__init__(message, hint=hint)
        self.doing = doing

    def render(self) -> str:
        """The error with the operator on a line of its own."""
        text = super().render()
        if not self.doing:
            return text
        head, *rest = text.split("\n")
        return "\n".join([head, f"  at work: {self.doing}", *rest])


class QueryCheckError(UserError):
    """The query follows the grammar but breaks a rule of SPARQL or HybridQL."""

    code = "Q201"


class UnsupportedQueryError(UserError):
    """The query is correct, but not supported; the message names an alternative."""

    code = "Q202"


class ParameterError(UserError):
    """A parameter is not in the query, or its value cannot be bound."""

    code = "Q203"


class NotAnIriError(ParameterError):
    """A parameter that stands for an IRI has a literal, whose text may be a prefixed name."""

    def __init__(self, message: str, text: str, *, hint: str = "", span: Span | None = None):
        super().__init__(message, hint=hint, span=span)
        self.text = text


class UnknownNameError(UserError):
    """A registry, a profile or an index does not have the name."""

    code = "R201"


class UnknownFieldError(UnknownNameError):
    """The index has no field with this name."""

    def __init__(self, message: str, name: str, *, hint: str = "", span: Span | None = None):
        super().__init__(message, hint=hint, span=span)
        self.name = name


class MissingExtraError(UserError):
    """The package of a feature is not installed."""

    code = "R202"


class LoadError(UserError):
    """Input cannot be read: malformed RDF, a truncated archive, a bad line of text documents."""

    code = "L301"


class StorageError(HybridkgError):
    """The knowledge base folder cannot be read or written."""

    code = "S401"


class NotAKnowledgeBaseError(UserError):
    """The path is missing, or holds something other than a knowledge base."""

    code = "S402"


class LockedError(HybridkgError):
    """Another process is writing to the knowledge base."""

    code = "S403"


class CorruptError(HybridkgError):
    """A file of the knowledge base is damaged, missing, or of another version."""

    code = "S404"


class IndexCorruptError(CorruptError):
    """The text index is damaged, or of another version; it can be rebuilt from the intact graph."""


class ProfileError(UserError):
    """A profile (Turtle that maps predicates to fields) is wrong."""

    code = "P501"


class ConfigError(UserError):
    """A setting in kb.toml is unknown or has a wrong value."""

    code = "C601"


class TextQueryError(UserError):
    """The text of a MATCH does not follow the query-string syntax, or a model's argument is out of range."""

    code = "T701"


class IndexMissingError(UserError):
    """The query needs an index that has not been built yet."""

    code = "T702"


class VectorQueryError(UserError):
    """The vector of a NEAR does not fit the index, or an encoder returned an invalid vector."""

    code = "V801"


class EncoderError(HybridkgError):
    """The model of an encoder cannot be fetched, used or copied, or the memory does not suffice."""

    code = "V802"


class ModelServerError(HybridkgError):
    """A model server (OpenAI-compatible) does not respond, refuses, or its response cannot be used."""

    code = "M901"


class RerankerError(HybridkgError):
    """A reranker cannot score the rows: its model does not load, or returns an invalid score."""

    code = "M902"


class TrainingError(HybridkgError):
    """The training of a model fails: its loss is no number, or no epoch is better than the untrained model."""

    code = "M903"


class TextServerError(HybridkgError):
    """The server of a text index does not respond, refuses, or its index is gone or changed."""

    code = "T703"
