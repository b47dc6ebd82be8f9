"""Patterns over the columns of ids: sets of candidates by semi-joins, and rows by joins.

The answers are those of Oxigraph, duplicates included (tests/graph/match/test_patterns_equal_oxigraph.py); what cannot be
answered so is declined when a pattern is prepared.
"""
