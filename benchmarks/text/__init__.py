"""The embedded text engine at DBpedia's size: `python -m benchmarks.text`."""
