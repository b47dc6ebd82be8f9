"""RDF terms, namespaces and solution tables: the vocabulary of every layer above."""
