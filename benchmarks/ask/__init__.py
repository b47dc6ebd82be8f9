"""How well questions in plain words become queries (docs/asking.md): python -m benchmarks.ask"""
