"""Explanation of a row: the parts of each score, the passages, and the facts of the graph."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.algebra.nodes import Plan, Rank, children
from hybridkg.algebra.visible import visible_matches
from hybridkg.interfaces.explanation import TERM, Passage, ScoreExplanation
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.vector_index import VectorQuery
from hybridkg.operators.context import ExecutionContext
from hybridkg.operators.text_query import ranked_query, text_query
from hybridkg.query import ast
from hybridkg.query.write import write
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Term, Triple, term_text, to_rdflib
from hybridkg.results.build import reranked_by
from hybridkg.results.formats.table import CONTROL
from hybridkg.results.iri_names import IriNames
from hybridkg.results.numbers import as_float
from hybridkg.terminal_text import preformatted

if TYPE_CHECKING:
    import rdflib

MAX_SHOWN = 300
"""Characters shown of the nearest piece of a text."""


@dataclass(frozen=True)
class MatchExplanation:
    """Explanation of the score of an entity in one MATCH or NEAR.

    Args:
        entity: the entity.
        label: name of the score, as in `Row.scores`.
        text: text of the MATCH, or target of the NEAR.
        explanation: the parts of its score.
        passages: the best passage of each matching field.
    """

    entity: Term
    label: str
    text: str
    explanation: ScoreExplanation
    passages: tuple[Passage, ...]

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "entity": str(self.entity),
            "name": self.label,
            "text": self.text,
            **self.explanation.to_json(),
            "passages": [passage.to_json() for passage in self.passages],
        }


@dataclass(frozen=True)
class Why:
    """Explanation of the rank of a row; `str` is its text.

    Args:
        scores: every score of the row, as in `Row.scores`.
        hits: one explanation for each MATCH of the row, in the order of the query.
        triples: the triples that the patterns and paths matched.
        ranked_by: the expression of RANK BY, unless it is a single score.
        reranked_by: the reranker that placed the row; empty without one.
        parts: contributions to the score of the reranker, by name; empty where it reports none.
        names: short forms of IRIs in the text.
    """

    scores: Mapping[str, float]
    hits: tuple[MatchExplanation, ...]
    triples: tuple[Triple, ...]
    ranked_by: str = ""
    reranked_by: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)
    names: IriNames = field(default_factory=lambda: IriNames({}, {}), repr=False, compare=False)

    @property
    def evidence(self) -> rdflib.Graph:
        """The triples as an rdflib Graph, as `to_graph`."""
        return self.to_graph()

    def to_graph(self) -> rdflib.Graph:
        """The triples as an rdflib Graph."""
        import rdflib

        graph = rdflib.Graph()
        for triple in self.triples:
            graph.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
        return graph

    def to_json(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "scores": dict(self.scores),
            **({"ranked_by": self.ranked_by} if self.ranked_by else {}),
            **({"reranked_by": self.reranked_by, "parts": dict(self.parts)} if self.reranked_by else {}),
            "hits": [hit.to_json() for hit in self.hits],
            "facts": [[str(t.subject), str(t.predicate), term_text(t.object)] for t in self.triples],
        }

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        """The text for notebooks, escaped."""
        return preformatted(str(self))


@dataclass(frozen=True)
class ScoreExplainer:
    """The explainer of the scores of one result.

    Args:
        matches: (MATCH, variable of its score, label of the score), in the order of the text.
        context: context of the run.
        ranked_by: the expression of RANK BY, unless it is a single score.
        reranked: the score variable of the outermost RERANK; empty without one.
    """

    matches: tuple[tuple[ast.RankedItem, str, str], ...]
    context: ExecutionContext
    ranked_by: str = ""
    reranked: str = ""

    @classmethod
    def of(cls, plan: Plan, context: ExecutionContext, name_of: Callable[[str], str] = str) -> ScoreExplainer:
        """The explainer for the rows of a plan; `name_of` gives names of variables in the text, also in a sentence."""
        matches = sorted(visible_matches(plan), key=lambda node: node.match.span.start)
        labelled = ((m.match, m.score, name_of(m.score if m.match.score else m.match.entity.name)) for m in matches)
        return cls(tuple(labelled), context, name_of(_ranked_by(plan)), reranked_by(plan) or "")

    def reordering(self, bound: Mapping[str, Term | None]) -> tuple[str, Mapping[str, float]]:
        """The reranker that placed a row and the parts of its score; empty without one."""
        own, score = self.context.reorderings.get(self.reranked), as_float(bound.get(self.reranked))
        if own is None or score is None:
            return "", {}
        entity = bound.get(own.entity)
        return own.reranker, {} if entity is None else own.parts_of(entity, score)

    def hits(self, bound: Mapping[str, Term | None], *, passages: bool = True) -> list[MatchExplanation]:
        """An explanation for each MATCH whose entity and score the row has; without `passages` no text is read."""
        branches = Counter(score for _, score, _ in self.matches)
        hits = []
        for match, score, label in self.matches:
            self.context.meter.check()
            entity, own = bound.get(match.entity.name), as_float(bound.get(score))
            if own is None or not isinstance(entity, NamedNode | BlankNode):
                continue
            hit = self._hit(match, label, entity, bound, passages)
            # If several branches of a UNION use one score name, the row comes from one that gives this score.
            if hit is not None and (branches[score] == 1 or math.isclose(hit.explanation.score, own)):
                hits.append(hit)
        return hits

    def _hit(
        self,
        match: ast.RankedItem,
        label: str,
        entity: NamedNode | BlankNode,
        bound: Mapping[str, Term | None],
        passages: bool,
    ) -> MatchExplanation | None:
        value = bound.get(match.text.name) if isinstance(match.text, ast.Var) else None
        if isinstance(match, ast.Near):
            return self._similar(match, label, entity, value, passages)
        text, language = (value.value, value.language or "") if isinstance(value, Literal) else (None, "")
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
        found: list[Passage] = []
        if passages:
            (texts,) = self.context.texts([entity], [field.name for field in match.fields])
            found = index.passages(query, texts)
        return MatchExplanation(
            entity,
            label,
            query.text,
            ScoreExplanation(query.model, float(score), tuple(parts)),
            tuple(found),
        )

    def _similar(
        self, near: ast.Near, label: str, entity: NamedNode | BlankNode, value: Term | None, passages: bool
    ) -> MatchExplanation | None:
        index, nodes = self.context.text, self.context.nodes
        assert index is not None
        assert index.vectors is not None
        assert nodes is not None
        ids = nodes.find_many([entity])
        if ids[0] < 0:
            return None
        query = ranked_query(near, value)
        assert isinstance(query, VectorQuery)
        (score,) = index.score(query, ids.astype(np.uint32)).tolist()
        if math.isnan(score):
            return None
        span = index.vectors.nearest(query, int(ids[0])) if passages else None
        found: tuple[Passage, ...] = ()
        if passages:
            (texts,) = self.context.texts([entity], self.context.encoded_fields)
            whole = 0, sum(len(text) + 1 for _, text, _ in texts)
            found = _passages(texts, *(span or whole))
        model = f"similarity ({index.vectors.made_by})"
        return MatchExplanation(entity, label, _target(near, value), ScoreExplanation(model, score, ()), found)


def _passages(texts: Sequence[tuple[str, str, str]], begin: int, end: int) -> tuple[Passage, ...]:
    """The passage of a piece of an entity's text, in the field in which it begins; none where the text has changed.

    A text that is one piece is shown from its beginning.

    `begin` and `end` are offsets in the texts of all fields, joined by line ends.
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


def _target(near: ast.Near, value: Term | None) -> str:
    match near.target:
        case ast.Lit(lexical=text):
            return text
        case ast.Iri(value=iri):
            return iri
        case ast.Vector(values=values):
            return f"a vector of {len(values):,} numbers"
    return "" if value is None else value.value if isinstance(value, Literal) else str(value)


def _ranked_by(plan: Plan) -> str:
    while not isinstance(plan, Rank):
        below = children(plan)
        if len(below) != 1:
            return ""
        plan = below[0]
    return "" if isinstance(plan.expression, ast.Var) else " ".join(write(plan.expression).split())


def _lines(why: Why) -> list[str]:
    """Indented lines of text: scores, their terms, the terms' fields; then passages and facts.

    Terms that do not occur and contribute nothing are left out.
    """
    lines = []
    for hit in why.hits:
        own = hit.explanation
        lines.append(f"?{hit.label} of {why.names.term(hit.entity)}")
        lines.append(f"  {own.score:.4f}  {own.model} of {json.dumps(hit.text, ensure_ascii=False)}")
        for term in own.terms:
            occurring = [f for f in term.fields if f.tf]
            if not (term.contribution or occurring):
                continue
            shown = term.term if term.kind == TERM else f"{term.term} ({term.kind})"
            values = {name: term.values[name] for name in ("idf", "p", "factor") if name in term.values}
            if term.count != 1:
                values["times"] = term.count
            factors = "".join(f", {name} {value:.4g}" for name, value in values.items())
            lines.append(f"    {term.contribution:.4f}  {shown}: df {term.df:,}{factors}")
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
    formula = f" = {why.ranked_by}" if why.ranked_by else ""
    lines += [f"{name} {score:.4f}{formula}" for name, score in others.items()]
    short = why.names.term
    lines += [f"fact: {short(one.subject)} {short(one.predicate)} {short(one.object)}" for one in why.triples]
    return [line.translate(CONTROL) for line in lines]
