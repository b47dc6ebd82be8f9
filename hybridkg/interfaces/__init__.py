"""Protocols: what the planner and the facade may ask of a store, an index, a model. One file each."""
