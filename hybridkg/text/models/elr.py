"""ELR, entity linking in retrieval: a language model of the words and of the nodes that the query mentions.

    score = terms / |T|     * sum_t      ln p(t|d)           (base lm, mlm, prms, sdm or fsdm)
          + ordered / |B|   * sum_(t,t+1) ln p(#od1(t,t+1)|d)
          + unordered / |B| * sum_(t,t+1) ln p(#uw8(t,t+1)|d)
          + entities        * sum_e s(e) ln p(e|d)
    p(e|d) = sum_f p(f|e) [(1 - l) * 1{e in d_f} + l * df(e,f) / df(f)],   l = 0.1

|T| and |B| are the numbers of words and pairs of the query. d_f are the nodes that entity d has as values of predicate
f: the graph itself is the index. p(f|e) is that of PRMS over the ten predicates by which most entities point to e; s(e)
are the confidences of the links of at least 0.1, normalised to sum 1. A node without incoming triples is left out.
Source: Hasibi, Balog and Bratsberg (2016) and its code. tests/text/models/test_elr.py repeats the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hybridkg.interfaces.explanation import ENTITY, TERM, FieldShare, TermShare, shares
from hybridkg.interfaces.links import LinkedNode
from hybridkg.interfaces.ranking_model import ModelArgument, ModelTraits, ScoredTerm, ScoringTask
from hybridkg.interfaces.text_index import Ids, Scores
from hybridkg.text.id_sets import contains
from hybridkg.text.models.additive import score
from hybridkg.text.models.fsdm import FSDM, MAX_FACTOR
from hybridkg.text.models.lm import LM
from hybridkg.text.models.logarithm import log
from hybridkg.text.models.mixture import MixtureModel, Part, explained, form_of
from hybridkg.text.models.mlm import MLM
from hybridkg.text.models.prms import PRMS
from hybridkg.text.models.sdm import SDM

BASES: dict[str, type[MixtureModel]] = {"fsdm": FSDM, "lm": LM, "mlm": MLM, "prms": PRMS, "sdm": SDM}
"""The models of the words; the first is the default."""

ENTITIES = 0.1
OF_WORDS = {"terms": 0.9}
OF_PAIRS = {"terms": 0.8, "ordered": 0.05, "unordered": 0.05}
"""Factors without pairs and with them, as in the paper."""

SMOOTHING = 0.1
"""l in the formula."""

MIN_CONFIDENCE = 0.1


class ELR:
    """`elr(base=fsdm, entities=0.1, links=...)`, and the arguments of the base.

    `links` are nodes with their confidences, `'<http://...> 0.8 <http://...>'`, or a file, `@links.tsv`; without it
    hybridkg links the text to the graph.
    """

    arguments: ClassVar = (
        *FSDM.arguments,
        ModelArgument("entities", 0, MAX_FACTOR),
        ModelArgument("base", words=tuple(BASES)),
        ModelArgument("links", text=True),
    )
    field_arguments: ClassVar = FSDM.field_arguments
    traits: ClassVar = ModelTraits(pairs=True, links=True, base=next(iter(BASES)))

    def score(self, task: ScoringTask) -> tuple[Ids, Scores]:
        """(ids ascending, scores) of every entity in the terms' postings; links add to scores, but match nothing."""
        base = _base(task)
        m = base.outline(task)
        lists = [postings for term in (*task.terms, *task.ordered, *task.unordered) for postings in term.postings]
        ids, scores = score(form_of(task, m, _parts(task, base.parts(task, m))), lists)
        for node, confidence in normalised(task.links):
            p = np.zeros(len(ids))
            for f, share in zip(node.fields, node.shares, strict=True):
                p += share * SMOOTHING * f.df / f.entities
                p[contains(ids, f.ids)] += share * (1 - SMOOTHING)
            scores += task.arguments.get("entities", ENTITIES) * confidence * log(p)
        return ids, scores

    def explain(self, task: ScoringTask) -> list[TermShare]:
        """The parts of the score of the task's only entity: words, pairs, then linked nodes."""
        base = _base(task)
        m = base.mixture(task)
        terms = explained(m, _parts(task, base.parts(task, m)))
        factor = task.arguments.get("entities", ENTITIES)
        for node, confidence in normalised(task.links):
            has = [bool(contains(m.ids, f.ids)[0]) for f in node.fields]
            parts = [share * (1 - SMOOTHING) * own for share, own in zip(node.shares, has, strict=True)]
            p = sum(
                part + share * SMOOTHING * f.df / f.entities
                for part, share, f in zip(parts, node.shares, node.fields, strict=True)
            )
            contribution = factor * confidence * float(np.log(p))
            own = shares(contribution, parts)
            fields = tuple(
                FieldShare(f.predicate or "itself", int(has[i]), 0, node.shares[i], own[i], {"df": float(f.df)})
                for i, f in enumerate(node.fields)
            )
            values = {"p": float(p), "factor": factor}
            df = max(f.df for f in node.fields)
            terms.append(TermShare(f"<{node.link.node}>", ENTITY, confidence, df, contribution, values, fields))
        return terms


def normalised(links: Sequence[LinkedNode]) -> list[tuple[LinkedNode, float]]:
    """The nodes with s(e): those of enough confidence that something points to, normalised to sum 1.

    >>> from hybridkg.interfaces.links import EntityLink, LinkedField
    >>> none = np.zeros(0, np.uint32)
    >>> there = (LinkedField("x:p", none, 1, 2, 2),)
    >>> links = [("x:a", 0.6, there), ("x:b", 0.05, there), ("x:c", 0.2, there), ("x:d", 0.2, ())]
    >>> [round(s, 2) for _, s in normalised([LinkedNode(EntityLink(n, c), f) for n, c, f in links])]
    [0.75, 0.25]
    """
    confident = [node for node in links if node.fields and node.link.confidence >= MIN_CONFIDENCE]
    total = sum(node.link.confidence for node in confident)
    return [(node, node.link.confidence / total) for node in confident]


def _base(task: ScoringTask) -> MixtureModel:
    return BASES[task.choices.get("base", ELR.traits.base)]()


def _parts(task: ScoringTask, parts: Sequence[Part]) -> list[Part]:
    """The base's sums as means over words and pairs, with ELR's own factors."""
    defaults = OF_PAIRS if len(parts) > 1 else OF_WORDS
    means = []
    for part in parts:
        name = "terms" if part.kind == TERM else part.kind
        factor = task.arguments.get(name, defaults[name]) / _number(part.terms)
        means.append(Part(part.kind, part.terms, part.weights, factor))
    return means


def _number(terms: Sequence[ScoredTerm]) -> float:
    return sum(term.count for term in terms) or 1.0
