"""Tables as RDF: readers of table files, the guess of a mapping, and the triples of a mapping."""
