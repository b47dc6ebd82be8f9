"""Access to servers: credentials, model servers, Elasticsearch."""
