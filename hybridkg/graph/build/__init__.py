"""The builder of the projection: N-Quads in, sorted adjacency arrays out, in bounded memory."""
