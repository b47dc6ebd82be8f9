"""Protocols between the engine and its stores, indexes and models, with the registries of their implementations."""
