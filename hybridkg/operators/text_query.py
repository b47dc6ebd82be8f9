"""From the MATCH of the syntax tree to the question the text index understands."""

from __future__ import annotations

from hybridkg.errors import HybridkgError, IndexMissingError, QueryCheckError, Span, UnknownNameError
from hybridkg.interfaces.text_index import Argument, FieldChoice, TextIndex, TextQuery, alternatives_of
from hybridkg.query import ast
from hybridkg.registry import did_you_mean

XSD_NUMBERS = tuple(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "double"))


def text_query(match: ast.Match, text: str | None = None, language: str = "") -> TextQuery:
    """The question of a MATCH; `text` and its language stand where a variable gives them, as plain words."""
    written = match.text if isinstance(match.text, ast.Lit) else None
    return TextQuery(
        text=written.lexical if written else text or "",
        language=(written.language or "") if written else language,
        syntax=match.query_syntax or (written is not None and not match.plain_words),
        fields=tuple([_choice(f) for f in match.fields]) if match.fields else (),
        all_terms=match.all_terms,
        model=match.model.name if match.model else "bm25f",
        arguments=_arguments(match.model.arguments) if match.model else (),
    )


def _choice(field: ast.OnField, arguments: int | None = None) -> FieldChoice:
    """A field of ON, with the first of its arguments or all of them."""
    return FieldChoice(field.name, field.weight, _arguments(field.arguments[:arguments]), field.language or "")


def _arguments(arguments: tuple[ast.NamedArgument, ...]) -> tuple[Argument, ...]:
    return tuple((a.name, _value(a)) for a in arguments)


def _value(argument: ast.NamedArgument) -> float | str:
    match argument.value:
        case ast.Iri(value=iri):
            return f"<{iri}>"
        case ast.Lit(lexical=lexical, datatype=datatype):
            return float(lexical) if datatype in XSD_NUMBERS else lexical
    raise QueryCheckError(
        f"the argument {argument.name!r} is ?{argument.value.name}, which has no value",
        hint=f"give it one: --param {argument.value.name}=..., or params={{...}} in Python",
        span=argument.span,
    )


def checked_index(text: TextIndex | None, match: ast.Match) -> TextIndex:
    """The index, once it is sure that it can answer this MATCH.

    Raises:
        IndexMissingError: nothing has been indexed.
        UnknownNameError: a field or an argument; the span points at it.
        TextQueryError: the query string is malformed.
    """
    if text is None:
        raise IndexMissingError(
            "MATCH needs a text index, and this knowledge base has none",
            hint="build it with: hybridkg index KB",
            span=match.span,
        )
    for field in match.fields:
        if field.name not in text.fields:
            raise UnknownNameError(
                f"no field {field.name!r} in this knowledge base; its fields: {', '.join(text.fields)}",
                hint=did_you_mean(field.name, list(text.fields)),
                span=field.span,
            )
    try:
        text.check(text_query(match, PLAIN_WORD if isinstance(match.text, ast.Var) else None))
    except HybridkgError as e:
        if e.source is None:
            e.span = _wrong_part(text, match)
        raise
    return text


def _wrong_part(text: TextIndex, match: ast.Match) -> Span:
    """Where the index first objects, when the parts of the MATCH are given to it one after the other."""
    model = match.model.name if match.model else TextQuery("").model
    arguments = match.model.arguments if match.model else ()
    questions = [(match.model.span, TextQuery(PLAIN_WORD, model=model))] if match.model else []
    for count, argument in enumerate(arguments, 1):
        questions.append((argument.span, TextQuery(PLAIN_WORD, model=model, arguments=_arguments(arguments[:count]))))
    choices: tuple[FieldChoice, ...] = ()
    for field in match.fields:
        whole = (*choices, _choice(field, 0))
        questions.append((field.span, TextQuery(PLAIN_WORD, fields=whole, model=model)))
        for count, argument in enumerate(field.arguments, 1):
            whole = (*choices, _choice(field, count))
            questions.append((argument.span, TextQuery(PLAIN_WORD, fields=whole, model=model)))
        choices = whole
    for span, question in questions:
        try:
            text.check(question)
        except HybridkgError:
            return span
    return match.text.span


PLAIN_WORD = "word"
"""A text that no index objects to."""


def describe(match: ast.Match, text: TextIndex | None) -> str:
    """Model, fields, text and document frequencies: `bm25f title^3 "low-resource" (df low=812 resourc=5,100)`."""
    query = text_query(match, f"?{match.text.name}" if isinstance(match.text, ast.Var) else None)
    parts = [query.model]
    if query.arguments:
        parts[0] += (
            "("
            + ", ".join(
                f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
                for name, value in query.arguments
            )
            + ")"
        )
    fields = query.fields or tuple(FieldChoice(name) for name in (text.fields if text else ()))
    parts.append(" ".join(f.written + (f"^{f.weight:g}" if f.weight is not None else "") for f in fields))
    parts.append(f'"{query.text}"')
    if text is not None and not isinstance(match.text, ast.Var):
        parts.append(
            "(df " + ", ".join(f"{t.term}={t.df:,}{alternatives_of(t, ' ({})')}" for t in text.terms(query)) + ")"
        )
    return " ".join(parts)
