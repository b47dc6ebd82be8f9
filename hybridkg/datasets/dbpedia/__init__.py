"""DBpedia-Entity v2 out of the dumps of DBpedia 2015-10 and the files of the collection.

Dumps become buckets of triples by subject (partition.py), buckets become text documents and N-Triples (entities.py),
and those a knowledge base (making.py). What goes where is written in ontologies/dbpedia/index-*.toml (rules.py).
"""
