"""The vector index `elasticsearch`: vectors in an index of a cluster, which compares them."""
