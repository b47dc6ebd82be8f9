"""Text: analysis, the embedded index, ranking models, query strings and passages."""
