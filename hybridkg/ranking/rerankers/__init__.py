"""Rerankers: models that score the first rows of a ranking."""
