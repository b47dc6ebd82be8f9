"""Words for classes and paths: labels, the words of IRIs, and the phrases of the profile (`hk:said`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hybridkg.asking.slots import Step
from hybridkg.asking.weights import Signature
from hybridkg.asking.words import QuestionWord, stems_of
from hybridkg.entities.profile.labels import local_name
from hybridkg.interfaces.analyzer import Analyzer

Stems = tuple[str, ...]
MAX_PATHS = 20_000
"""Paths whose words are kept."""

PARTLY = 0.8
"""Weight of single words of a phrase or a label, where a whole phrase has 1."""

BEHIND = 0.8
"""Weight of words behind a mention, where those before it have 1."""

FILLERS = frozenset((
    "has", "have", "is", "are", "was", "were", "of", "the", "a", "an", "to", "in",
))  # fmt: skip
"""Words of an IRI or a label that say nothing about a relation."""


@dataclass(frozen=True)
class Said:
    """Phrases for a path or a class, as a profile has them."""

    paths: Mapping[Signature, tuple[str, ...]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Lexicon:
    """The words of one knowledge base, as stems.

    Args:
        analyzer: makes stems.
        classes: IRIs.
        labels: of classes and predicates, by IRI.
        said: phrases.
    """

    def __init__(self, analyzer: Analyzer, classes: Iterable[str], labels: Mapping[str, str], said: Said):
        self._analyzer, self._stemmer = analyzer, analyzer.stemmer("")
        self._labels = labels
        self.class_words = {iri: self._class_words(iri, said) for iri in classes}
        self._phrases = {path: [self._stems(one) for one in phrases] for path, phrases in said.paths.items()}
        self.relation_words = lru_cache(None)(self._relation_words)
        self._phrases_of = lru_cache(MAX_PATHS)(self._read_phrases)
        self._parts_of = lru_cache(MAX_PATHS)(self._read_parts)

    def name(self, iri: str) -> str:
        """The label of a class or a predicate, or the words of its IRI."""
        return self._labels.get(iri) or local_name(iri) or iri

    def cue(
        self, steps: Sequence[Step], start: str, before: Sequence[QuestionWord], after: Sequence[QuestionWord]
    ) -> float:
        """How far the words around a mention of an instance of class `start` speak of a path, 0..1."""
        path = tuple(steps)
        return max(self._cue(path, start, stems_of(before)), BEHIND * self._cue(path, start, stems_of(after)))

    def _cue(self, steps: tuple[Step, ...], start: str, stems: Stems) -> float:
        inside = set(stems)
        best = 0.0
        for phrase, content in self._phrases_of(steps):
            if _contains(stems, phrase):
                return 1.0
            if len(content) > 1:
                best = max(best, PARTLY * len(content & inside) / len(content))
        parts = self._parts_of(steps, start)
        return max(best, PARTLY * sum(not part.isdisjoint(inside) for part in parts) / len(parts) if parts else 0.0)

    def _read_phrases(self, steps: tuple[Step, ...]) -> tuple[tuple[Stems, frozenset[str]], ...]:
        """The phrases of a path, or of one of the alternatives of its only step, each with its words of content."""
        phrases = [*self._phrases.get(signature(steps), ())]
        if len(steps) == 1 and steps[0].others:
            for predicate, inverse in steps[0].alternatives:
                phrases += self._phrases.get(((predicate, inverse),), ())
        return tuple((phrase, frozenset(phrase) - FILLERS) for phrase in phrases)

    def _read_parts(self, steps: tuple[Step, ...], start: str) -> tuple[frozenset[str], ...]:
        """The words of each relation and class on the way, without those that have none of their own."""
        ends = self.class_words.get(start, frozenset()) | self.class_words.get(steps[-1].target, frozenset())
        parts = []
        for number, step in enumerate(steps):
            own = self.step_words(step) - ends
            if number < len(steps) - 1:
                own = own | self.class_words.get(step.target, frozenset())
            if own:
                parts.append(own)
        return tuple(parts)

    def step_words(self, step: Step) -> frozenset[str]:
        """The words of a step: those of all its predicates."""
        return frozenset[str]().union(*(self.relation_words(predicate) for predicate, _ in step.alternatives))

    def _relation_words(self, predicate: str) -> frozenset[str]:
        named = f"{self._labels.get(predicate, '')} {local_name(predicate)}"
        phrases = [stem for path, some in self._phrases.items() if [one for one, _ in path] == [predicate]
                   for phrase in some for stem in phrase]  # fmt: skip
        return frozenset(self._stems(named)) | frozenset(phrases) - FILLERS

    def _class_words(self, iri: str, said: Said) -> frozenset[str]:
        named = [self._labels.get(iri, ""), local_name(iri), *said.classes.get(iri, ())]
        return frozenset(stem for text in named for stem in self._stems(text)) - FILLERS

    def _stems(self, text: str) -> Stems:
        words = self._analyzer.words(text.replace("_", " "))
        return tuple(self._analyzer.term(word, self._stemmer) or word.casefold() for word in words)


def signature(steps: Sequence[Step]) -> Signature:
    """The path from the answers to the anchor, for steps from the anchor to the answers.

    Alternatives are one predicate, written in full.

    >>> signature([Step("x:in", True, "x:Person"), Step("x:wrote", False, "x:Paper")])
    (('x:wrote', True), ('x:in', False))
    """
    return tuple(
        (step.written if step.others else step.predicate, bool(step.others) or not step.inverse)
        for step in reversed(steps)
    )


def _contains(stems: Sequence[str], phrase: Stems) -> bool:
    size = len(phrase)
    return any(tuple(stems[at : at + size]) == phrase for at in range(len(stems) - size + 1))
