"""Durable files and memory-mapped arrays."""
