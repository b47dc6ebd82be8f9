"""Judges rankings: topics, judgements, runs, measures, and whether a difference means anything."""
