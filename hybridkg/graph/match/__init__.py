"""Graph patterns over the id columns: candidate sets by semi-joins, rows by joins.

Answers equal Oxigraph's, duplicates included (tests/graph/match/test_patterns_equal_oxigraph.py). A pattern that cannot
be answered so is declined when it is compiled.
"""
