"""What a query answers with."""
