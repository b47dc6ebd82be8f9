"""Ranking models, one file each, named in interfaces/ranking_model.py."""
