"""Runnable measurements: `python -m benchmarks.NAME`; results are stored in benchmarks/results/NAME.json."""
