"""The law of updates: after any changes, a knowledge base is the one that is built from scratch.

`assert_equals_rebuilt(kb, folder)` builds it from the quads and documents, and compares the answers of a pool of
queries, to the bits of the scores, and the files of the indexes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from shutil import copyfile
from typing import Any
from unittest.mock import patch

from hybridkg import KnowledgeBase
from hybridkg.entities.documents.change_documents import change_documents
from hybridkg.errors import HybridkgError
from hybridkg.interfaces.progress import SILENT
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.kb import second_look
from hybridkg.kb.write.configured import configured_profile
from hybridkg.kb.write.index_step import IndexStep
from hybridkg.rdf.terms import NamedNode, Quad
from hybridkg.store.generations.folder import Folder

E = "http://e/"
PROLOGUE = f"PREFIX : <{E}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

INDEX_FILES = ("projection/*", "text/*", "vectors/*", "nodes.*", "statistics.json")
"""Files that an index step writes."""

TEXTS = ("red", "fish boat", "red fish blue", "häuser", "the boat", "2001", "fresh", "films")
STRINGS = (
    r"\"red fish\"", r"\"fish red boat\"~3", "re*", "fsh~1", "+red -boat", "+(red blue) fish^2", r"\"the boat\" -re*",
    "bleu~2 boa*^0.5", "20*", r"+\"a red\"",
)  # fmt: skip
GRAPH = (
    "SELECT * { ?s ?p ?o } ORDER BY ?s ?p ?o",
    "SELECT * { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?s ?p ?o",
    "SELECT ?p (COUNT(*) AS ?n) (COUNT(DISTINCT ?o) AS ?m) { ?s ?p ?o } GROUP BY ?p ORDER BY ?p",
    "SELECT ?c (AVG(?y) AS ?mean) (MAX(?y) AS ?last) { ?s a ?c ; :year ?y } GROUP BY ?c ORDER BY DESC(?mean) ?c",
    "SELECT ?a ?b { ?a :next+ ?b } ORDER BY ?a ?b",
    "SELECT ?a ?b { ?a :next* ?b } ORDER BY ?a ?b",
    "SELECT ?a ?b { ?a :next?/^:by ?b } ORDER BY ?a ?b",
    "SELECT ?a ?b { ?a (:next|^:by)+ ?b } ORDER BY ?a ?b",
    "SELECT ?a ?p ?b { ?a !(:next|a|^:by) ?b } ORDER BY ?a ?b",
    "SELECT ?a ?y { ?a :year ?y FILTER(?y > 2000) } ORDER BY DESC(?y) ?a",
    "SELECT ?a ?w { ?a :when ?w FILTER(?w >= '2001-01-01'^^xsd:date) } ORDER BY ?w ?a",
    "SELECT ?a ?l { ?a rdfs:label ?l FILTER(LANG(?l) = 'de') } ORDER BY ?l ?a",
    "SELECT ?a ?b ?c { ?a :next ?b . ?b :next ?c . ?a :by ?p OPTIONAL { ?c :year ?y } } ORDER BY ?a ?b ?c",
    "SELECT ?a { ?a :by ?p MINUS { ?a :next ?b } FILTER NOT EXISTS { ?b :next ?a } } ORDER BY ?a",
    "ASK { ?a :by ?b . ?b :by ?c }",
    "CONSTRUCT { ?b :from ?a } WHERE { ?a :next ?b } ORDER BY ?a ?b",
)
JOINED = (
    'SELECT ?x ?y ?s { ?x MATCH "red fish" AS ?s . ?x :next ?y } RANK BY ?s',
    'SELECT ?x ?s ?t { ?x MATCH "red" AS ?s OPTIONAL { ?x MATCH "boat" USING lm AS ?t } } RANK BY rrf(?s, ?t)',
    'SELECT ?x ?s ?y { ?x MATCH "fish" AS ?s . ?x :year ?y FILTER(?y >= 2000) } RANK BY ?s LIMIT 3',
    'SELECT ?c (SUM(?s) AS ?all) { ?x MATCH "red blue" AS ?s . ?x a ?c } GROUP BY ?c RANK BY SUM(?s)',
    'SELECT ?x ?y { ?x MATCH "red" . ?x :next+ ?y . ?y MATCH "fish" AS ?s } RANK BY ?s',
    'SELECT ?x ?s ?p { ?x MATCH "red boat" AS ?s SNIPPET ?p } RANK BY ?s LIMIT 4',
    'SELECT ?x ?s { ?x MATCH "red" TOP 2 AS ?s FILTER NOT EXISTS { ?x MATCH "blue" } } RANK BY ?s',
    'SELECT ?g ?x ?s { GRAPH ?g { ?x :next ?y . ?x MATCH "red" AS ?s } } RANK BY ?s',
)
NEAR = (
    'SELECT ?x ?s { ?x NEAR "red fish" AS ?s } RANK BY ?s',
    "SELECT ?x ?s { ?x NEAR :a AS ?s } RANK BY ?s LIMIT 3",
    'SELECT ?x ?s ?y { ?x NEAR "boat" WITHIN 0.1 AS ?s . ?x :next ?y } RANK BY ?s',
    "SELECT ?x ?y ?s { ?x :next ?y . ?x NEAR ?y AS ?s } RANK BY ?s",
    'SELECT ?x ?s ?t { ?x NEAR "red" AS ?s . ?x MATCH "red" AS ?t } RANK BY tmm(?s) + tmm(?t)',
)


def queries(kb: KnowledgeBase) -> list[str]:
    """The pool for the fields and languages that the index of a knowledge base has."""
    text = kb._snapshot.text
    found = list(GRAPH)
    if text is None:
        return found
    for n, name in enumerate(RANKING_MODELS.names()):
        for words in (TEXTS[n % len(TEXTS)], TEXTS[(n + 3) % len(TEXTS)], STRINGS[n % len(STRINGS)]):
            found += [f'SELECT ?x ?s {{ ?x MATCH "{words}" USING {name} AS ?s }} RANK BY ?s']
    found += [f'SELECT ?x ?s {{ ?x MATCH "{words}" AS ?s }} RANK BY ?s' for words in (*TEXTS, *STRINGS)]
    for field in text.fields:
        found.append(f'SELECT ?x ?s {{ ?x MATCH ALL "red boat" ON ({field}^2) AS ?s }} RANK BY ?s')
        found.append(f'SELECT ?x ?s {{ ?x MATCH "fish re*" ON ({field}) USING mlm AS ?s }} RANK BY ?s LIMIT 3')
        found += [
            f'SELECT ?x ?s {{ ?x MATCH "red häuser" ON ({field}@{language}) AS ?s }} RANK BY ?s'
            for language in ("en", "de")
        ]
    return found + list(JOINED) + (list(NEAR) if kb._snapshot.vectors is not None else [])


def answer(kb: KnowledgeBase, query: str) -> Any:
    """Rows in their order, with the bits of the scores, and the codes of the warnings; or the error.

    The look for the reason of a blank cell (W117) takes the time that it needs: a busy machine, or another query in an
    orphaned thread, would cut it off in one of two knowledge bases.
    """
    try:
        with patch.multiple(second_look, LOOK_S=100.0, MAX_RUN_S=100.0, count_orphans=lambda: 0):
            result = kb.query(PROLOGUE + query)
    except HybridkgError as e:
        return type(e).__name__, e.message
    if result.boolean is not None:
        return result.boolean
    rows = []
    for row in result:
        scores = {**row.scores, "": row.rank_score}
        bits = [None if one is None else struct.pack("<d", one) for one in scores.values()]
        rows.append((*(str(row.term(name)) for name in result.columns), *zip(scores, bits, strict=True)))
    return result.columns, rows, sorted(warning.code for warning in result.warnings)


# --- the knowledge base from scratch ----------------------------------------------------------


def quads_of(kb: KnowledgeBase) -> frozenset[Quad]:
    """Every quad of the open generation, with the labels of its blank nodes."""
    return frozenset(kb._snapshot.store.quads())


def documents_of(kb: KnowledgeBase) -> dict[str, dict[str, list[str]]]:
    """Every text that is not in the graph, by entity and field."""
    documents = kb._snapshot.documents
    found: dict[str, dict[str, list[str]]] = {}
    for field in documents.fields() if documents else ():
        for node, texts in documents.stream(field):
            found.setdefault(node.value, {})[field] = texts
    return found


def built_from(quads: Iterable[Quad], documents: dict[str, Any], like: Path, folder: Path) -> KnowledgeBase:
    """A knowledge base with the settings of another one, built in one step; blank nodes keep their labels."""
    folder.mkdir(parents=True)
    copyfile(like / "kb.toml", folder / "kb.toml")
    fresh = Folder(folder)
    step = IndexStep.of(fresh, configured_profile(fresh))
    with fresh.building() as building:
        store = building.writable_graph()
        store.extend(sorted(quads, key=str))
        building.counts["quads"] = len(store)
        store.flush()
        store.optimize()
        del store
        building.is_compact = True
        if change_documents(documents, None, building.path / "documents").entities:
            building.changed("documents")
        step.run(building, SILENT)
    return KnowledgeBase.open(folder)


def index_files(kb: KnowledgeBase, leave_out: Sequence[str] = ()) -> dict[str, bytes]:
    """The files of the indexes by name, without those of some patterns."""
    root = kb._snapshot.generation.path
    names = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file()]
    return {
        name: (root / name).read_bytes()
        for name in names
        if any(fnmatchcase(name, pattern) for pattern in INDEX_FILES)
        and not any(fnmatchcase(name, pattern) for pattern in leave_out)
    }


def assert_equals_rebuilt(
    kb: KnowledgeBase, folder: Path, *, leave_out: Sequence[str] = (), pool: Sequence[str] | None = None
) -> None:
    """Compares a knowledge base, whose index is up to date, with one that is built from its quads and documents.

    Args:
        kb: the knowledge base.
        folder: for the other one; must not exist.
        leave_out: patterns of files of the indexes that need not be equal, such as `text/*`; `*` for all.
        pool: queries to compare; default: `queries(kb)`.
    """
    with built_from(quads_of(kb), documents_of(kb), kb._folder.path, folder) as fresh:
        assert quads_of(fresh) == quads_of(kb)
        assert documents_of(fresh) == documents_of(kb)
        assert fresh.stats()["triples"] == kb.stats()["triples"]
        assert queries(fresh) == queries(kb)
        for query in queries(kb) if pool is None else pool:
            assert answer(kb, query) == answer(fresh, query), query
        ours, theirs = index_files(kb, leave_out), index_files(fresh, leave_out)
        assert ours.keys() == theirs.keys()
        other = [name for name in ours if ours[name] != theirs[name]]
        assert other == [], other


def entity(name: str) -> NamedNode:
    """The node of a local name."""
    return NamedNode(E + name)
