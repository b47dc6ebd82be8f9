"""Parameters: values that a query gets before it runs."""
