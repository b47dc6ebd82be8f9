"""The graph on disk: Oxigraph, the reading of RDF, generations of the knowledge base, and graphs at an endpoint."""
