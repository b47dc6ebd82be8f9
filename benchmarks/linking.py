"""The linker on the queries of DBpedia-Entity v2 over FB15k-237, beside published annotations of the same queries.

    python -m benchmarks.linking [--kb KB]

The knowledge base is that of `hybridkg dataset fb15k-dbpedia-entity` (made anew unless --kb names one). Everything
is restricted to its entities, to which the links of the others are mapped by owl:sameAs and by the redirects that
come with GEEER. Two truths: `entities`, what GEEER's annotators chose (geeer_annotated_ELQ), and `entities and
concepts` (geeer_annotated_total). Both were chosen from what TAGME, REL, SMAPH and Nordlys had found: that is in
favour of these four, most of all in the second. Precision and recall are over all links of all queries together
("micro"), at each system's links of a least confidence; and once as means over the queries ("macro"), where a query
without links in truth and answer counts 1, as in ERD.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from benchmarks.record import record
from hybridkg import KnowledgeBase
from hybridkg.linking.annotations import read_annotations
from hybridkg.linking.source import LinkSource

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
COLLECTION = DATA / "dbpedia-entity-v2"
GEEER = COLLECTION / "geeer-annotations"
TRUTHS = {"entities": "geeer_annotated_ELQ.csv", "entities and concepts": "geeer_annotated_total.csv"}
OTHERS = {
    "TAGME (GEEER)": GEEER / "geeer_conf_tagme.csv",
    "TAGME (ELR)": COLLECTION / "elr-v1/data/tagme_annotations.json",
    "Nordlys": GEEER / "geeer_conf_nordlys.csv",
    "REL": GEEER / "geeer_conf_rel.csv",
    "SMAPH": GEEER / "geeer_conf_smaph.csv",
    "DBpedia Spotlight (KEWER)": COLLECTION / "kewer/entity-extraction/query-entities.json",
}
THRESHOLDS = (0.1, 0.2, 0.3, 0.5)
OURS = "hybridkg"

Confidences = Mapping[str, Mapping[str, float]]
"""topic -> entity -> confidence."""


def mapper(kb: KnowledgeBase) -> Any:
    """A function from a file of annotations to the entities of the knowledge base."""
    same: dict[str, list[str]] = {}
    for mid, other in kb._snapshot.store.select("SELECT ?s ?o { ?s <http://www.w3.org/2002/07/owl#sameAs> ?o }").rows:
        same.setdefault(unquote(other.value), []).append(mid.value)
    older: dict[str, list[str]] = {}
    for line in (GEEER / "wikipedia_redirect.csv").read_text(encoding="utf-8").splitlines()[1:]:
        before, _, after = line.partition(",")[2].partition(">,")
        names = (before.lstrip('"').removeprefix("<dbpedia:"), after.strip('"').removeprefix("ENTITY/"))
        old, new = (f"http://dbpedia.org/resource/{name}" for name in names)
        older.setdefault(new, []).append(old)

    def mapped(path: Path) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for topic, links in read_annotations(path).items():
            held = found.setdefault(topic, {})
            for link in links:
                iri = unquote(link.node)
                for name in (iri, *older.get(iri, ())):
                    for mid in same.get(name, ()):
                        held[mid] = max(held.get(mid, 0.0), link.confidence)
        return found

    return mapped


def measured(truth: Confidences, answers: Confidences, least: float) -> dict[str, float]:
    """Precision, recall and F1 over all links, and the mean F1 of the queries."""
    right = said = wanted = 0
    each: list[float] = []
    for topic, gold in truth.items():
        answer = {entity for entity, confidence in answers.get(topic, {}).items() if confidence >= least}
        hits = len(answer & gold.keys())
        right, said, wanted = right + hits, said + len(answer), wanted + len(gold)
        each.append(2 * hits / (len(answer) + len(gold)) if answer or gold else 1.0)
    return {
        "links": said,
        "precision": round(right / max(1, said), 3),
        "recall": round(right / wanted, 3),
        "f1": round(2 * right / (said + wanted), 3),
        "macro_f1": round(statistics.mean(each), 3),
    }


def linked(kb: KnowledgeBase, queries: Mapping[str, str]) -> tuple[dict[str, dict[str, float]], dict[str, float]]:
    """Our links, and milliseconds a query: cold (the first time over all queries) and warm."""
    state = kb._snapshot
    source = LinkSource(state.store, state.nodes, state.text, state.profile, state.documents)
    found: dict[str, dict[str, float]] = {}
    times: dict[str, float] = {}
    for run in ("cold", "warm"):
        took = []
        for topic, text in queries.items():
            started = time.perf_counter()
            links = source.links(text)
            took.append((time.perf_counter() - started) * 1e3)
            found[topic] = {link.node: link.confidence for link in links}
        times[f"{run}_median_ms"] = round(statistics.median(took), 2)
        times[f"{run}_worst_ms"] = round(max(took), 2)
    return found, times


def fields_ms(kb: KnowledgeBase, links: Confidences) -> dict[str, float]:
    """Milliseconds to read the neighbours of a linked node for the first time."""
    state = kb._snapshot
    source = LinkSource(state.store, state.nodes, state.text, state.profile, state.documents)
    took = []
    for node in sorted({node for some in links.values() for node in some}):
        started = time.perf_counter()
        source.uris.fields(node)
        took.append((time.perf_counter() - started) * 1e3)
    return {"nodes": len(took), "median_ms": round(statistics.median(took), 2), "worst_ms": round(max(took), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kb", type=Path, help="made by `hybridkg dataset fb15k-dbpedia-entity`; default: make it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.kb
        if path is None:
            from hybridkg.datasets.building import make_dataset

            make_dataset("fb15k-dbpedia-entity", DATA, Path(folder) / "d")
            path = Path(folder) / "d" / "kb"
        kb = KnowledgeBase.open(path)
        lines = (COLLECTION / "v2" / "queries-v2.txt").read_text(encoding="utf-8").splitlines()
        queries = dict(line.split("\t", 1) for line in lines)
        mapped = mapper(kb)
        ours, times = linked(kb, queries)
        answers = {OURS: ours, **{name: mapped(file) for name, file in OTHERS.items()}}
        figures: dict[str, Any] = {}
        for truth_name, file in TRUTHS.items():
            truth = mapped(GEEER / file)
            figures[truth_name] = {
                "queries": len(truth),
                "links": sum(map(len, truth.values())),
                "systems": {
                    name: {f"confidence >= {least:g}": measured(truth, answer, least) for least in THRESHOLDS}
                    for name, answer in answers.items()
                },
            }
        record(
            "linking", {"queries": len(queries), "linker": times, "neighbours": fields_ms(kb, ours), "truth": figures}
        )


if __name__ == "__main__":
    main()
