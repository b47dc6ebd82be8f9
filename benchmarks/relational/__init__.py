"""Questions without ranks, around ranks and over the whole graph, beside Oxigraph, DuckDB, Kuzu and bare arrays."""
