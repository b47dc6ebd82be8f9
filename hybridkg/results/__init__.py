"""The result of a query, its explanations, and its formats."""
