"""Parameters: variables that have a value before the query runs.

A single value takes the place of its variable in the tree, so no text is ever
pasted; a list becomes a VALUES block at the head of the pattern. `$text` and
`?text` are the same variable (SPARQL 1.1 section 19.8, note on VAR2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybridkg.errors import ParameterError
from hybridkg.query import ast
from hybridkg.query.walk import rebuild, variables, walk
from hybridkg.rdf.terms import XSD, XSD_STRING, Literal, NamedNode, Term, from_rdflib
from hybridkg.registry import did_you_mean

ParameterValue = object
"""An rdflib or engine term, a str, int, float, bool, date ..., or a list of those."""


def bind(query: ast.Query, parameters: Mapping[str, ParameterValue]) -> ast.Query:
    """The query with its parameters in place.

    Args:
        query: as written.
        parameters: values by name; a term in the form of syntax stands for itself.

    Raises:
        ParameterError: a name that the query does not use, a variable that the query itself
            assigns, or a value that cannot stand in a query.
    """
    if not isinstance(parameters, Mapping):
        raise ParameterError(
            f"parameters are a mapping of names to values, not {type(parameters).__name__!r}",
            hint='for example {"year": 2018}',
        )
    if not parameters:
        return query
    used = variables(query)
    entities = {item.entity.name for item in walk(query) if isinstance(item, ast.Match | ast.Near)}
    single: dict[str, ast.Iri | ast.Lit] = {}
    form = query.form
    for given, value in parameters.items():
        if not isinstance(given, str):
            raise ParameterError(f"the name of a parameter is a str, not {given!r}")
        name = given.lstrip("?$")
        if name not in used:
            known = sorted(used)
            raise ParameterError(
                f"the query has no variable for the parameter {given!r}; it uses: {', '.join(known) or 'none'}",
                hint=did_you_mean(name, known),
            )
        if isinstance(value, Sequence) and not isinstance(value, str | bytes):
            form = _with_values(form, name, [_constant(given, item) for item in value])
        elif name in entities:
            form = _with_values(form, name, [_constant(given, value)])
        else:
            single[name] = _constant(given, value)
    return replace(query, form=_substituted(form, single)) if single else replace(query, form=form)


def constants(name: str, value: object) -> ast.Value:
    """What stands for the value of a parameter in a query: a constant, or those of a list.

    Raises:
        ParameterError: the value, or one in the list, cannot stand in a query.
    """
    if type(value) is str and value.isascii():  # most values are the words of a search box
        return ast.Lit(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_constant(name, item) for item in value)
    return _constant(name, value)


def _constant(name: str, value: object) -> ast.Iri | ast.Lit:
    if isinstance(value, ast.Iri | ast.Lit):
        return value
    try:
        return constant(from_rdflib(value))
    except (TypeError, ValueError, OverflowError) as e:
        raise ParameterError(
            f"the parameter {name!r} has a value that cannot stand in a query: {_reason(e)}",
            hint="give an IRI, a string, a number, a boolean or a date; a blank node has no name outside its graph",
        ) from None


def _reason(error: Exception) -> str:
    """Why a term could not be made, with the words of whoever refused it."""
    if isinstance(error, UnicodeError):
        return "it holds half of a surrogate pair, which is no character"
    text = str(error)
    return text[:1].lower() + text[1:]


def constant(term: Term) -> ast.Iri | ast.Lit:
    """The syntax of an IRI or a literal.

    Raises:
        TypeError: a blank node, which stands for a variable when written in a query, or a triple.
    """
    if isinstance(term, NamedNode):
        return ast.Iri(term.value)
    if isinstance(term, Literal):
        if term.language:
            return ast.Lit(term.value, language=term.language)
        return ast.Lit(term.value, None if term.datatype == XSD_STRING else term.datatype.value)
    raise TypeError(f"{term} is neither an IRI nor a literal")


NUMBER = re.compile(
    r"[+-]?(?:(?P<integer>[0-9]+)|(?P<decimal>[0-9]*\.[0-9]+)|(?P<double>[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+))"
)
QUOTED = re.compile(
    r"""(?P<quote>["'])(?P<text>.*)(?P=quote)(?:@(?P<language>[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)|\^\^<(?P<datatype>[^<>\s]+)>)?""",
    re.DOTALL,
)


def read_term(text: str) -> Term:
    """A parameter value as it is typed: `<iri>`, `"text"@en`, `"x"^^<datatype>`, `12`, `true`, or plain words.

    Anything that is none of the first kinds is a string, so a search box can pass what its user typed.
    Quotes inside quotes stand for themselves: nothing is unescaped.

    Raises:
        ParameterError: `<...>` does not hold an absolute IRI, a language tag is none, or the text is not Unicode.

    >>> read_term("2018").datatype.value.rsplit("#")[-1], read_term("machine translation").value
    ('integer', 'machine translation')
    """
    try:
        text.encode()
        return _read_term(text)
    except ValueError as e:
        raise ParameterError(f"{text!r} is no value: {_reason(e)}") from None


def _read_term(text: str) -> Term:
    if text.startswith("<") and text.endswith(">"):
        try:
            return NamedNode(text[1:-1])
        except ValueError as e:
            raise ParameterError(f"{text} is not an absolute IRI: {_reason(e)}") from None
    if text in ("true", "false"):
        return Literal(text, datatype=NamedNode(XSD + "boolean"))
    if number := NUMBER.fullmatch(text):
        return Literal(text, datatype=NamedNode(XSD + str(number.lastgroup)))
    if quoted := QUOTED.fullmatch(text):
        if quoted["language"]:
            return Literal(quoted["text"], language=quoted["language"])
        return Literal(quoted["text"], datatype=NamedNode(quoted["datatype"]) if quoted["datatype"] else None)
    return Literal(text)


def _with_values(form: ast.QueryForm, name: str, values: list[ast.Iri | ast.Lit]) -> ast.QueryForm:
    data = ast.InlineData((ast.Var(name),), tuple((value,) for value in values))
    where = form.where or ast.Group(())
    if any(text == ast.Var(name) for text in _texts(form)):
        raise ParameterError(
            f"the parameter {name!r} is the text of a MATCH or NEAR, so it takes one value, not a list",
            hint="run the query once for each text, or join the words into one string",
        )
    return replace(form, where=replace(where, elements=(data, *where.elements)))


def _texts(node: ast.Syntax) -> Iterator[ast.Syntax]:
    for below in walk(node):
        if isinstance(below, ast.Match | ast.Near):
            yield below.text if isinstance(below, ast.Match) else below.target


def _substituted(
    form: ast.QueryForm, values: Mapping[str, ast.Iri | ast.Lit], renamed: Mapping[str, str] = {}
) -> ast.QueryForm:
    """The form with values in place; a column that has one is called by another name where `renamed` says so."""

    def change(node: ast.Syntax) -> Any:
        match node:
            case ast.Var(name=name) if name in values:
                return replace(values[name], span=node.span)
            case ast.SelectItem(variable=ast.Var(name=name), expression=None) if name in values:
                own = replace(node.variable, name=renamed.get(name, name))
                return replace(node, variable=own, expression=values[name])
            case ast.SelectItem(expression=ast.Syntax() as expression, variable=variable):
                return replace(node, expression=change(expression), variable=_target(variable))
            case ast.Bind(expression=expression, variable=variable):
                return replace(node, expression=change(expression), variable=_target(variable))
            case ast.GroupKey(expression=expression, variable=ast.Var() as variable):
                return replace(node, expression=change(expression), variable=_target(variable))
            case ast.GroupKey(expression=ast.Var(name=name) as variable) if name in values:
                # Kept as a name, so that a projection of the same variable stays a group key.
                return replace(node, expression=values[name], variable=None)
            case ast.TriplePattern():
                return _triple(rebuild(node, change))
            case ast.GraphPattern() | ast.ServicePattern():
                return _named(rebuild(node, change))
            case ast.Call(function="BOUND", arguments=(ast.Var(name=name),)) if name in values:
                # BOUND takes nothing but a variable; this one has a value.
                return ast.Lit("true", XSD + "boolean", span=node.span)
            case ast.RankBy(expression=expression, score=ast.Var() as score):
                return replace(node, expression=change(expression), score=_target(score))
            case ast.SubSelect(query=query):
                return replace(node, query=_in_sub_select(query))
            case ast.InlineData(variables=columns):
                for column in columns:
                    _target(column)
                return node
            case ast.Match(score=score, snippet=snippet):
                for target in (score, snippet):
                    if target is not None:
                        _target(target)
                model = None if node.model is None else rebuild(node.model, change)
                if isinstance(node.text, ast.Var) and node.text.name in values:
                    return replace(node, text=_text(node.text), plain_words=not node.query_syntax, model=model)
                return node if model is node.model else replace(node, model=model)
            case ast.Near(score=score):
                if score is not None:
                    _target(score)
                if isinstance(node.target, ast.Var) and node.target.name in values:
                    return replace(node, target=replace(values[node.target.name], span=node.target.span))
                return node
            case ast.RankedList(score=score):
                _target(score)
                return node
            case ast.Rerank(on=on, score=named):
                for part in (on, named):
                    if part is not None:
                        _target(part)
                return replace(node, reranker=rebuild(node.reranker, change))
            case _:
                return rebuild(node, change)

    def _text(variable: ast.Var) -> ast.Lit:
        value = values[variable.name]
        if not isinstance(value, ast.Lit):
            raise ParameterError(
                f"the parameter {variable.name!r} is the text of a MATCH, so it must be a text, not an IRI",
                span=variable.span,
            )
        if isinstance(value, ast.LiteralParameter):
            return replace(value, plain=True, span=variable.span)
        return replace(value, datatype=None, span=variable.span)

    def _triple(triple: ast.TriplePattern) -> ast.TriplePattern:
        if isinstance(triple.subject, ast.Lit) or isinstance(triple.predicate, ast.Lit):
            raise ParameterError(
                "a literal parameter stands where a triple has its subject or predicate",
                hint="give an IRI: <...> on the command line, rdflib.URIRef in Python",
                span=triple.span,
            )
        return triple

    def _named(pattern: ast.GraphPattern | ast.ServicePattern) -> ast.GraphPattern | ast.ServicePattern:
        name = pattern.name if isinstance(pattern, ast.GraphPattern) else pattern.endpoint
        if isinstance(name, ast.Lit):
            raise ParameterError(
                "a literal parameter stands where a graph or a service has its name",
                hint="give an IRI: <...> on the command line, rdflib.URIRef in Python",
                span=name.span,
            )
        return pattern

    def _target(variable: ast.Var) -> ast.Var:
        if variable.name in values:
            raise ParameterError(
                f"the query itself assigns ?{variable.name}, so it cannot be a parameter", span=variable.span
            )
        return variable

    def _in_sub_select(query: ast.SelectQuery) -> ast.SelectQuery:
        """A variable that a sub-select does not project is another variable of the same name."""
        projected = (
            frozenset(values)
            if query.projection is None
            else frozenset(item.variable.name for item in query.projection)
        )
        visible = {name: value for name, value in values.items() if name in projected}
        if not visible:
            return query
        # Two columns of one name would meet: the one around the sub-select has the value already.
        again = {name: fresh(name) for name in visible if name in given}
        return _substituted(query, visible, again)  # type: ignore[return-value]

    def fresh(name: str) -> str:
        while name in used:
            name += "_"
        return name

    used = variables(form).union(renamed.values())
    given = {item.variable.name for item in form.projection or ()} if isinstance(form, ast.SelectQuery) else frozenset()

    return rebuild(form, change)
