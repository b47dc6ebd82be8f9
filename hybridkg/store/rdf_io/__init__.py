"""Reading RDF files into the store."""
