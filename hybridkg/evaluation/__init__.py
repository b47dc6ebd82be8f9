"""Evaluation of rankings: topics, judgements, runs, measures, significance, tuning and experiments."""
