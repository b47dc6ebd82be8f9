"""Text documents outside the graph, compressed in `documents/`."""
