"""Readers of table files, one a format."""
