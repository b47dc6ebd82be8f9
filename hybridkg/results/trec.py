"""A TREC run: `query-id Q0 document-id rank score tag`, for trec_eval and its relatives.

trec_eval sorts by score as float32 and breaks ties by document id descending
(ranking.md, trap 6), so scores are written to fall strictly in float32: the
run then keeps our order. The true scores are in every other format.
"""

from __future__ import annotations

from typing import TextIO

from hybridkg.errors import UnsupportedQueryError
from hybridkg.rdf.terms import BlankNode, NamedNode
from hybridkg.results.result_set import ResultSet

QUERY_ID = "query"
TAG = "hybridkg"


def write_trec(result: ResultSet, out: TextIO) -> None:
    """One line for each distinct entity, in the order of the rows.

    The document is the first projected column whose value is an IRI or a blank node; an entity that has
    several rows counts at its best.

    Raises:
        UnsupportedQueryError: a result without such a column, or without a score.
    """
    import numpy as np

    seen: set[str] = set()
    last = np.float32(np.inf)
    for row in result:
        term = next((t for name in result.columns if isinstance(t := row.term(name), NamedNode | BlankNode)), None)
        true_score = row.rank_score
        if term is None or true_score is None:
            raise UnsupportedQueryError(
                "a TREC run needs an entity and a score in every row",
                hint="project the ranked variable, and rank: ... MATCH ... AS ?score } RANK BY ?score",
            )
        document = term.value if isinstance(term, NamedNode) else f"_:{term.value}"
        if document in seen:
            continue
        seen.add(document)
        score = np.float32(true_score)
        if not score < last:
            score = np.nextafter(last, np.float32(-np.inf), dtype=np.float32)
        last = score
        out.write(f"{QUERY_ID} Q0 {document.replace(' ', '%20')} {len(seen)} {score!s} {TAG}\n")
