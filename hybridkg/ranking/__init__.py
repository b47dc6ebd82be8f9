"""Making one ranking of several."""
