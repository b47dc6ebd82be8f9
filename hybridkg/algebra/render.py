"""Text of a logical plan, for EXPLAIN, golden tests and examples."""

from __future__ import annotations

from hybridkg.algebra import nodes
from hybridkg.query import ast
from hybridkg.query.write import write


def render(plan: nodes.Plan, prefixes: tuple[tuple[str, str], ...] = ()) -> str:
    """One node per line, children indented by two spaces, with a newline at the end."""
    return "".join(f"{'  ' * depth}{_line(node, dict(prefixes))}\n" for depth, node in _nodes(plan, 0))


def _nodes(plan: nodes.Plan, depth: int) -> list[tuple[int, nodes.Plan]]:
    below = [pair for child in nodes.children(plan) for pair in _nodes(child, depth + 1)]
    if isinstance(plan, nodes.MatchEach):
        below.append((depth + 1, plan.match))
    return [(depth, plan), *below]


def _line(plan: nodes.Plan, prefixes: dict[str, str]) -> str:
    def text(node: ast.Syntax) -> str:
        return " ".join(write(node, prefixes=prefixes).split())

    def names(columns: tuple[str, ...]) -> str:
        return " ".join(f"?{name}" for name in dict.fromkeys(columns))

    kind = type(plan).__name__
    match plan:
        case nodes.Fragment(group, dataset, kept, counted):
            count = [f"counted by {names(tuple(sorted(kept or ())))}"] if counted else []
            return " ".join([kind, text(group), *(f"FROM <{clause.graph.value}>" for clause in dataset), *count])
        case nodes.SparqlQuery(form):
            return f"Oxigraph {text(form)}"
        case nodes.Match(match, score, _):
            return f"{kind} {text(match)}" + ("" if match.score else f" as ?{score}")
        case nodes.LeftJoin(_, _, conditions, _):
            return " ".join([kind, *(f"if {text(condition)}" for condition in conditions)])
        case nodes.Filter(_, condition, _):
            return f"{kind} {text(condition)}"
        case nodes.Extend(_, variable, expression, _):
            return f"{kind} ?{variable} := {text(expression)}"
        case nodes.Group(_, keys, having, projection):
            parts = [kind, "by", *(text(key.expression) for key in keys)] if keys else [kind]
            parts += [f"having {text(condition)}" for condition in having]
            shown = (
                f"?{item.variable.name}" + (f" := {text(item.expression)}" if item.expression else "")
                for item in projection
            )
            return f"{' '.join(parts)} -> {', '.join(shown)}"
        case nodes.Rank(_, expression, score, _, ties):
            return f"{kind} ?{score} := {text(expression)} desc, then {names(ties)}"
        case nodes.OrderBy(_, order, ties):
            keys_text = ", ".join(f"?{name}{' desc' if down else ''}" for name, down in order)
            return f"{kind} {keys_text}" + ("" if ties is None else f", then {names(ties)}")
        case nodes.Project(_, columns, distinct, _):
            return f"{'Distinct' if distinct else kind} {names(columns)}"
        case nodes.Slice(_, offset, limit):
            return f"{kind} offset={offset}" + ("" if limit is None else f" limit={limit}")
        case nodes.Snippet(_, match):
            snippet = match.match.snippet
            return f"{kind} ?{snippet.name if snippet else ''} of ?{match.match.entity.name}"
        case nodes.Rerank(_, clause, entity, score):
            by = text(clause.reranker)
            return f"{kind} top={clause.top} ?{entity} by {by} as ?{score}"
        case nodes.GraphEach(_, variable, placeholder, _):
            return f"{kind} ?{variable} as {text(placeholder)}"
        case nodes.Construct(_, template):
            return f"{kind} {text(ast.Group((ast.Triples(template),)))}"
        case nodes.Describe(_, subjects, _):
            return " ".join([kind, *map(text, subjects)])
    return kind
