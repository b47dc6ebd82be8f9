"""`USING bm25f(@params.toml)`: the values of a file become part of the query, before it is planned.

The query takes precedence over the file: an argument, the weight of a field, an argument of a field. Without ON the
fields of the file are searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybridkg.config.model_parameters import WEIGHT, ModelParameters, find_file, folders_of, read_model_parameters
from hybridkg.errors import QueryCheckError
from hybridkg.query import ast
from hybridkg.query.checks.check_match import check_fields
from hybridkg.query.walk import rebuild, walk
from hybridkg.rdf.terms import XSD


def with_parameter_files(query: ast.Query, knowledge_base: Path | None) -> ast.Query:
    """The query with the values of its parameter files in place; `knowledge_base` is its folder.

    Raises:
        QueryCheckError: a file does not exist, is for another model, or has a weight out of range; the span is that of
            the model, or the field.
        ConfigError: a file is not a valid file of parameters.
    """
    if not any(isinstance(node, ast.Model) and node.file for node in walk(query)):
        return query
    folders = folders_of(knowledge_base)

    def change(node: ast.Syntax) -> Any:
        if isinstance(node, ast.Match) and node.model is not None and node.model.file:
            return _filled(node, node.model, _read(node.model, folders))
        if isinstance(node, ast.Rerank):
            return node  # its file is a model, not parameters
        if isinstance(node, ast.Model) and node.file:
            raise QueryCheckError("only the model of a MATCH takes a file of parameters", span=node.span)
        return rebuild(node, change)

    return rebuild(query, change)


def _read(model: ast.Model, folders: Sequence[Path]) -> ModelParameters:
    path = find_file(model.file, folders)
    if path is None:
        searched = " and ".join(repr(str(folder)) for folder in folders)
        raise QueryCheckError(
            f"no file of parameters {model.file!r} in {searched}",
            hint="hybridkg tune writes one; name it by a path inside one of these folders",
            span=model.span,
        )
    parameters = read_model_parameters(path)
    if parameters.model != model.name:
        raise QueryCheckError(
            f"{model.file!r} has the parameters of {parameters.model!r}, not of {model.name!r}",
            hint=f"USING {parameters.model}(@{model.file})",
            span=model.span,
        )
    return parameters


def _filled(match: ast.Match, model: ast.Model, parameters: ModelParameters) -> ast.Match:
    span = model.span
    written = match.fields or tuple(ast.OnField(name, None, None, (), span=span) for name in parameters.fields)
    fields = []
    for on_field in written:
        own = dict(parameters.fields.get(on_field.name, {}))
        weight = own.pop(WEIGHT, None)
        fields.append(
            replace(
                on_field,
                weight=weight if on_field.weight is None else on_field.weight,
                arguments=_with_defaults(on_field.arguments, own, on_field.span),
            )
        )
    check_fields(tuple(fields))
    arguments = _with_defaults(model.arguments, parameters.arguments, span)
    return replace(match, fields=tuple(fields), model=replace(model, arguments=arguments, file=""))


def _with_defaults(
    written: tuple[ast.NamedArgument, ...], values: Any, span: ast.Span
) -> tuple[ast.NamedArgument, ...]:
    names = {argument.name for argument in written}
    added = tuple(
        ast.NamedArgument(name, _literal(value, span), span=span) for name, value in values.items() if name not in names
    )
    return (*written, *added)


def _literal(value: float | str, span: ast.Span) -> ast.Lit:
    return ast.Lit(value, span=span) if isinstance(value, str) else ast.Lit(repr(value), XSD + "double", span=span)
