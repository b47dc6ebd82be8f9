"""A fragment joined with the relation of one MATCH, in ids: only entities that the fragment names get terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybridkg.interfaces.text_index import Ids, Scores, TextIndex
from hybridkg.operators.base import PhysicalOperator
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.fragment import SparqlFragment
from hybridkg.operators.probing import rows_meeting
from hybridkg.operators.text_query import checked_index, describe, text_query
from hybridkg.query import ast
from hybridkg.rdf.batch import Row, Solutions
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, double

if TYPE_CHECKING:
    from hybridkg.operators.context import Nodes


@dataclass(frozen=True)
class TextJoin(PhysicalOperator):
    """The rows of HashJoin(fragment, TextRelation), without making terms of entities that do not join.

    The fragment binds the MATCH's entity in every row. A MATCH with TOP, or whose text is a variable, is not
    for this operator.
    """

    match: ast.Match
    score: str
    fragment: SparqlFragment

    def run(self, context: ExecutionContext) -> Solutions:
        """Scores all matches as arrays, reads the fragment as operators.probing decides, and looks scores up."""
        index = checked_index(context.text, self.match)
        nodes = context.nodes
        assert nodes is not None
        ids, scores = index.matching(text_query(self.match))
        variable = self.match.entity.name
        rows = rows_meeting(self.fragment, variable, len(ids), lambda: nodes.nodes(ids), context)
        at = self.fragment.columns.index(variable)
        score_of = _scores_of(list(dict.fromkeys(row[at] for row in rows)), ids, scores, nodes)
        joined: list[Row] = [(*row, score) for row in rows if (score := score_of.get(row[at])) is not None]
        return Solutions((*self.fragment.columns, self.score), joined)

    @property
    def sparql(self) -> str:
        """The fragment, without the values."""
        return self.fragment.sparql

    def describe(self) -> str:
        """Entity and score."""
        return f"TextJoin ?{self.match.entity.name} ?{self.score}"

    def details(self, text: TextIndex | None) -> str:
        """Model, fields, terms with df."""
        return describe(self.match, text)


def _scores_of(terms: list[Term | None], ids: Ids, scores: Scores, nodes: Nodes) -> dict[Term | None, Literal]:
    """The score of each term that is a matching entity. ids ascend."""
    import numpy as np

    entities = [term for term in terms if isinstance(term, NamedNode | BlankNode)]
    if not entities or not len(ids):
        return {}
    wanted = nodes.find_many(entities)
    place = np.minimum(np.searchsorted(ids, np.maximum(wanted, 0)), len(ids) - 1)
    found = (wanted >= 0) & (ids[place] == wanted)
    return {
        entity: double(score)
        for entity, score, hit in zip(entities, scores[place].tolist(), found.tolist(), strict=True)
        if hit
    }
