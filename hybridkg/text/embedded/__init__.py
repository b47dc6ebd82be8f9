"""The text index that lives in the knowledge base folder: memory-mapped postings, no server."""
