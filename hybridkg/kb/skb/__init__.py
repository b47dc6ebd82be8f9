"""Figures of a knowledge base as a semi-structured one (SKB): entities with types, relations between them, and text.

Source: Wu et al., "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases" (NeurIPS 2024), whose
tables describe its knowledge bases and questions by them.
"""
