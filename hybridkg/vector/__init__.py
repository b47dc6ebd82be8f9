"""Vectors: encoders, and indexes of the vectors that they make."""
