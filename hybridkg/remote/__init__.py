"""Servers of other makers: credentials, model servers, Elasticsearch."""
