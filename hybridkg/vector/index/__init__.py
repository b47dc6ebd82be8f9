"""Vector indexes: exact search with 8-bit codes, and HNSW."""
