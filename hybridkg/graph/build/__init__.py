"""The builder of the projection: from N-Quads to sorted adjacency arrays, in bounded memory."""
