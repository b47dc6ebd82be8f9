"""Ranking models, one file each, registered in interfaces/ranking_model.py."""
