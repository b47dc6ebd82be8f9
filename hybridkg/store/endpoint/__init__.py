"""A graph at a SPARQL endpoint."""
