"""Translation of a MATCH or NEAR of the syntax tree into a query of the text index."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.errors import HybridkgError, IndexMissingError, QueryCheckError, Span, UnknownFieldError, UnknownNameError
from hybridkg.interfaces.ranked_index import RankedIndex, RankedQuery
from hybridkg.interfaces.text_index import Argument, FieldChoice, TextQuery, alternatives_of
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.query import ast
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term
from hybridkg.registry import did_you_mean

XSD_NUMBERS = tuple(f"http://www.w3.org/2001/XMLSchema#{name}" for name in ("integer", "decimal", "double"))


MAX_TRANSLATED = 32

_TRANSLATED: dict[int, tuple[ast.Match, TextQuery]] = {}
"""Queries of the last MATCHes, by the identity of the MATCH, which is referenced so that its id is not reused."""


def ranked_query(item: ast.RankedItem, given: Term | None = None) -> RankedQuery:
    """Query of a MATCH or NEAR; `given` is the text (plain words) or entity bound by a variable."""
    if isinstance(item, ast.Match):
        return text_query(item, given.value, given.language or "") if isinstance(given, Literal) else text_query(item)
    query = VectorQuery(within=item.within, encoder=item.encoder.name if item.encoder else "", exact=item.exact)
    match item.target:
        case ast.Lit(lexical=text):
            return replace(query, text=text)
        case ast.Iri(value=iri):
            return replace(query, entity=NamedNode(iri))
        case ast.Vector(values=values):
            return replace(query, vector=values)
    if isinstance(given, NamedNode | BlankNode):
        return replace(query, entity=given)
    return replace(query, text=given.value if isinstance(given, Literal) else "")


def text_query(match: ast.Match, text: str | None = None, language: str = "") -> TextQuery:
    """Query of a MATCH; `text` and its language are those bound by a variable, as plain words.

    Without them it is one object for a MATCH that is priced, checked and ranked: the index looks its words up once.
    """
    if text is not None or language:
        return _translated(match, text, language)
    key = id(match)
    known = _TRANSLATED.get(key)
    if known is None or known[0] is not match:
        if len(_TRANSLATED) >= MAX_TRANSLATED:
            _TRANSLATED.clear()
        known = _TRANSLATED[key] = match, _translated(match, None, "")
    return known[1]


def _translated(match: ast.Match, text: str | None, language: str) -> TextQuery:
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
    """Field of ON, with its first arguments or all of them."""
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


def checked_index(text: RankedIndex | None, item: ast.RankedItem) -> RankedIndex:
    """The index, after a check that it can answer this MATCH or NEAR. Raises as `checked_query`."""
    return checked_query(text, item)[0]


def checked_query(text: RankedIndex | None, item: ast.RankedItem) -> tuple[RankedIndex, RankedQuery]:
    """The index, after a check that it can answer this MATCH or NEAR, and the query; empty in place of a variable.

    Raises:
        IndexMissingError: nothing has been indexed, or no vectors.
        UnknownNameError: a field, an argument or an encoder; the span points at it.
        TextQueryError: the query string is malformed.
        VectorQueryError: the vector does not fit those of the index.
    """
    if text is None:
        raise IndexMissingError(
            f"{type(item).__name__.upper()} needs an index, and this knowledge base has none",
            hint="build it with: hybridkg index KB",
            span=item.span,
        )
    if isinstance(item, ast.Near):
        return _checked_vectors(text, item)
    for field in item.fields:
        if field.name not in text.fields:
            raise UnknownFieldError(
                f"no field {field.name!r} in this knowledge base; its fields: {', '.join(text.fields)}",
                field.name,
                hint=did_you_mean(field.name, list(text.fields)),
                span=field.span,
            )
    is_open = isinstance(item.text, ast.Var)
    try:
        query = text_query(item, PLAIN_WORD if is_open else None)
        text.check(query)
    except HybridkgError as e:
        if e.source is None:
            e.span = _wrong_part(text, item)
        raise
    return text, text_query(item) if is_open else query


def _checked_vectors(index: RankedIndex, near: ast.Near) -> tuple[RankedIndex, RankedQuery]:
    if near.encoder is not None and near.encoder.arguments:
        argument = near.encoder.arguments[0]
        raise UnknownNameError(
            f"no argument {argument.name!r}: an encoder takes none in a query",
            hint=f"write USING {near.encoder.name}; vectors are made when the index is built",
            span=argument.span,
        )
    query = ranked_query(near)
    try:
        index.check(query)
    except HybridkgError as e:
        wrong = near.encoder if isinstance(e, UnknownNameError) else near.target
        e.span = wrong.span if wrong is not None and not isinstance(e, IndexMissingError) else near.span
        raise
    return index, query


def _wrong_part(text: RankedIndex, match: ast.Match) -> Span:
    """Span of the first part of the MATCH that the index rejects."""
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
"""Text that every index accepts."""


def describe(item: ast.RankedItem, index: RankedIndex | None) -> str:
    """Description of a request in one line."""
    if isinstance(item, ast.Match):
        return _describe_match(item, index)
    target = item.target
    parts = ["similarity to"]
    match target:
        case ast.Lit(lexical=text):
            parts.append(f'"{text}"')
        case ast.Iri(value=iri):
            parts.append(f"<{iri}>")
        case ast.Var(name=name):
            parts.append(f"?{name}")
        case ast.Vector(values=values):
            parts.append(f"a vector of {len(values):,} numbers")
    if item.within is not None:
        parts.append(f"within {item.within:g}")
    if index is not None and index.vectors is not None:
        parts.append(f"({index.vectors.made_by}, {index.vectors.pieces:,} vectors)")
    return " ".join(parts)


def _describe_match(match: ast.Match, text: RankedIndex | None) -> str:
    """Model, fields, text and document frequencies: `bm25f title^3 "low-resource" (df low=812 resourc=5,100)`."""
    query = text_query(match, f"?{match.text.name}" if isinstance(match.text, ast.Var) else None)
    parts = [query.model]
    if query.arguments:
        written = (f"{n}={v:g}" if isinstance(v, float) else f"{n}={v}" for n, v in query.arguments)
        parts[0] += f"({', '.join(written)})"
    fields = query.fields or tuple(FieldChoice(name) for name in (text.fields if text else ()))
    parts.append(" ".join(f.written + (f"^{f.weight:g}" if f.weight is not None else "") for f in fields))
    parts.append(f'"{query.text}"')
    if text is not None and not isinstance(match.text, ast.Var):
        terms = ", ".join(f"{t.term}={t.df:,}{alternatives_of(t, ' ({})')}" for t in text.terms(query))
        parts.append(f"(df {terms})")
    return " ".join(parts)
