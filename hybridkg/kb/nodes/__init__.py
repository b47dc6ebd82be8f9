"""Nodes for people: found by IRI or name (resolve.py), described (node_view.py), walked from (paths.py)."""
