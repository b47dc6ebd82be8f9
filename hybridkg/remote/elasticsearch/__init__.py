"""Shared parts of the indexes on an Elasticsearch server: connection, index creation, bulk indexing, paging."""
