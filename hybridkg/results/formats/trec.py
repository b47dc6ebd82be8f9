"""The TREC run form of a result: `query-id Q0 document-id rank score tag`, for trec_eval and similar tools.

trec_eval sorts by score as float32 and breaks ties by document id descending (docs/evaluation.md, trap 6). So the
written scores fall strictly in float32, to preserve the order; the true scores are in every other format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from hybridkg.errors import UnsupportedQueryError
from hybridkg.rdf.terms import BlankNode, NamedNode
from hybridkg.results.result_set import ResultSet

QUERY_ID = "query"
TAG = "hybridkg"


def ranking(result: ResultSet) -> Iterator[tuple[str, float]]:
    """(document, score) of each distinct entity, in the order of the rows.

    The document is the value of the column that has IRIs or blank nodes; an entity counts at its best row.

    Raises:
        UnsupportedQueryError: an ASK, a row without such a value or without a score, or entities in two columns.
    """
    if result.boolean is not None or result._ranked_by is None:
        raise _no_run()
    entities = [
        name
        for name, variable in zip(result.columns, result._solutions.variables, strict=False)
        if any(result._solutions.mapped(variable, lambda cell: isinstance(cell, NamedNode | BlankNode)))
    ]
    if len(entities) > 1:
        raise UnsupportedQueryError(
            f"a TREC run has one entity in a row, and these rows have {len(entities)}: "
            + ", ".join(f"?{name}" for name in entities),
            hint=f"project one of them: SELECT ?{entities[0]} ...",
        )
    seen: set[str] = set()
    for row in result:
        term = next((t for name in result.columns if isinstance(t := row.term(name), NamedNode | BlankNode)), None)
        score = row.rank_score
        if term is None or score is None:
            raise _no_run()
        document = term.value if isinstance(term, NamedNode) else f"_:{term.value}"
        if document not in seen:
            seen.add(document)
            yield document, score


def write_trec(result: ResultSet, out: TextIO) -> None:
    """Writes a line for each entity of the `ranking`; nothing if it raises."""
    import numpy as np

    lines: list[str] = []
    last = np.float32(np.inf)
    for number, (document, true_score) in enumerate(ranking(result), 1):
        with np.errstate(over="ignore"):  # a score beyond float32 becomes infinite, and then a tie
            score = np.float32(true_score)
        if not score < last:
            score = np.nextafter(last, np.float32(-np.inf), dtype=np.float32)
        last = score
        lines.append(f"{QUERY_ID} Q0 {document.replace(' ', '%20')} {number} {score!s} {TAG}\n")
    out.writelines(lines)


def _no_run() -> UnsupportedQueryError:
    return UnsupportedQueryError(
        "a TREC run needs an entity and a score in every row",
        hint="project the ranked variable, and rank by a number: ... MATCH ... AS ?score } RANK BY ?score",
    )
