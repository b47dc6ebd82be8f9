"""Generations: immutable builds of a knowledge base, switched atomically."""
