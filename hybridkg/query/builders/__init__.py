"""Build the syntax tree while the text is parsed.

Each method carries the name of a grammar rule (or of the alias behind one of
its alternatives) and is called when the parser has read it, with the values of
all its symbols, tokens included, and the offsets it covers. There is no parse
tree, so nothing deep is ever walked. A rule without a method passes the value
of its only symbol on; a rule in LISTS collects the values of its symbols.
"""

from __future__ import annotations

from hybridkg.query.builders.queries import Queries

LISTS = frozenset(
    {
        "arguments_of_model",
        "data_rows",
        "data_values",
        "dataset_clauses",
        "expressions",
        "field_arguments",
        "graph_nodes",
        "group_conditions",
        "having_conditions",
        "negated_parts",
        "objects",
        "numbers",
        "on_fields",
        "order_conditions",
        "path_alternatives",
        "path_steps",
        "projections",
        "rank_arguments",
        "property_list",
        "subjects",
        "triples_list",
        "union_branches",
        "variables",
    }
)
"""Rules whose value is the list of the values of their symbols, without tokens."""

TRANSPARENT = frozenset({"bracketed", "single_group", "group_body"}) | LISTS
"""Rules that add no level to the tree."""


class Builder(Queries):
    """Builds one query; made anew for each text, because it holds the prefixes."""
