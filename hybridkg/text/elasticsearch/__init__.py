"""The text index in Elasticsearch: the same terms and scores as the embedded index, on a server."""
