"""Built-in strategies: all return the same rows in the same order."""
