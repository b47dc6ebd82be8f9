"""Parameters: values that are bound to variables before the query runs."""
