"""Small source folders of datasets, as the data folder has them, and questions to what is made of them."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

from hybridkg.datasets import DATASETS
from hybridkg.datasets.fb15k import FB
from hybridkg.kb import KnowledgeBase

CRANFIELD = {
    "documents": """<doc>
<docno>1</docno>
<title>lift of a wing .</title>
<author>brenckman,m.</author>
<bib>j. ae. scs. 25, 1958</bib>
<text>lift of a wing .
 the slipstream &amp; the wing</text>
</doc><doc>
<docno>2</docno>
<title>heat of a plate .</title>
<author></author>
<bib></bib>
<text>heat of a plate .</text>
</doc>
""",
    "queries": """<?xml version='1.0'?><xml>
<top><num> 4</num><title>
what of
wings</title></top>
<top><num> 1</num><title>what of heat</title></top></xml>
""",
    "qrels": "1 0 1 1\n2 0 2 3\n2 0 1 0\n",
}

CACM = {
    "documents": """.I 1
.T
Virtual
Memory
.W
On paging.
.B
CACM JUly, 1966
.A
Knuth, D. E.
Arden,  B.
.K
paging, demand
paging,  thrashing
.C
4.22, None 4.3
.N
CA660701
.X
1\t5\t1
2\t5\t1
2\t5\t1
2\t4\t1
.I 2
.T
.B
CACM May 1967
.A
Knuth, D. E.
.X
1\t5\t2
1\t4\t2
.
""",
    "queries": ".I 1\n.W\n paging\n in memory\n.A\nKnuth\n.N\n 1.\n\n.I 2\n.W\n nothing\n.I 0\n",
    "qrels": "01 0002  0 0\n",
}

FB15K = {
    "entities": "mid\tname\tdescription\n/m/0a\tAda Film\tA film about Ada.\n/m/0b\tActor-GB\t\n"
    "/m/0c\tBo Bell\tAn actor.\n",
    "relations": "/film/actor/film./film/performance/film\tfilm actor film. film performance film\n"
    "/people/person/profession\tpeople person profession\n",
    "train": "/m/0c\t/film/actor/film./film/performance/film\t/m/0a\n",
    "valid": "/m/0c\t/people/person/profession\t/m/0b\n",
    "test": "\n",
    "numeric": f"/m/0c\t{FB}people.person.date_of_birth\t1964.0\n",
    "sameas": '/m/0c\thttp://dbpedia.org/resource/Robert_"Bo"_Bell/redirects\n/m/0a\thttp://dbpedia.org/resource/9/11\n',
    "qrels": "QALD2_te-1\t0\t/m/0c\t2\nTREC_Entity-2\t0\t/m/0a\t1\nQALD2_te-1\t0\t/m/0a\t0\n",
    "stopped": "TREC_Entity-2\tfilm  Ada\nINEX_LD-9\telse\nQALD2_te-1\tactor film Ada\n",
    "unstopped": "TREC_Entity-2\tfilm of Ada\nQALD2_te-1\tWho is an actor in a film of Ada?\n",
    "folds": json.dumps({"0": {"training": ["INEX_LD-9", "QALD2_te-1"], "testing": ["TREC_Entity-2"]}}),
    "folds-SemSearch_ES": '{"0": {"training": [], "testing": []}}',
    "folds-INEX_LD": '{"0": {"training": ["INEX_LD-9"], "testing": []}}',
    "folds-ListSearch": '{"0": {"training": [], "testing": ["TREC_Entity-2"]}}',
    "folds-QALD2": '{"0": {"training": ["QALD2_te-1"], "testing": []}}',
}

METAQA_TRIPLE = '{"question": "who made [Heat]", "triples": [{"h": "Heat", "r": "directed_by", "t": "Ann"}]}\n'

METAQA = {
    "graph": "Heat\tdirected_by\tAnn\nHeat\trelease_year\t1995\nCold\tdirected_by\tAnn\nCold\thas_tags\tHeat\n",
    "dev1": "who made [Heat]\tAnn\n",
    "dev1-types": "movie_to_director\n",
    "dev2": "films like [Cold] by  director\tHeat\n",
    "dev2-types": "movie_to_director_to_movie\n",
    "dev3": "when were films by the director of [Cold] released\t1995\n",
    "dev3-types": "movie_to_director_to_movie_to_year\n",
    "test1": "[Heat] is in\tCold\n[Ann] made what\tHeat|Cold\n",
    "test1-types": "tag_to_movie\ndirector_to_movie\n",
    "test2": "in which years are films of [Ann]\t1995\n",
    "test2-types": "director_to_movie_to_year\n",
    "test3": "years of films by who made [Cold]\t1995\n",
    "test3-types": "movie_to_director_to_movie_to_year\n",
    "dev-triples": METAQA_TRIPLE,
    "test-triples": METAQA_TRIPLE.replace("directed_by", "has_tags [inverse]").replace("Ann", "Cold"),
}

SMALL = {"cranfield": CRANFIELD, "cacm": CACM, "fb15k-dbpedia-entity": FB15K, "metaqa": METAQA}


def lay_out(folder: Path, name: str, files: dict[str, str]) -> Path:
    """The files of a dataset as the data folder has them."""
    for key, place in DATASETS.get(name).files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(files[key].encode()) if path.suffix == ".xz" else files[key].encode())
    return folder


def answers(dataset: Path, query: str) -> list[list[str]]:
    with KnowledgeBase.open(dataset / "kb") as kb:
        return [[str(row[name]) for name in ("a", "b") if name in row] for row in kb.query(query)]
