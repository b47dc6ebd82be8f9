"""What every index on an Elasticsearch server needs: the connection, a new index, its documents, its pages."""
