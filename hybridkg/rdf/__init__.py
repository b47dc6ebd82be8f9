"""RDF terms, namespaces and solution tables: the vocabulary that every layer above speaks."""
