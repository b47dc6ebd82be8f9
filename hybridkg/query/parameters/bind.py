"""Parameters: variables that have a value before the query runs.

A single value replaces its variable in the tree, so values are never pasted into text; a list becomes a VALUES block at
the head of the pattern. `$text` and `?text` are the same variable (SPARQL 1.1 section 19.8, note on VAR2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from hybridkg.errors import NotAnIriError, ParameterError
from hybridkg.query import ast
from hybridkg.query.checks.check_update import NO_VALUE_HINT, first_variable
from hybridkg.query.checks.check_values import no_value
from hybridkg.query.constants import constant
from hybridkg.query.scope import ranked_items
from hybridkg.query.walk import rebuild, variables
from hybridkg.rdf.term_texts import literal_with
from hybridkg.rdf.terms import XSD, Literal, NamedNode, Term, from_rdflib, read_triple_term
from hybridkg.rdf.well_known import WELL_KNOWN, iri_of_prefixed
from hybridkg.registry import did_you_mean

ParameterValue = object
"""An rdflib or engine term, a str, int, float, bool, date ..., or a list of those."""

Bound: TypeAlias = ast.Iri | ast.Lit | ast.TripleTerm
"""A value as syntax."""


def bind(query: ast.Query, parameters: Mapping[str, ParameterValue]) -> ast.Query:
    """The query with its parameters bound.

    Args:
        query: as written.
        parameters: values by name; a term of the syntax tree is used as it is.

    Raises:
        ParameterError: a name that the query does not use, or assigns itself, or a value that cannot stand in a query.
    """
    values = _named_values(query, "query", parameters)
    return replace(query, form=_bound(query.form, values)) if values else query


def bind_update(update: ast.Update, parameters: Mapping[str, ParameterValue]) -> ast.Update:
    """The update with its parameters bound, in WHERE, templates, DATA and names of graphs.

    A list becomes VALUES in the WHERE of each operation that uses it.

    Args:
        update: as written.
        parameters: as those of `bind`.

    Raises:
        ParameterError: also, a variable of DATA has no value, or has a list of them.

    >>> from hybridkg.query.parser import parse_update
    >>> from hybridkg.query.write import write_update
    >>> update = parse_update("INSERT DATA { $film <http://e/year> $year }")
    >>> print(write_update(bind_update(update, {"film": ast.Iri("http://e/alien"), "year": 1979})))
    INSERT DATA {
      <http://e/alien> <http://e/year> 1979 .
    }
    """
    values = _named_values(update, "update", parameters)
    operations: list[ast.Operation] = []
    for operation in update.operations:
        used = variables(operation) if values else frozenset()
        own = {name: value for name, value in values.items() if name in used}
        if isinstance(operation, ast.InsertData | ast.DeleteData):
            operations.append(_bound_data(operation, own))
        elif own and isinstance(operation, ast.Modify):
            bound = _bound(operation, own)
            is_same = not any(isinstance(value, tuple) for value in own.values())
            operations.append(replace(bound, is_short=bound.is_short and is_same))
        else:
            operations.append(operation)
    return replace(update, operations=tuple(operations))


def _bound_data(
    data: ast.InsertData | ast.DeleteData, values: Mapping[str, Bound | tuple[Bound, ...]]
) -> ast.InsertData | ast.DeleteData:
    place = "INSERT DATA" if isinstance(data, ast.InsertData) else "DELETE DATA"
    single: dict[str, Bound] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            raise ParameterError(
                f"the parameter {name!r} stands in {place}, so it takes one value, not a list",
                hint="a list gives solutions to a WHERE: INSERT { ... } WHERE { ... }",
            )
        single[name] = value
    bound = _substituted(data, single) if single else data
    variable = first_variable(bound.quads)
    if variable is not None:
        if variable.is_marked:
            raise no_value(variable)
        raise ParameterError(
            f"nothing gives ?{variable.name} a value: {place} has no solutions", hint=NO_VALUE_HINT, span=variable.span
        )
    return bound


def _named_values(
    node: ast.Query | ast.Update, kind: str, parameters: Mapping[str, ParameterValue]
) -> dict[str, Bound | tuple[Bound, ...]]:
    """The values of parameters that the text uses, by the names of their variables."""
    if not isinstance(parameters, Mapping):
        raise ParameterError(
            f"parameters are a mapping of names to values, not {type(parameters).__name__!r}",
            hint='for example {"year": 2018}',
        )
    if not parameters:
        return {}
    used = variables(node)
    values: dict[str, Bound | tuple[Bound, ...]] = {}
    for written, value in parameters.items():
        if not isinstance(written, str):
            raise ParameterError(f"the name of a parameter is a str, not {written!r}")
        name = written.lstrip("?$")
        if name not in used:
            names = sorted(used)
            raise ParameterError(
                f"the {kind} has no variable for the parameter {written!r}; it uses: {', '.join(names) or 'none'}",
                hint=did_you_mean(name, names),
            )
        values[name] = _value(written, value)
    return values


Form = TypeVar("Form", bound=ast.QueryForm | ast.Modify | ast.InsertData | ast.DeleteData)
Pattern = TypeVar("Pattern", bound=ast.QueryForm | ast.Modify)


def _bound(form: Pattern, values: Mapping[str, Bound | tuple[Bound, ...]]) -> Pattern:
    entities = {item.entity.name for item in ranked_items(form)}
    single: dict[str, Bound] = {}
    for name, value in values.items():
        if isinstance(value, tuple):
            form = _with_values(form, name, value)
        elif name in entities:
            form = _with_values(form, name, (value,))
        else:
            single[name] = value
    return _substituted(form, single) if single else form


def constants(name: str, value: object) -> ast.Value | None:
    """The value of a parameter as syntax: a constant, or the constants of a list; None if one is a triple term.

    Raises:
        ParameterError: the value, or one in the list, cannot stand in a query.
    """
    bound = _value(name, value)
    if isinstance(bound, tuple):
        simple = tuple(item for item in bound if not isinstance(item, ast.TripleTerm))
        return simple if len(simple) == len(bound) else None
    return None if isinstance(bound, ast.TripleTerm) else bound


def _value(name: str, value: object) -> Bound | tuple[Bound, ...]:
    if type(value) is str and value.isascii():  # the common case: the words of a search box
        return ast.Lit(value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return tuple(_constant(name, item) for item in value)
    return _constant(name, value)


def _constant(name: str, value: object) -> Bound:
    if isinstance(value, ast.Iri | ast.Lit):
        return value
    if value is None:
        raise ParameterError(
            f"the parameter {name!r} has a value that cannot stand in a query: None is not a value of RDF",
            hint="give a value, or leave the parameter and its variable out",
        )
    try:
        return constant(from_rdflib(value))
    except (TypeError, ValueError, OverflowError) as e:
        raise ParameterError(
            f"the parameter {name!r} has a value that cannot stand in a query: {_reason(e)}",
            hint="give an IRI, a string, a number, a boolean or a date; a blank node has no name outside its graph",
        ) from None


def _kind(value: ast.Lit | ast.TripleTerm) -> str:
    return "literal" if isinstance(value, ast.Lit) else "triple term"


def _reason(error: Exception) -> str:
    """The reason why a term is invalid, from the message of the exception."""
    if isinstance(error, UnicodeError):
        return "it holds half of a surrogate pair, which is not a character"
    text = str(error)
    return text[:1].lower() + text[1:]


NUMBER = re.compile(
    r"[+-]?(?:(?P<integer>[0-9]+)|(?P<decimal>[0-9]*\.[0-9]+)|(?P<double>[0-9]+(?:\.[0-9]*)?[eE][+-]?[0-9]+))"
)
QUOTED = re.compile(
    r"""(?P<quote>["'])(?P<text>.*)(?P=quote)"""
    r"""(?:@(?P<language>[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)(?:--(?P<direction>ltr|rtl))?"""
    r"""|\^\^(?:<(?P<datatype>[^<>\s]+)>|(?P<prefixed>[^<>\s"':]*:[^<>\s"']*)))?""",
    re.DOTALL,
)
_NO_LITERAL = re.compile(r"""(["'])(?:.*\1(?:@|\^\^)\S*)|"[^"]*""", re.DOTALL)
"""A text in quotes with a wrong tag or datatype, or without its end; an apostrophe alone begins a word: 'tis."""


def read_term(text: str, prefixes: Mapping[str, str] = WELL_KNOWN) -> Term:
    """A parameter value as typed: `<iri>`, `"text"@en`, `"x"^^xsd:date`, `12`, `true`, `<<( <s> <p> "o" )>>`, words.

    Any other text is a string, so a search box can pass the text of its user. Quotes inside quotes are literal: nothing
    is unescaped. Words may begin with a phrase in quotes: `"deep learning" papers`.

    Args:
        text: as typed.
        prefixes: namespaces by prefix, for a datatype without angle brackets.

    Raises:
        ParameterError: `<...>` is not an absolute IRI, a literal in quotes has an invalid language tag or datatype or
            no end, or the text is not Unicode.

    >>> read_term("2018").datatype.value.rsplit("#")[-1], read_term("machine translation").value
    ('integer', 'machine translation')
    """
    try:
        text.encode()
        return _read_term(text, prefixes)
    except ValueError as e:
        raise ParameterError(f"{text!r} is not a value: {_reason(e)}") from None


def _read_term(text: str, prefixes: Mapping[str, str]) -> Term:
    if text.startswith("<<(") and text.endswith(")>>"):
        return read_triple_term(text)
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
            return literal_with(quoted["text"], quoted["language"], quoted["direction"])
        datatype = quoted["datatype"] or (quoted["prefixed"] and _datatype(text, quoted["prefixed"], prefixes))
        return Literal(quoted["text"], datatype=NamedNode(datatype) if datatype else None)
    if _NO_LITERAL.fullmatch(text):
        what = "behind the quotes stands no tag or datatype" if text.count(text[0]) > 1 else "the quotes have no end"
        raise ParameterError(
            f"{text!r} is not a value: {what}",
            hint='a literal is "text", "text"@en, "2025-06-01"^^xsd:date or "x"^^<datatype>',
        )
    return Literal(text)


def _datatype(text: str, written: str, prefixes: Mapping[str, str]) -> str:
    """The IRI of a datatype with a prefix. Raises ParameterError: the prefix is unknown."""
    iri = iri_of_prefixed(written, prefixes)
    if not iri:
        prefix = written.partition(":")[0]
        what = f"no prefix {prefix + ':'!r} is known" if prefix not in prefixes else f"{written!r} is no name"
        raise ParameterError(
            f"{text!r} is not a value: {what}",
            hint=did_you_mean(prefix, list(prefixes)) or "write the datatype as ^^<IRI>",
        )
    return iri


def _with_values(form: Pattern, name: str, values: tuple[Bound, ...]) -> Pattern:
    data = ast.InlineData((ast.Var(name),), tuple((value,) for value in values))
    where = form.where or ast.Group(())
    if any(item.text == ast.Var(name) for item in ranked_items(form)):
        raise ParameterError(
            f"the parameter {name!r} is the text of a MATCH or NEAR, so it takes one value, not a list",
            hint="run it once for each text, or join the words into one string",
        )
    return replace(form, where=replace(where, elements=(data, *where.elements)))


def _substituted(form: Form, values: Mapping[str, Bound], renamed: Mapping[str, str] = {}) -> Form:
    """The form with values in place; `renamed` has other names for projected columns."""

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
                # Without an alias, a projection of the same variable stays a group key.
                return replace(node, expression=values[name], variable=None)
            case ast.TriplePattern() | ast.TripleTerm():
                return _triple(node, rebuild(node, change))
            case ast.GraphPattern() | ast.ServicePattern():
                return _named(rebuild(node, change))
            case ast.QuadTemplate():
                return _in_graph(rebuild(node, change))
            case ast.Call(function="BOUND", arguments=(ast.Var(name=name),)) if name in values:
                # BOUND takes only a variable; this one has a value.
                return ast.Lit("true", XSD + "boolean", span=node.span)
            case ast.RankBy(expression=expression, score=ast.Var() as score):
                return replace(node, expression=change(expression), score=_target(score))
            case ast.SubSelect(query=query):
                return replace(node, query=_in_sub_select(query))
            case ast.InlineData(variables=targets):
                for column in targets:
                    _target(column)
                return node
            case ast.Match(score=score, snippet=snippet):
                _targets(score, snippet)
                model = None if node.model is None else rebuild(node.model, change)
                if isinstance(node.text, ast.Var) and node.text.name in values:
                    return replace(node, text=_text(node.text), plain_words=not node.query_syntax, model=model)
                return node if model is node.model else replace(node, model=model)
            case ast.Near(score=score):
                _targets(score)
                if isinstance(node.target, ast.Var) and node.target.name in values:
                    return replace(node, target=_target_of_near(node.target))
                return node
            case ast.RankedList(score=score):
                _target(score)
                return node
            case ast.Rerank(on=on, score=named):
                _targets(on, named)
                return replace(node, reranker=rebuild(node.reranker, change))
            case _:
                return rebuild(node, change)

    def _text(variable: ast.Var) -> ast.Lit:
        value = values[variable.name]
        if not isinstance(value, ast.Lit):
            raise ParameterError(
                f"the parameter {variable.name!r} is the text of a MATCH, so it must be a text, "
                f"not {'an IRI' if isinstance(value, ast.Iri) else 'a triple term'}",
                span=variable.span,
            )
        if isinstance(value, ast.LiteralParameter):
            return replace(value, plain=True, span=variable.span)
        return replace(value, datatype=None, span=variable.span)

    def _target_of_near(variable: ast.Var) -> ast.Iri | ast.Lit:
        value = values[variable.name]
        if isinstance(value, ast.TripleTerm):
            raise ParameterError(
                f"the parameter {variable.name!r} is the target of a NEAR, so it must be a text or an entity, "
                "not a triple term",
                span=variable.span,
            )
        return replace(value, span=variable.span)

    def _triple(
        written: ast.TriplePattern | ast.TripleTerm, triple: ast.TriplePattern | ast.TripleTerm
    ) -> ast.TriplePattern | ast.TripleTerm:
        for before, after in ((written.subject, triple.subject), (written.predicate, triple.predicate)):
            if isinstance(before, ast.Var) and isinstance(after, ast.Lit | ast.TripleTerm):
                raise NotAnIriError(
                    f"a {_kind(after)} parameter stands where a triple has its subject or predicate",
                    after.lexical if isinstance(after, ast.Lit) else "",
                    hint="give an IRI: <...> on the command line, rdflib.URIRef in Python",
                    span=written.span,
                )
        return triple

    def _named(pattern: ast.GraphPattern | ast.ServicePattern) -> ast.GraphPattern | ast.ServicePattern:
        _check_name(pattern.name if isinstance(pattern, ast.GraphPattern) else pattern.endpoint)
        return pattern

    def _in_graph(block: ast.QuadTemplate) -> ast.QuadTemplate:
        _check_name(block.graph)
        return block

    def _check_name(name: ast.Syntax | None) -> None:
        if isinstance(name, ast.Lit | ast.TripleTerm):
            raise NotAnIriError(
                f"a {_kind(name)} parameter stands where a graph or a service has its name",
                name.lexical if isinstance(name, ast.Lit) else "",
                hint="give an IRI: <...> on the command line, rdflib.URIRef in Python",
                span=name.span,
            )

    def _target(variable: ast.Var) -> ast.Var:
        if variable.name in values:
            raise ParameterError(
                f"?{variable.name} gets its value in the text, so it cannot be a parameter", span=variable.span
            )
        return variable

    def _targets(*assigned: ast.Var | None) -> None:
        for variable in assigned:
            if variable is not None:
                _target(variable)

    def _in_sub_select(query: ast.SelectQuery) -> ast.SelectQuery:
        """A variable that a sub-select does not project is another variable of the same name."""
        visible = values
        if query.projection is not None:
            projected = {item.variable.name for item in query.projection}
            visible = {name: value for name, value in values.items() if name in projected}
        if not visible:
            return query
        # Two columns of one name would be joined, and the outer one has the value already.
        aliases = {name: fresh(name) for name in visible if name in columns}
        return _substituted(query, visible, aliases)

    def fresh(name: str) -> str:
        while name in used:
            name += "_"
        return name

    used = variables(form).union(renamed.values())
    projection = form.projection or () if isinstance(form, ast.SelectQuery) else ()
    columns = frozenset(item.variable.name for item in projection)

    return rebuild(form, change)
