"""Rules for updates beyond the grammar: templates, blank nodes, and the choice of solutions.

They come from the notes to the grammar of SPARQL 1.1 (sections 19.6 and 19.8) and SPARQL 1.1 Update section 3.1; those
for RANK BY and LIMIT are in docs/language.md.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from hybridkg.errors import QueryCheckError
from hybridkg.query import ast
from hybridkg.query.checks.check import PatternChecker
from hybridkg.query.checks.check_ranking import check_rank_functions
from hybridkg.query.checks.check_select import check_order
from hybridkg.query.update_query import bound_in, template_variables
from hybridkg.query.walk import walk


def check_update(update: ast.Update, parameters: Container[str] = ()) -> None:
    """Checks an update against the rules of SPARQL and HybridQL.

    Args:
        update: as written, or with its parameters bound.
        parameters: names of parameters that are bound later; only these may be variables of DATA.

    Raises:
        QueryCheckError: it breaks a rule.
        UnknownNameError: it names a ranking model that does not exist.
        UnsupportedQueryError: it is correct, but this version cannot do it.
    """
    # Section 19.6: a label stands in one pattern of a request, and in one INSERT DATA; templates may repeat it.
    checker = PatternChecker()
    labels: set[str] = set()
    for operation in update.operations:
        match operation:
            case ast.Modify():
                _check_modify(operation, checker)
            case ast.InsertData(quads):
                nodes = _nodes_of(quads)
                _check_ground(nodes, "INSERT DATA", parameters)
                _check_templates(nodes)
                labels |= _new_labels(nodes, labels)
            case ast.DeleteData(quads):
                nodes = _nodes_of(quads)
                _check_ground(nodes, "DELETE DATA", parameters)
                _check_templates(nodes)
                _refuse_blank_nodes(nodes)


def unbound_template_variables(update: ast.Update) -> tuple[ast.Var, ...]:
    """The variables in templates that the WHERE of their operation never binds, in the order of the text.

    Their triples are left out of the change (SPARQL 1.1 Update section 3.1.3), which is legal and mostly a misspelling.

    >>> from hybridkg.query.parser import parse_update
    >>> update = parse_update("INSERT { ?film <http://e/seen> true } WHERE { ?flim a <http://e/Film> }")
    >>> [variable.name for variable in unbound_template_variables(update)]
    ['film']
    """
    found: list[ast.Var] = []
    for operation in update.operations:
        if isinstance(operation, ast.Modify):
            bound = bound_in(operation)
            found += [variable for variable in template_variables(operation) if variable.name not in bound]
    return tuple(found)


def first_variable(quads: tuple[ast.QuadTemplate, ...]) -> ast.Var | None:
    """The first variable in DATA, which has no solutions to give it a value."""
    return next((node for node in _nodes_of(quads) if isinstance(node, ast.Var)), None)


NO_VALUE_HINT = "give it as a parameter, or write DELETE or INSERT { ... } WHERE { ... }"
"""What to do about a variable in DATA."""


def _check_modify(modify: ast.Modify, checker: PatternChecker) -> None:
    modifiers = modify.modifiers
    deleted = _nodes_of(modify.delete)
    _check_templates(deleted)
    _refuse_blank_nodes(deleted)
    _check_templates(_nodes_of(modify.insert))
    bindings = checker.group(modify.where)
    check_order(modifiers)
    check_rank_functions(ast.SelectQuery(None, modify.where, modifiers=modifiers), bindings)
    for key in modifiers.order_by:
        checker.expression(key.expression, "in the ORDER BY of an update")
    if modifiers.rank_by is not None:
        checker.expression(modifiers.rank_by.expression, "in the RANK BY of an update", ranking=True)
    elif not modifiers.order_by and (modifiers.limit is not None or modifiers.offset is not None):
        word = "LIMIT" if modifiers.limit is not None else "OFFSET"
        raise QueryCheckError(
            f"{word} without RANK BY or ORDER BY would change some solutions and not others, at random",
            hint=f"write RANK BY ?score or ORDER BY ?x before {word}",
            span=modifiers.span,
        )


def _check_templates(nodes: Sequence[ast.Syntax]) -> None:
    for node in nodes:
        if isinstance(node, ast.TriplePattern | ast.TripleTerm) and isinstance(node.subject, ast.Lit | ast.TripleTerm):
            is_literal = isinstance(node.subject, ast.Lit)
            raise QueryCheckError(
                f"a {'literal' if is_literal else 'triple term'} cannot be the subject of a triple",
                hint="a subject is an IRI, a blank node or a variable"
                + ("" if is_literal else "; << ... >> is a node that reifies a triple"),
                span=node.subject.span,
            )


def _check_ground(nodes: Sequence[ast.Syntax], place: str, parameters: Container[str]) -> None:
    for node in nodes:
        if isinstance(node, ast.Var) and node.name not in parameters:
            raise QueryCheckError(
                f"nothing gives ?{node.name} a value: {place} has no solutions", hint=NO_VALUE_HINT, span=node.span
            )


def _refuse_blank_nodes(nodes: Sequence[ast.Syntax]) -> None:
    for node in nodes:
        match node:
            case ast.TriplePattern(ast.Blank() as blank, ast.Iri(value)) if value == ast.REIFIES:
                hint = "name the reifier, as in ~ ?reifier, and find it by DELETE ... WHERE"
            case ast.Blank() as blank:
                hint = "find it by DELETE ... WHERE"
            case _:
                continue
        raise QueryCheckError("a blank node here names nothing in the knowledge base", hint=hint, span=blank.span)


def _new_labels(nodes: Sequence[ast.Syntax], labels: set[str]) -> set[str]:
    """The labels of the blank nodes of an INSERT DATA; `labels` are those of others before it."""
    new: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Blank):
            if node.label in labels:
                raise QueryCheckError(
                    f"the blank node label '_:{node.label}' stands in two INSERT DATA of one update",
                    hint="put its triples into one INSERT DATA, or give the second node a label of its own",
                    span=node.span,
                )
            new.add(node.label)
    return new


def _nodes_of(quads: tuple[ast.QuadTemplate, ...]) -> list[ast.Syntax]:
    """The syntax nodes of templates, in the order of the text, without IRIs and literals in triples: no rule is about
    these, and DATA may have thousands.
    """
    nodes: list[ast.Syntax] = []
    for block in quads:
        nodes.append(block)
        for triple in block.triples:
            nodes.append(triple)
            for part in (triple.subject, triple.predicate, triple.object):
                if type(part) not in _CONSTANTS:
                    nodes += walk(part)
        if block.graph is not None:
            nodes.append(block.graph)
    return nodes


_CONSTANTS = frozenset((ast.Iri, ast.Lit))
