"""Rerankers: each scores the first rows of a ranking."""
