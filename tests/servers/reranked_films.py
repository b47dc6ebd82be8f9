"""Queries over the films whose rows are reranked, and weights for it."""

from __future__ import annotations

import json

FOUND = 'SELECT ?f ?s ?r { ?f MATCH "space crew mars" AS ?s } RANK BY ?s '
WEIGHTS = {"score s": 0.5, "length label": -1.0}
PREFIX = "PREFIX : <http://example.org/films/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "


def weights(folder, name, values):
    text = json.dumps({"format": "hybridkg features", "version": 1, "weights": values})
    (folder / "models" / name).write_text(text)


def names(result):
    return [str(row["f"]).rpartition("/")[2] for row in result]
