"""A graph that lies at a SPARQL endpoint."""
