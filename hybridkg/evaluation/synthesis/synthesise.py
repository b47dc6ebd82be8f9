"""Synthesis of questions with answers: a drawn pattern, properties of one answer, a wording, and verified answers.

Source: Wu et al., "STaRK" (NeurIPS 2024), section 4. Without a language model, the properties are words of the text,
the wording comes from phrasings and frames of the templates, and candidates are verified by the idf mass of the words,
and by the similarity of chunks if the knowledge base has vectors.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hybridkg.errors import ParameterError, UserError
from hybridkg.evaluation.synthesis.model_wording import ModelWording
from hybridkg.evaluation.synthesis.offline import OfflineWording
from hybridkg.evaluation.synthesis.own_text import OwnText, Passage
from hybridkg.evaluation.synthesis.properties import contains
from hybridkg.evaluation.synthesis.sampler import Draw, TemplateSampler
from hybridkg.evaluation.synthesis.template_reader import load_templates
from hybridkg.evaluation.synthesis.templates import SPLITS, Template, TemplateSet
from hybridkg.evaluation.synthesis.wording import DrawnSource, QuestionWording, RefusedError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.asking import chat_model
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.query import ast
from hybridkg.query.parameters.bind import bind
from hybridkg.query.write import write
from hybridkg.remote.chat_model import ChatModel

MAX_ANSWERS = 20
"""Maximum answers of a question; those of STaRK's test and val have at most as many."""

MAX_QUESTIONS = 1_000_000
DRAWS = 60
"""Drawn patterns of one question, until it counts as not made."""

FAILURES = 3
"""Questions in a row that could not be made, until there are no more to be made."""


@dataclass(frozen=True)
class SynthesisedQuestion:
    """A question with its answers and how it was made.

    Args:
        number: its id, from 0.
        split: train, val or test, which decides on the wording.
        text: the question.
        template: name of its template.
        role: who asks.
        anchors: IRI and name of each anchor.
        properties: as in the text of `gold`.
        asked: the same, reworded.
        query: HybridQL of the pattern, with the anchors.
        gold: IRI of the answer that the question was made from.
        candidates: number of answers of the pattern alone.
        answers: IRIs of the answers, in term order.
    """

    number: int
    split: str
    text: str
    template: str
    role: str
    anchors: Mapping[str, tuple[str, str]]
    properties: tuple[str, ...]
    asked: tuple[str, ...]
    query: str
    gold: str
    candidates: int
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Synthesis:
    """Questions, and what happened while they were made.

    Args:
        templates: whose questions these are.
        wanted: number of questions asked for; `questions` has fewer if some could not be made.
        seed: of all draws.
        questions: in the order of their numbers.
        refused: drawn patterns that became no question, by reason.
        not_drawn: templates for which no pattern with 1 to MAX_CANDIDATES answers was found in ATTEMPTS draws.
        verified: share of the golds that the verifier accepts, of those with properties; None without any.
        models: writer and verifiers; empty without language models.
        requests: to the models.
    """

    templates: TemplateSet
    wanted: int
    seed: int
    questions: tuple[SynthesisedQuestion, ...]
    refused: Mapping[str, int]
    not_drawn: tuple[str, ...]
    verified: float | None
    models: tuple[str, ...] = ()
    requests: int = 0

    def lines(self) -> list[str]:
        """A summary for people."""
        splits = Counter(question.split for question in self.questions)
        lines = [
            f"questions: {len(self.questions):,} of {self.wanted:,} ("
            + ", ".join(f"{split} {splits[split]:,}" for split in SPLITS)
            + ")"
        ]
        for name in self.templates.templates:
            count = sum(question.template == name for question in self.questions)
            lines.append(f"  {name}: " + ("not drawn" if name in self.not_drawn else f"{count:,}"))
        lines += [f"not used, {reason}: {count:,}" for reason, count in self.refused.items()]
        if self.verified is not None:
            lines.append(f"golds that the verifier accepts: {self.verified:.3f}")
        if self.models:
            lines.append(f"models: {', '.join(self.models)}; {self.requests:,} requests")
        return lines


def synthesise(
    kb: KnowledgeBase,
    templates: TemplateSet | str | Path,
    n: int,
    *,
    seed: int = 1,
    max_answers: int = MAX_ANSWERS,
    llm: str = "",
    verifiers: Sequence[str] = (),
    progress: Progress = SILENT,
) -> Synthesis:
    """Makes questions about a knowledge base; after FAILURES failures in a row, fewer than wanted.

    Args:
        kb: an indexed knowledge base.
        templates: a set of templates, or the name or the path of one.
        n: number of questions, at least 1.
        seed: of all draws; the same seed, graph and templates give the same questions.
        max_answers: maximum answers of a question.
        llm: a language model that writes properties and questions, on the server in the table [reranking] of kb.toml;
            empty for none. Its answers may differ from call to call, and so may the questions of a seed.
        verifiers: one or two models that verify the answers; default: `llm`, asked in two ways.
        progress: receives the number of questions.

    Raises:
        IndexMissingError: the knowledge base has no text index.
        ParameterError: n or max_answers is out of range, or there are verifiers without `llm` or more than two.
        ModelServerError: the server of the models fails.
        UserError: the knowledge base expresses none of the templates, or no question could be made.
    """
    if not 1 <= n <= MAX_QUESTIONS or max_answers < 1:
        raise ParameterError(f"n is 1 to {MAX_QUESTIONS:,} and max_answers at least 1, not {n} and {max_answers}")
    if len(verifiers) > 2 or (verifiers and not llm):
        raise ParameterError("verifiers are one or two models, beside a model that writes", hint="--llm MODEL")
    chosen = templates if isinstance(templates, TemplateSet) else load_templates(templates)
    texts = OwnText(kb)
    models = (llm, *verifiers, *([verifiers[-1] if verifiers else llm] * (2 - len(verifiers)))) if llm else ()
    vectors = snapshot_of(kb).vectors
    encoder = None if vectors is None else vectors.encoder
    wording = _model_wording(kb, texts, models, chosen) if models else OfflineWording(texts, encoder)
    maker = _Maker(kb, chosen, texts, wording, random.Random(seed), max_answers)
    questions: list[SynthesisedQuestion] = []
    progress.start("making questions", None)
    failed = 0
    for split in split_of_each(n, chosen.splits, maker.draw):
        question = maker.question(len(questions), split)
        failed = 0 if question is not None else failed + 1
        if question is not None:
            questions.append(question)
            progress.advance(0, 1)
        elif failed == FAILURES:
            break
    progress.done(len(questions))
    if not questions:
        raise UserError(
            f"no question could be made with the templates {chosen.name!r}",
            hint="; ".join(f"{reason}: {count:,}" for reason, count in maker.refused.items())
            or "the knowledge base has no answers for any of them: hybridkg schema KB shows its classes and properties",
        )
    with_text = maker.verified + maker.rejected
    return Synthesis(
        chosen, n, seed, tuple(questions), dict(sorted(maker.refused.items())),
        tuple(name for name in chosen.templates if name in maker.not_drawn),
        maker.verified / with_text if with_text else None,
        tuple(models), wording.requests if isinstance(wording, ModelWording) else 0,
    )  # fmt: skip


def _model_wording(kb: KnowledgeBase, texts: OwnText, models: Sequence[str], templates: TemplateSet) -> ModelWording:
    writer = chat_model(snapshot_of(kb), models[0])
    first, second = (ChatModel(writer.server, name) for name in models[1:])
    return ModelWording(texts, writer, (first, second), templates.roles)


def split_of_each(n: int, shares: Sequence[float], drawn_by: random.Random) -> list[str]:
    """The split of each question, shuffled; the counts are the shares of n, rounded down, and the rest is train.

    >>> Counter(split_of_each(10, (0.65, 0.17, 0.18), random.Random(1)))
    Counter({'train': 8, 'val': 1, 'test': 1})
    """
    val, test = (int(n * share + 1e-9) for share in shares[1:])
    splits = ["train"] * (n - val - test) + ["val"] * val + ["test"] * test
    drawn_by.shuffle(splits)
    return splits


class _Maker:
    """Makes one question after another, and counts why patterns are not used."""

    def __init__(
        self,
        kb: KnowledgeBase,
        templates: TemplateSet,
        texts: OwnText,
        wording: QuestionWording,
        draw: random.Random,
        max_answers: int,
    ):
        self.templates, self.texts, self.wording, self.draw, self.max_answers = (
            templates, texts, wording, draw, max_answers
        )  # fmt: skip
        self.sampler = TemplateSampler(kb, max_candidates=wording.max_candidates)
        self.expressed = list(templates.templates.values())
        self.not_drawn: set[str] = set()
        self.refused: Counter[str] = Counter()
        self.verified = self.rejected = 0
        self._known: set[str] = set()

    def question(self, number: int, split: str) -> SynthesisedQuestion | None:
        """A question of a split; None if none of DRAWS patterns becomes one."""
        draws = 0
        while draws < DRAWS and self.expressed:
            template = self.draw.choice(self.expressed)
            drawn = self.sampler.draw(template, self.draw)
            if drawn is None:
                self.expressed.remove(template)
                self.not_drawn.add(template.name)
                continue
            draws += 1
            try:
                question = self._made(number, split, template, drawn)
            except RefusedError as e:
                self.refused[str(e)] += 1
            else:
                self._known.add(question.text)
                return question
        return None

    def _made(self, number: int, split: str, template: Template, drawn: Draw) -> SynthesisedQuestion:
        """The question of a pattern. Raises RefusedError."""
        names = self.texts.names([drawn.gold, *drawn.anchors.values()])
        if any(iri not in names for iri in drawn.anchors.values()):
            raise RefusedError("an anchor has no name")
        anchors = {anchor: (iri, names[iri]) for anchor, iri in drawn.anchors.items()}
        source = DrawnSource(
            template, split, drawn.gold, names, {anchor: name for anchor, (_, name) in anchors.items()}
        )
        properties = self.wording.properties(source, self.draw)
        answers = list(drawn.candidates)
        if properties.asked:
            answers = self.wording.verified(answers, properties, drawn.gold)
            is_verified = drawn.gold in answers
            self.verified += is_verified
            self.rejected += not is_verified
            if not is_verified:
                raise RefusedError("the verifier rejects the answer it was made from")
        if len(answers) > self.max_answers:
            raise RefusedError(f"more than {self.max_answers:,} answers")
        role = properties.role or self.draw.choice(self.templates.roles)
        text = " ".join(self.wording.text(source, properties, role, self.draw).split())
        if reason := self._wrong(text, names.get(drawn.gold, ""), [name for _, name in anchors.values()]):
            raise RefusedError(reason)
        values = {anchor: ast.Iri(iri) for anchor, iri in drawn.anchors.items()}
        prefixes = dict(template.query.prefixes)
        return SynthesisedQuestion(
            number, split, text, template.name, role.name, anchors, properties.found, properties.asked,
            write(bind(template.query, values), prefixes=prefixes), drawn.gold, len(drawn.candidates), tuple(answers),
        )  # fmt: skip

    def _wrong(self, text: str, gold: str, anchors: Sequence[str]) -> str:
        """Why a question cannot be asked; empty if it can."""
        words = _lower(self.texts.words(text))
        if any(not contains(words, _lower(self.texts.words(name))) for name in anchors):
            return "an anchor is lost"
        if (own := _lower(self.texts.words(gold))) and contains(words, own):
            return "the question names its answer"
        return "another question has the same text" if text in self._known else ""


def _lower(words: Passage) -> tuple[str, ...]:
    return tuple(word.text.lower() for word in words)
