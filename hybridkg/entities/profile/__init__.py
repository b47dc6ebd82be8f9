"""Profiles: which parts of a graph are the text of an entity, and in which fields."""
