"""STaRK's layout from end to end, on a knowledge base made here (`benchmarks.stark_made`).

    python -m benchmarks.stark mag --nodes 20000 --out /tmp/stark-made

writes the files, converts and indexes them, asks the test questions by words alone and by relations and words, and
prints figures and rates as JSON. Rates of reading are per second of processor time, the last one per second.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from benchmarks.stark_made import MADE, Question, write_skb

FIELDS = {
    "amazon": "title, brand, dimensions, description, feature, review, qa",
    "mag": "title, abstract, date, venue",
    "prime": "name, type, source, details",
}
"""The fields of STaRK's documents without relations."""

PREFIX = "PREFIX : <https://w3id.org/hybridkg/stark/{}#>"

HYBRID = {
    "amazon": "?e a :product ; :has_brand/:name $first ; :has_color/:name $second",
    "mag": "?e a :paper ; :paper___has_topic___field_of_study/:name $first ; "
    "^:author___writes___paper/:author___affiliated_with___institution/:name $second",
    "prime": "?e a :drug ; :target/:name $first ; :indication/:name $second",
}
"""The relations of a question; `hybrid_query` makes a query of them."""


def text_query(kb: str) -> str:
    """Words alone, over STaRK's documents of what may be an answer."""
    kind = {"amazon": "?e a :product . ", "mag": "?e a :paper . ", "prime": ""}[kb]
    fields = FIELDS[kb]
    return (
        f"{PREFIX.format(kb)} SELECT ?e {{ {kind}?e MATCH $text ON ({fields}) USING bm25 AS ?s }} RANK BY ?s LIMIT 100"
    )


def hybrid_query(kb: str) -> str:
    """Relations, and words among what they leave."""
    return (
        f"{PREFIX.format(kb)} SELECT DISTINCT ?e {{ {HYBRID[kb]} . "
        f"?e MATCH $text ON ({FIELDS[kb]}) USING bm25 AS ?s }} RANK BY ?s LIMIT 100"
    )


def ask(made: Path, kb: str, questions: list[Question]) -> dict[str, dict[str, float]]:
    """STaRK's measures of the test questions: by words alone, and by relations and words."""
    from hybridkg.evaluation.measures import evaluate, mean
    from hybridkg.evaluation.measures.stark import read_candidates, stark_measures
    from hybridkg.evaluation.qrels import read_qrels
    from hybridkg.evaluation.run import Run
    from hybridkg.evaluation.topics import read_topics
    from hybridkg.kb import KnowledgeBase

    topics, qrels = read_topics(made / "topics-test.tsv"), read_qrels(made / "qrels-test.txt")
    measures = stark_measures(read_candidates(made / "candidates.txt"))
    found = {}
    with KnowledgeBase.open(made / "kb") as base:
        for system in ("text", "hybrid"):
            rankings = {}
            for topic, text in topics.texts.items():
                q = questions[int(topic)]
                if system == "text":
                    rows = base.query(text_query(kb), {"text": text})
                else:
                    rows = base.query(hybrid_query(kb), {"text": q.word, "first": q.first, "second": q.second})
                entities = [str(row["e"]) for row in rows]
                rankings[topic] = tuple((entity, -float(rank)) for rank, entity in enumerate(entities))
            values = evaluate(qrels, Run(system, rankings), measures)
            found[system] = {name: round(mean(each), 4) for name, each in values.items()}
    return found


def main() -> None:
    """Writes, converts, asks, prints."""
    from hybridkg.datasets.stark.layout import find_files, read_layout
    from hybridkg.datasets.stark.making import make_stark, neighbours_in, triples_of
    from hybridkg.datasets.stark.node_documents import FORMS, documents_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb", choices=sorted(MADE))
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    questions = write_skb(given.kb, given.nodes, given.out)
    layout = read_layout(find_files(given.out / "skb", given.out))
    figures: dict[str, Any] = {"kb": given.kb, "nodes": given.nodes, "edges": len(layout.edge_types)}
    start = time.thread_time()
    count = sum(1 for _ in layout.nodes())
    figures["nodes_read_per_s"] = round(count / (time.thread_time() - start))
    start = time.thread_time()
    lines = sum(1 for _ in triples_of(layout))
    figures |= {"triples": lines, "triples_made_per_s": round(lines / (time.thread_time() - start))}
    start = time.thread_time()
    merged = neighbours_in(layout)
    figures["edges_of_starks_code"] = len(merged)
    figures["edges_merged_per_s"] = round(len(layout.edge_types) / max(time.thread_time() - start, 1e-6))
    start = time.thread_time()
    documents = sum(1 for _ in documents_of(layout, tuple(FORMS), merged, given.out))
    figures["documents_of_both_forms_per_s"] = round(documents / (time.thread_time() - start))
    start = time.perf_counter()
    make_stark(given.out / "skb", given.out / "qa", given.out / "made")
    figures["nodes_converted_and_indexed_per_s"] = round(count / (time.perf_counter() - start))
    figures |= ask(given.out / "made", given.kb, questions)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
