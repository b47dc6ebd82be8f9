"""Kinds of predicates by what their values look like."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from hybridkg.entities.profile.identifier_names import says_identifier
from hybridkg.entities.profile.labels import LABEL_PREDICATES, speaking
from hybridkg.kb.profile_suggestion.figures import PredicateFigures
from hybridkg.rdf.namespaces import last_part
from hybridkg.rdf.terms import RDF_LANG_STRING, XSD, XSD_STRING, Literal

LONG_WORDS = 12.0
"""Mean words from which a text is long: a title has some ten."""

MOST = 0.8
"""Share of a sample from which it counts as all."""

NEARLY_UNIQUE = 0.95
"""Distinct objects for each triple, from which numbers may identify their subjects."""

UNIQUE = 0.8
"""Distinct objects for each triple, from which values name their subjects."""

LABEL_COVERAGE = 0.02
"""Share of the nodes with text that have a predicate, below which its values are not taken for names."""

OPAQUE_LENGTH = 24
"""Characters of a word from which nobody types it."""

WORTH_FOLLOWING = 0.5
"""Share of linked nodes with a label, from which a link is followed."""

NAMING = frozenset(("label", "name", "title", "preflabel", "fullname", "heading"))
"""Names of predicates that name their subjects, letters and digits in lower case."""

ALIASES = frozenset(
    (
        *("alias", "aliases", "alsoknownas", "alternatename", "alternativelabel", "alternativename", "alternativeterm"),
        *("altlabel", "hasbroadsynonym", "hasexactsynonym", "hasnarrowsynonym", "hasrelatedsynonym", "nickname"),
        *("othername", "othernames", "synonym", "synonyms"),
    )
)
"""Names of predicates with further names, letters and digits in lower case."""

DESCRIBING = frozenset(
    ("description", "comment", "summary", "abstract", "definition", "note", "notes", "text", "body", "content")
)
"""Names of predicates that describe their subjects, letters and digits in lower case: such a text is no name, however
short."""

SENTENCE_WORDS = 5.0
"""Mean words from which a description is a text of its own, and not a value."""

UNFOLLOWED = frozenset(("sameAs", "isDefinedBy", "first", "rest", "exactMatch", "closeMatch", "wasDerivedFrom"))
"""Local names of links that lead to no other thing."""

_ADDRESS = re.compile(r"(?:https?|ftp|mailto|urn):\S+")
_CODE = re.compile(r"(?=\S*[\d_/.:-])\S{2,}")
_UNIT = (
    r"%|[$€£¥]|EUR|USD|GBP|CHF|JPY|°C|°F|K|(?:k|m|c|d|µ)?m|(?:k|m|µ)?g|(?:m|c|d)?l|m?s|min|h|[kMG]?Hz|k?W|kWh|V|mAh|"
    r"[kMGT]B|inch|in|ft|lbs?|oz|px|pcs|pt"
)
_NUMBER = re.compile(
    rf"(?:[A-Z]{{3}}\s+|[$€£¥]\s*)?[+-]?\d[\d.,'\s]*(?:e[+-]?\d+)?\s*(?:{_UNIT})?"
    r"|\d{4}-\d\d(?:-\d\d(?:[T ].*)?)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}",
    re.IGNORECASE,
)
"""A number, alone or with a currency or a unit, or a date."""

_GTIN_LENGTHS = (8, 12, 13, 14)


class PredicateKind(Enum):
    """The role of a predicate in the text of its subjects."""

    LABEL = "names"
    LONG = "long texts"
    SHORT = "short texts"
    IDENTIFIER = "identifiers"
    ADDRESS = "addresses"
    OPAQUE = "codes that nobody types"
    VALUE = "numbers, dates and other values"
    LINK = "links to nodes with labels"
    BARE_LINK = "links to nodes without labels"


@dataclass(frozen=True)
class JudgedPredicate:
    """A predicate with its kind, and the figures that decided.

    Args:
        figures: of the predicate.
        kind: its kind.
        words: mean words of the sampled texts.
        languages: (language tag, share of the sampled texts) of tagged ones, most frequent first.
    """

    figures: PredicateFigures
    kind: PredicateKind
    words: float = 0.0
    languages: tuple[tuple[str, float], ...] = ()


def judge(figures: PredicateFigures, subjects: int) -> JudgedPredicate:
    """The kind of a predicate in a graph with so many subjects that have a literal."""
    if figures.nodes > 0.5:
        return JudgedPredicate(figures, _kind_of_link(figures))
    texts = [one for one in figures.literals if one.datatype in (XSD_STRING, RDF_LANG_STRING)]
    if len(texts) < 0.5 * len(figures.literals) or not texts:
        integers = [one.value for one in figures.literals if one.datatype.value == XSD + "integer"]
        is_identifier = len(integers) >= MOST * len(figures.literals) > 0 and _identifies(figures, integers)
        return JudgedPredicate(figures, PredicateKind.IDENTIFIER if is_identifier else PredicateKind.VALUE)
    words = sum(len(one.value.split()) for one in texts) / len(texts)
    return JudgedPredicate(
        figures, _kind_of_text(figures, [one.value for one in texts], words, subjects), words, _tags(texts)
    )


def _identifies(figures: PredicateFigures, numbers: Sequence[str]) -> bool:
    """Whether numbers are identifiers and no quantities: nearly all distinct, and by the name of the predicate or by
    their form, as those with leading zeros or with the check digit of a GTIN (EAN, UPC, ISBN-13).
    """
    if figures.uniqueness < NEARLY_UNIQUE:
        return False
    is_padded = len({len(one) for one in numbers}) == 1 and any(one.startswith("0") and len(one) > 1 for one in numbers)
    return (
        says_identifier(figures.name)
        or (is_padded and all(map(str.isdigit, numbers)))
        or _share(numbers, is_gtin) >= MOST
    )


def is_gtin(text: str) -> bool:
    """Whether a text is a GTIN with its check digit (GS1 General Specifications, section 7.9).

    >>> is_gtin("4006381333931"), is_gtin("4006381333932")
    (True, False)
    """
    if len(text) not in _GTIN_LENGTHS or not (text.isascii() and text.isdigit()):
        return False
    return sum(int(digit) * (1, 3)[place % 2] for place, digit in enumerate(reversed(text))) % 10 == 0


def _kind_of_link(figures: PredicateFigures) -> PredicateKind:
    if last_part(figures.iri) in UNFOLLOWED:
        return PredicateKind.BARE_LINK
    if figures.labelled >= WORTH_FOLLOWING:
        return PredicateKind.LINK
    return PredicateKind.LINK if speaking(figures.linked) >= MOST else PredicateKind.BARE_LINK


def _kind_of_text(figures: PredicateFigures, texts: Sequence[str], words: float, subjects: int) -> PredicateKind:
    if _share(texts, lambda text: bool(_ADDRESS.fullmatch(text.strip()))) >= MOST:
        return PredicateKind.ADDRESS
    if _share(texts, lambda text: len(text) >= OPAQUE_LENGTH and not any(map(str.isspace, text))) >= MOST:
        return PredicateKind.OPAQUE
    name = _letters(figures.name)
    if figures.iri in LABEL_PREDICATES or name in NAMING | ALIASES:
        return PredicateKind.LABEL if words < 2 * LONG_WORDS else PredicateKind.LONG
    if name in DESCRIBING and words >= SENTENCE_WORDS:
        return PredicateKind.LONG
    if _share(texts, lambda text: bool(_NUMBER.fullmatch(text.strip()))) >= 0.5:
        return PredicateKind.IDENTIFIER if _identifies(figures, texts) else PredicateKind.SHORT
    is_unique = figures.uniqueness >= UNIQUE
    if is_unique and _share(texts, lambda text: bool(_CODE.fullmatch(text))) >= MOST:
        return PredicateKind.IDENTIFIER
    if words >= LONG_WORDS:
        return PredicateKind.LONG
    names = is_unique and figures.subjects >= LABEL_COVERAGE * subjects and figures.triples <= 1.5 * figures.subjects
    return PredicateKind.LABEL if names and words >= 1.5 and name not in DESCRIBING else PredicateKind.SHORT


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name)).lower()


def naming_rank(one: JudgedPredicate) -> int:
    """The preference of a predicate as the name that is shown, 0 for the first: well-known ones in their order, those
    with a naming local name, aliases, then those whose values only look like names.

    >>> figures = PredicateFigures("http://e/title", 1, 1, 1, 0.0)
    >>> naming_rank(JudgedPredicate(figures, PredicateKind.LABEL))
    13
    """
    iri, name = one.figures.iri, _letters(one.figures.name)
    if name in ALIASES:
        return len(LABEL_PREDICATES) + 1
    if iri in LABEL_PREDICATES:
        return LABEL_PREDICATES.index(iri)
    return len(LABEL_PREDICATES) + (0 if name in NAMING else 2)


def _share(texts: Sequence[str], holds: Callable[[str], bool]) -> float:
    return sum(map(holds, texts)) / len(texts)


def _tags(texts: Sequence[Literal]) -> tuple[tuple[str, float], ...]:
    counts = Counter((one.language or "").lower() for one in texts)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((tag, n / len(texts)) for tag, n in ordered if tag)
