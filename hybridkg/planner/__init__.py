"""Chooses how to run a logical plan, and explains the choice."""
