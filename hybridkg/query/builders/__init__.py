"""Builders of the syntax tree, called while the text is parsed.

Each method has the name of a grammar rule (or of the alias of one of its alternatives) and is called when the parser
has read it, with the values `c` of all its symbols, tokens included, and the offsets of its text. There is no parse
tree, so no deep tree is traversed. A rule without a method passes on the value of its only symbol; a rule in LISTS
collects the values of its symbols.
"""

from __future__ import annotations

from hybridkg.query.builders.updates import Updates

LISTS = frozenset(
    {"annotations", "arguments_of_model", "data_rows", "data_values", "dataset_clauses", "expressions",
     "field_arguments", "graph_nodes", "group_conditions", "having_conditions", "negated_parts", "numbers", "objects",
     "on_fields", "operations", "order_conditions", "path_alternatives", "path_steps", "projections", "property_list",
     "rank_arguments", "subjects", "triples_list", "union_branches", "using_clauses", "variables"}
)  # fmt: skip
"""Rules whose value is the list of the values of their symbols, without tokens."""

TRANSPARENT = frozenset({"bracketed", "single_group", "group_body"}) | LISTS
"""Rules that add no level to the tree."""


class Builder(Updates):
    """Builder of one query or update; each text needs a new one, because it holds the prefixes."""
