"""Top-k ranking over postings: block-max pruning, the windowed and the small-query kernels."""
