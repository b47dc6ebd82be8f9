"""Visible MATCHes, which reach the rows of a plan; they provide scores, tie-breakers and ranks."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.errors import UnsupportedQueryError
from hybridkg.query import ast
from hybridkg.query.walk import walk


def visible_matches(plan: nodes.Plan) -> list[nodes.Match]:
    """The MATCHes whose relation can reach the rows of the plan, in the order of the text."""
    match plan:
        case nodes.Match():
            return [] if plan.is_test else [plan]
        case nodes.Minus(left, _):
            return visible_matches(left)
        case nodes.MatchEach(child, match):
            return [*visible_matches(child), match]
        case nodes.Group() | nodes.Construct() | nodes.Describe():
            return []
        case nodes.Project(child, columns, _, hidden):
            return [m for m in visible_matches(child) if m.score in columns or m.score in hidden]
    matches: list[nodes.Match] = []
    for child in nodes.children(plan):
        matches += visible_matches(child)
    return matches


def scores_of(plan: nodes.Plan) -> frozenset[str]:
    """The score variables of the MATCHes that reach the rows."""
    return frozenset(match.score for match in visible_matches(plan))


def subjects_of_lists(plan: nodes.Plan, expression: ast.Expression) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The entity variables of each score that a rank function reads: one, or one for each branch of a UNION."""
    lists = {node.score for node in walk(expression) if isinstance(node, ast.RankedList)}
    subjects: dict[str, tuple[str, ...]] = {}
    for score in sorted(lists, key=lambda variable: variable.name):
        entities = dict.fromkeys(m.match.entity.name for m in visible_matches(plan) if m.score == score.name)
        if len(entities) > 1:
            raise UnsupportedQueryError(
                f"?{score.name} is the score of {' in one branch, of '.join(f'?{n}' for n in entities)} in another, "
                "so nothing has one rank",
                hint="give the entity the same name in every branch, or each branch a score of its own",
                span=score.span,
            )
        for entity in entities:
            if entity not in plan.variables:
                raise UnsupportedQueryError(
                    f"?{score.name} ranks ?{entity}, which its sub-select does not project",
                    hint=f"add ?{entity} to the columns of the sub-select",
                    span=score.span,
                )
        subjects[score.name] = tuple(entities)
    return tuple(subjects.items())


def first_subject(plan: nodes.Plan) -> tuple[str, ...]:
    """The entity of the first ranked predicate in the text; empty if there is none."""
    matches = sorted(visible_matches(plan), key=lambda m: m.match.span.start)
    return tuple(m.match.entity.name for m in matches[:1])
