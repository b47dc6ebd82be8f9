"""Notes about parts of a question that change its meaning, and that no constraint has taken over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hybridkg.asking.mentions import NameMention
from hybridkg.asking.values import ABSENCE, comparisons
from hybridkg.asking.words import Question

NEGATIONS = frozenset(("not", "except", "nor", "neither"))
ORDERS = frozenset((
    "most", "oldest", "newest", "latest", "earliest", "youngest", "largest", "biggest", "smallest", "highest", "lowest",
    "longest", "shortest",
))  # fmt: skip


def unread(question: Question, used: frozenset[int], names: Sequence[NameMention]) -> tuple[str, ...]:
    """One sentence for each part that is not understood.

    Args:
        question: the question.
        used: numbers of the words of constraints.
        names: mentions of nodes that are surely names.
    """
    return tuple(dict.fromkeys((*_names(question, used, names), *_values(question, used), *_words(question, used))))


def _names(question: Question, used: frozenset[int], names: Sequence[NameMention]) -> Iterator[str]:
    for one in names:
        words = question.words[one.first : one.behind]
        is_written_as_name = one.first in question.in_quotes or any(word.text[:1].isupper() for word in words)
        if is_written_as_name and used.isdisjoint(range(one.first, one.behind)):
            yield f"{question.written(one.first, one.behind)!r} is a name, and only its words rank"


def _values(question: Question, used: frozenset[int]) -> Iterator[str]:
    taken = used | question.in_quotes
    for first, behind, _ in comparisons(question, taken):
        yield f"{question.written(first, behind)!r} is compared with no property"


def _words(question: Question, used: frozenset[int]) -> Iterator[str]:
    raw = [word.raw.casefold() for word in question.words]
    for at, word in enumerate(raw):
        if at in used or at in question.in_quotes:
            continue
        if word in NEGATIONS:
            yield f"{word!r} is not understood: no constraint is negated"
        elif word == "or":
            yield "'or' is not understood: constraints are joined by 'and'"
        elif word in ABSENCE:
            named = next((n for n in range(at + 1, len(raw)) if not question.words[n].is_stop), len(raw) - 1)
            yield f"{question.written(at, named + 1)!r} is no constraint: it names no relation that some answers lack"
        elif word in ORDERS and raw[at - 1 : at] != ["at"]:
            yield f"{word!r} is not understood: the answers are not put in such an order"
        elif raw[at : at + 2] == ["how", "many"]:
            yield "'how many' is not understood: the answers are listed, not counted"
