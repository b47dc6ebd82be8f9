"""Semantic checks of a parsed query: scope, grouping, names of models and fields."""
