"""Judged collections as ready knowledge bases, by name. A new one is one module, one line here, and a profile.

A `Recipe` (recipe.py) names the files of a collection and turns them into triples, topics and judgements;
`make_dataset` (building.py) does the rest.
"""

from __future__ import annotations

from hybridkg.registry import Registry

DATASETS = Registry(
    "dataset",
    "hybridkg.datasets",
    {
        "cacm": "hybridkg.datasets.cacm:CACM",
        "cranfield": "hybridkg.datasets.cranfield:CRANFIELD",
        "dbpedia-entity-v2": "hybridkg.datasets.dbpedia.collection:DBPEDIA_ENTITY_V2",
        "fb15k-dbpedia-entity": "hybridkg.datasets.fb15k:FB15K_DBPEDIA_ENTITY",
        "metaqa": "hybridkg.datasets.metaqa:METAQA",
        "stark": "hybridkg.datasets.stark.making:STARK",
    },
)
