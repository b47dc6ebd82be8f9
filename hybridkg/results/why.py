"""Why a row is in the answer, and where it is: the parts of each score, the passages, and the facts of the graph."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.algebra.nodes import Plan, Rank, Rerank, Slice, Snippet, children
from hybridkg.algebra.visible import visible_matches
from hybridkg.interfaces.explanation import TERM, Passage, ScoreExplanation
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import ranked_query, text_query
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, Triple, to_rdflib
from hybridkg.results.formats.table import CONTROL
from hybridkg.results.numbers import as_float

if TYPE_CHECKING:
    import rdflib


MAX_SHOWN = 300
"""Characters of a piece of text that was near."""


@dataclass(frozen=True)
class MatchExplanation:
    """Why an entity answers one MATCH.

    Args:
        entity: the entity.
        label: name of the score, as in `Row.scores`.
        text: what it was searched for.
        explanation: the parts of its score.
        passages: the best of each field in which something matches.
    """

    entity: Term
    label: str
    text: str
    explanation: ScoreExplanation
    passages: tuple[Passage, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "entity": str(self.entity),
            "name": self.label,
            "text": self.text,
            **self.explanation.to_json(),
            "passages": [passage.to_json() for passage in self.passages],
        }


@dataclass(frozen=True)
class Why:
    """Why a row has its place. Print it to read it.

    Args:
        scores: every score behind the row, as in `Row.scores`.
        hits: one for each MATCH that the row comes from, in the order of the query.
        triples: what the triple patterns matched, and the links that the paths walked, as the graph has them.
        ranked_by: the expression of RANK BY, where it is more than one score.
        reranked_by: the reranker that gave the row its place; empty where none did.
        parts: what its score is made of, by name; empty where it cannot say.
    """

    scores: Mapping[str, float]
    hits: tuple[MatchExplanation, ...]
    triples: tuple[Triple, ...]
    ranked_by: str = ""
    reranked_by: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)

    @property
    def evidence(self) -> rdflib.Graph:
        """The triples as a small RDF graph."""
        return self.to_graph()

    def to_graph(self) -> rdflib.Graph:
        """The triples that put the row here, as an rdflib Graph of its own."""
        import rdflib

        graph = rdflib.Graph()
        for triple in self.triples:
            graph.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
        return graph

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            "scores": dict(self.scores),
            **({"ranked_by": self.ranked_by} if self.ranked_by else {}),
            **({"reranked_by": self.reranked_by, "parts": dict(self.parts)} if self.reranked_by else {}),
            "hits": [hit.to_json() for hit in self.hits],
            "facts": [[str(t.subject), str(t.predicate), str(t.object)] for t in self.triples],
        }

    def __str__(self) -> str:
        return "\n".join(lines_of(self))


@dataclass(frozen=True)
class ScoreExplainer:
    """Explains the rows of one result.

    Args:
        matches: (MATCH, variable of its score, label of the score), in the order of the text.
        context: the index and the graph that answered.
        ranked_by: the expression of RANK BY, where it is more than one score.
        reranked: the variable of the score of the outermost RERANK; empty without one.
    """

    matches: tuple[tuple[ast.RankedItem, str, str], ...]
    context: ExecutionContext
    ranked_by: str = ""
    reranked: str = ""

    @classmethod
    def of(cls, plan: Plan, context: ExecutionContext) -> ScoreExplainer:
        """For the rows of a plan."""
        found = sorted(visible_matches(plan), key=lambda node: node.match.span.start)
        labelled = ((m.match, m.score, m.score if m.match.score else m.match.entity.name) for m in found)
        return cls(tuple(labelled), context, _ranked_by(plan), _reranked(plan))

    def reordering(self, bound: Mapping[str, Term | None]) -> tuple[str, Mapping[str, float]]:
        """The reranker that gave a row its place and the parts of its score; nothing where none did."""
        own, score = self.context.reorderings.get(self.reranked), as_float(bound.get(self.reranked))
        if own is None or score is None:
            return "", {}
        entity = bound.get(own.entity)
        return own.reranker, {} if entity is None else own.parts.get((entity, score), {})

    def hits(self, bound: Mapping[str, Term | None]) -> list[MatchExplanation]:
        """One for each MATCH whose entity and score the row has."""
        branches = Counter(score for _, score, _ in self.matches)
        found = []
        for match, score, label in self.matches:
            entity, own = bound.get(match.entity.name), as_float(bound.get(score))
            if own is None or not isinstance(entity, NamedNode | BlankNode):
                continue
            hit = self._hit(match, label, entity, bound)
            # Of the branches of a UNION that name the score alike, the row comes from one that gives this score.
            if hit is not None and (branches[score] == 1 or math.isclose(hit.explanation.score, own)):
                found.append(hit)
        return found

    def _hit(
        self, match: ast.RankedItem, label: str, entity: NamedNode | BlankNode, bound: Mapping[str, Term | None]
    ) -> MatchExplanation | None:
        asked = bound.get(match.text.name) if isinstance(match.text, ast.Var) else None
        if isinstance(match, ast.Near):
            return self._similar(match, label, entity, asked)
        text, language = (asked.value, asked.language or "") if isinstance(asked, Literal) else (None, "")
        query = text_query(match, text, language)
        index, nodes = self.context.text, self.context.nodes
        assert index is not None
        assert nodes is not None
        ids = nodes.find_many([entity])
        if ids[0] < 0:
            return None
        task = index.task(query, ids.astype(np.uint32))
        if not any(len(postings.ids) for term in task.terms for postings in term.postings):
            return None  # another branch of a UNION has given the score
        (score,) = index.score(query, ids.astype(np.uint32))
        parts = RANKING_MODELS.get(query.model)().explain(task)
        (texts,) = self.context.texts([entity], [field.name for field in match.fields])
        return MatchExplanation(
            entity,
            label,
            query.text,
            ScoreExplanation(query.model, float(score), tuple(parts)),
            tuple(index.passages(query, texts)),
        )

    def _similar(
        self, near: ast.Near, label: str, entity: NamedNode | BlankNode, asked: Term | None
    ) -> MatchExplanation | None:
        index, nodes = self.context.text, self.context.nodes
        assert index is not None
        assert index.vectors is not None
        assert nodes is not None
        ids = nodes.find_many([entity])
        if ids[0] < 0:
            return None
        query = ranked_query(near, asked)
        assert isinstance(query, VectorQuery)
        (score,) = index.score(query, ids.astype(np.uint32)).tolist()
        if math.isnan(score):
            return None
        span = index.vectors.nearest(query, int(ids[0]))
        passages = () if span is None else _passages(self.context.texts([entity], [])[0], *span)
        model = f"similarity ({index.vectors.made_by})"
        return MatchExplanation(entity, label, _target(near, asked), ScoreExplanation(model, score, ()), passages)


def _passages(texts: Sequence[tuple[str, str, str]], begin: int, end: int) -> tuple[Passage, ...]:
    """A piece of the text of an entity, in the field in which it begins; none where the text has changed since.

    Args:
        texts: (field, text, language) of the entity, which are its text with line ends between them.
        begin: of the piece.
        end: behind its last character.
    """
    values: Counter[str] = Counter()
    shown = " ".join("\n".join(text for _, text, _ in texts)[begin:end].split())
    for name, text, _ in texts:
        if begin <= len(text):
            shown = shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"
            return (Passage(name, values[name], begin, min(end, len(text)), (), shown),)
        begin, end = begin - len(text) - 1, end - len(text) - 1
        values[name] += 1
    return ()


def _target(near: ast.Near, asked: Term | None) -> str:
    match near.target:
        case ast.Lit(lexical=text):
            return text
        case ast.Iri(value=iri):
            return iri
        case ast.Vector(values=values):
            return f"a vector of {len(values):,} numbers"
    return "" if asked is None else asked.value if isinstance(asked, Literal) else str(asked)


def _reranked(plan: Plan) -> str:
    while isinstance(plan, Slice | Snippet):
        plan = plan.child
    return plan.score if isinstance(plan, Rerank) else ""


def _ranked_by(plan: Plan) -> str:
    while not isinstance(plan, Rank):
        below = children(plan)
        if len(below) != 1:
            return ""
        plan = below[0]
    return "" if isinstance(plan.expression, ast.Var) else " ".join(write(plan.expression).split())


def lines_of(why: Why) -> list[str]:
    """The reasons as lines of text, indented: scores, their terms, the terms' fields; then passages and facts.

    Terms that the entity lacks, and that give nothing, are left out.
    """
    lines = []
    for hit in why.hits:
        own = hit.explanation
        lines.append(f"?{hit.label} of {hit.entity}")
        lines.append(f"  {own.score:.4f}  {own.model} of {json.dumps(hit.text, ensure_ascii=False)}")
        for term in own.terms:
            occurring = [f for f in term.fields if f.tf]
            if not (term.contribution or occurring):
                continue
            shown = term.term if term.kind == TERM else f"{term.term} ({term.kind})"
            values = {name: term.values[name] for name in ("idf", "p", "factor") if name in term.values}
            if term.count != 1:
                values["times"] = term.count
            because = "".join(f", {name} {value:.4g}" for name, value in values.items())
            lines.append(f"    {term.contribution:.4f}  {shown}: df {term.df:,}{because}")
            lines += [
                f"      {f.contribution:.4f}  {f.name}: tf {f.tf:,}, length {f.length:,}, weight {f.weight:.4g}"
                for f in occurring
            ]
        for passage in hit.passages:
            text = f"text {passage.value + 1} of {passage.field}" if passage.value else passage.field
            lines.append(f"  {text}, characters {passage.start:,} to {passage.end:,}: {passage.shown}")
    if why.reranked_by:
        lines.append(f"the place is that of {why.reranked_by}")
        ordered = sorted(why.parts.items(), key=lambda part: -abs(part[1]))
        lines += [f"  {value:+.4f}  {name}" for name, value in ordered if value]
    others = {name: score for name, score in why.scores.items() if name not in {hit.label for hit in why.hits}}
    because = f" = {why.ranked_by}" if why.ranked_by else ""
    lines += [f"{name} {score:.4f}{because}" for name, score in others.items()]
    lines += [f"fact: {triple.subject} {triple.predicate} {triple.object}" for triple in why.triples]
    return [line.translate(CONTROL) for line in lines]
