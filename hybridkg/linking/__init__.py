"""Entity linking: the nodes of the graph that a text mentions, and their neighbours, for `USING elr(...)`."""
