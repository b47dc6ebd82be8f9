"""Profiles: the parts of a graph that are the text of an entity, by field."""
