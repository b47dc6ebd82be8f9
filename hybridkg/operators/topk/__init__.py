"""Top-k operators: the family around `TopKRows`, one for each strategy."""
