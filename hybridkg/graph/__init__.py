"""The projection: the graph as sorted adjacency arrays over ids, derived from the store."""
