"""Hybrid queries on a MAG-like graph, beside the databases that can answer them: `python -m benchmarks.hybrid`."""
