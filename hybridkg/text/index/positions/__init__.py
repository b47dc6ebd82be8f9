"""Positions: phrases, proximity and word pairs."""
