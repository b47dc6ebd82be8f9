"""The text index that lives in Elasticsearch: the same terms, the same scores, another machine."""
