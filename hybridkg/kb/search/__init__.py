"""The search box: plain words and conditions in, one row an entity out; a query of HybridQL is between them.

`search` (run.py) writes the query (queries.py) and runs it by `kb.query`, so every answer has its query.
"""
