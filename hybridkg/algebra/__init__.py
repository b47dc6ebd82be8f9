"""Logical plans: what a query means, before anyone decides how to run it."""
