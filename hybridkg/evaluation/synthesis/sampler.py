"""Drawing of anchors: a template is walked backwards from an answer, so that the anchors exist and have answers.

An answer is drawn from the instances of its class that fulfil each triple pattern about it alone, and then each anchor
from those that the whole pattern leaves for the answer and the anchors before it. Every value comes from a list in term
order, so a seed gives the same draws wherever the graph is the same.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from hybridkg.evaluation.synthesis.templates import ANSWER, Template
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.prepared import PreparedQuery
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.terms import RDF_TYPE

MAX_CANDIDATES = 5_000
"""Maximum answers of a drawn pattern; STaRK's own questions begin with at most as many."""

ATTEMPTS = 500
"""Drawn answers until a template counts as one that has no pattern with few enough answers."""


@dataclass(frozen=True)
class Draw:
    """A drawn pattern.

    Args:
        template: whose pattern it is.
        gold: IRI of the answer from which the anchors were drawn.
        anchors: IRI of each anchor.
        candidates: IRIs of all answers of the pattern, in term order; `gold` is one of them.
    """

    template: Template
    gold: str
    anchors: Mapping[str, str]
    candidates: tuple[str, ...]


class TemplateSampler:
    """Draws from one knowledge base; queries and lists of possible answers are kept from draw to draw."""

    def __init__(self, kb: KnowledgeBase, *, max_candidates: int = MAX_CANDIDATES):
        self.kb, self.max_candidates = kb, max_candidates
        self._possible: dict[str, list[str]] = {}
        self._queries: dict[str, tuple[dict[str, PreparedQuery], PreparedQuery]] = {}

    def draw(self, template: Template, drawn_by: random.Random, *, attempts: int = ATTEMPTS) -> Draw | None:
        """A pattern with 1 to `max_candidates` answers; None if none is found in `attempts` draws of an answer."""
        possible = self._possible_answers(template)
        for _ in range(attempts if possible else 0):
            draw = self.draw_for(template, drawn_by.choice(possible), drawn_by)
            if draw is not None:
                return draw
        return None

    def draw_for(self, template: Template, gold: str, drawn_by: random.Random) -> Draw | None:
        """A pattern with a given answer; None if the answer has no anchors, or the drawn ones have too many answers."""
        by_anchor, answers = self._queries_of(template)
        bound: dict[str, ast.Iri] = {ANSWER: ast.Iri(gold)}
        for anchor, query in by_anchor.items():
            taken = {iri.value for iri in bound.values()}
            found = [iri for iri in _column(query, bound, anchor) if iri not in taken]
            if not found:
                return None
            bound[anchor] = ast.Iri(drawn_by.choice(found))
        del bound[ANSWER]
        candidates = tuple(_column(answers, bound, ANSWER, limit=self.max_candidates + 1))
        if not 0 < len(candidates) <= self.max_candidates:
            return None
        return Draw(template, gold, {anchor: iri.value for anchor, iri in bound.items()}, candidates)

    def _possible_answers(self, template: Template) -> list[str]:
        """Nodes that fulfil each triple pattern about the answer alone, in term order; a superset of the answers."""
        if template.text not in self._possible:
            found: list[str] = []
            for i, group in enumerate(_patterns_about(template)):
                form = ast.SelectQuery((ast.SelectItem(ast.Var(ANSWER)),), group, "DISTINCT")
                query = self.kb.prepare(write(ast.Query(form)), name=f"answers of {template.name}")
                nodes = _column(query, {}, ANSWER)
                kept = set(nodes)
                found = nodes if i == 0 else [node for node in found if node in kept]
            self._possible[template.text] = found
        return self._possible[template.text]

    def _queries_of(self, template: Template) -> tuple[dict[str, PreparedQuery], PreparedQuery]:
        """The queries for each anchor, and for the answers."""
        if template.text not in self._queries:
            form = template.query.form
            assert isinstance(form, ast.SelectQuery)
            by_anchor = {
                anchor: self.kb.prepare(
                    write(ast.Query(replace(form, projection=(ast.SelectItem(ast.Var(anchor)),)))),
                    name=f"anchor {anchor} of {template.name}",
                )
                for anchor in template.anchors
            }
            self._queries[template.text] = by_anchor, self.kb.prepare(template.text, name=template.name)
        return self._queries[template.text]


def _patterns_about(template: Template) -> list[ast.Group]:
    """For each triple pattern with the answer: it, the class of the answer, and that of its other end."""
    form = template.query.form
    assert isinstance(form, ast.SelectQuery)
    triples = [
        item
        for element in form.where.elements
        if isinstance(element, ast.Triples)
        for item in element.items
        if isinstance(item, ast.TriplePattern)
    ]
    classes = [triple for triple in triples if triple.predicate == ast.Iri(RDF_TYPE)]
    answer = ast.Var(ANSWER)
    groups = []
    for triple in triples:
        if answer in (triple.subject, triple.object):
            ends = [one for one in classes if one.subject in (answer, triple.subject, triple.object)]
            groups.append(ast.Group((ast.Triples(tuple(dict.fromkeys([*ends, triple]))),)))
    return groups


def _column(query: PreparedQuery, bound: Mapping[str, ast.Iri], variable: str, limit: int | None = None) -> list[str]:
    """The IRIs of a column; blank nodes and literals cannot be bound again and are left out."""
    return [str(row[variable]) for row in query.query(dict(bound), limit=limit) if _is_iri(row[variable])]


def _is_iri(term: object) -> bool:
    import rdflib

    return isinstance(term, rdflib.URIRef)
