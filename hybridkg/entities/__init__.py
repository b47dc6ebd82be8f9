"""Entities: their text by field from graph and documents, the profile that defines it, and their dense ids."""
