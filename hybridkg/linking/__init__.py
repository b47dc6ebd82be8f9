"""Which nodes of the graph a text mentions, and what the graph says of them: what `USING elr(...)` adds to words."""
