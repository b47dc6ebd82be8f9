"""Late interaction: texts as one vector for each token, compared token by token."""
