"""Synthesis of questions with known answers from a knowledge base and relational templates.

Source: Wu et al., "STaRK: Benchmarking LLM Retrieval on Textual and Relational Knowledge Bases" (NeurIPS 2024), section
4 and appendix A. The templates are not part of the reader of STaRK's files, because they work with any knowledge base.
"""
