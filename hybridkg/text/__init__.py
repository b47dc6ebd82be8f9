"""Text retrieval: analysis, ranking models, query strings, the embedded index, Elasticsearch and snippets."""
