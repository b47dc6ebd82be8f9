"""Encoders: texts in, vectors out."""
