"""The words of a question that a reading does not cover: they rank its answers."""

from __future__ import annotations

from collections.abc import Sequence

from hybridkg.asking.base import AskedBase
from hybridkg.asking.conjunction import SURE_LINK, Conjunction
from hybridkg.asking.features import WINDOW
from hybridkg.asking.lexicon import FILLERS
from hybridkg.asking.mentions import NameMention
from hybridkg.asking.slots import Step
from hybridkg.asking.targets import REQUESTS
from hybridkg.asking.words import Question, QuestionWord


def ranking_text(question: Question, reading: Conjunction, base: AskedBase) -> str:
    """The words that rank the answers of a reading: those that it does not cover, if these are not only stop words.

    Otherwise all but the names of its nodes, because the node of a name has the best score for it, and is no answer:
    "director of Alien" would find the film. If these are only stop words as well, all words.
    """
    text = uncovered_text(question, reading, base)
    if text:
        return text
    names = {
        at
        for mention, path in reading.paths
        if path.node.confidence >= SURE_LINK
        for at in range(mention.first, mention.behind)
    }
    return _written([word for at, word in enumerate(question.words) if at not in names]) or question.text


def uncovered_text(question: Question, reading: Conjunction, base: AskedBase) -> str:
    """The words that neither a constraint nor its cues have; empty if only stop words are left."""
    used: set[int] = set()
    for value in reading.values:
        used.update(range(value.first, value.behind))
    for mention, path in reading.paths:
        if path.node.confidence >= SURE_LINK:
            used.update(range(mention.first, mention.behind))
        for steps in path.paths:
            used |= _cue_words(question, mention, steps, base)
    for number, word in enumerate(question.words):
        if word.text == reading.target.word or word.raw.casefold() in REQUESTS:
            used.add(number)
    kept = [word for number, word in enumerate(question.words) if number not in used]
    if question.is_cut:
        return " ".join([*(word.text for word in kept), question.text[question.words[-1].end :].strip()])
    return _written(kept)


def _written(words: Sequence[QuestionWord]) -> str:
    """The words; empty if all are stop words."""
    return " ".join(word.text for word in words) if any(not word.is_stop for word in words) else ""


def _cue_words(question: Question, mention: NameMention, steps: Sequence[Step], base: AskedBase) -> set[int]:
    """Numbers of the words near a mention that name its path."""
    names = {stem for step in steps for stem in base.lexicon.step_words(step)} - FILLERS
    names |= {stem for step in steps for stem in base.lexicon.class_words.get(step.target, ())}
    near = [*range(mention.first - WINDOW, mention.first), *range(mention.behind, mention.behind + WINDOW)]
    return {at for at in near if 0 <= at < len(question.words) and question.words[at].stem in names}
