"""Fusion of several rankings into one, and rerankers."""
