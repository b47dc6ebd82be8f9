"""Text documents that are not in the graph, kept compressed in `documents/`."""
