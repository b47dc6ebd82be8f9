"""DBpedia-Entity v2, from the dumps of DBpedia 2015-10 and the files of the collection.

Dumps become spills of triples by subject (partition.py), spills become text documents and N-Triples (entities.py), and
those a knowledge base (making.py). The rules are ontologies/dbpedia/index-*.toml (rules.py).
"""
