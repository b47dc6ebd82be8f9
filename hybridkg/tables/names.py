"""Names of classes and predicates from file names and headers, and languages in headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, count

from hybridkg.tables.mapping import iri_safe

_CODES = """
ar bg bn ca cs cy da de el en es et eu fa fi fr ga gl he hi hr hu hy it ja ka ko lt lv mk nb nl nn pl pt ro ru sk sl sq
sr sv ta te th tr uk ur vi zh
"""
LANGUAGES = frozenset(_CODES.split())
"""Languages of ISO 639-1 in which a header may end; those that are words or abbreviations, such as `id`, are none."""

_REFERENCE = re.compile(r"(.*?\w)(?:[_.\- ][Ii][Dd]s?|(?<=[a-z])I[Dd]s?)")
"""A header that ends in `_id`, `-ids` and the like, or in camel case in `Id` or `ID`."""

_MARKED = re.compile(r"(.+)@([A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8})*)")
_SUFFIXED = re.compile(r"(.+?)[_.\- ]([a-z]{2})(?:[_-]([A-Za-z]{2}))?")

RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
RDFS_COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
"""Predicates of the fields `label` and `description` of the default profile."""

LABELS = ("label", "name", "title")
"""Headers of names of entities, from the first choice on."""

DESCRIPTIONS = frozenset({"description", "abstract", "summary", "comment"})
"""Headers of texts about entities."""


def local_name(header: str) -> str:
    """The last part of the predicate of a header: spaces become `_`, and what an IRI cannot have is percent-encoded."""
    return iri_safe(re.sub(r"\s+", "_", header))


def local_names(headers: Sequence[str]) -> dict[str, str]:
    """The last part of the predicate of each header; no two headers have the same.

    Spaces become `_`, and what an IRI cannot have is percent-encoded. Headers that would have the same name are
    percent-encoded as they are, and that is one to one.

    >>> local_names(["release date", "50%"])
    {'release date': 'release_date', '50%': '50%25'}
    >>> local_names(["a b", "a_b"])
    {'a b': 'a%20b', 'a_b': 'a_b'}
    """
    names = {header: local_name(header) for header in headers}
    while True:
        counts = Counter(names.values())
        wrong = [header for header, name in names.items() if counts[name] > 1 and name != iri_safe(header)]
        if not wrong:
            return names
        names |= {header: iri_safe(header) for header in wrong}


def ends_as_reference(header: str) -> bool:
    """Whether a header ends as those of references do: `brand_id`, `brandId`."""
    return _REFERENCE.fullmatch(header) is not None


def reference_names(header: str, table: str, key: str, taken: Collection[str] = (), own: str = "") -> Iterator[str]:
    """The last parts of the predicate that a column of references may get, the first choice first, without end.

    Args:
        header: of the column.
        table: the name of the table that it refers to.
        key: the header of the column that identifies the rows there, whose predicate it does not get.
        taken: names of the predicates of all columns.
        own: the one of them that this column had as a column of texts.

    >>> next(reference_names("main_brand_id", "brands", "id")), next(reference_names("imdb_id", "films", "imdb_id"))
    ('main_brand', 'film')
    >>> names = reference_names("brand_id", "brands", "id", {"brand_id", "brand"}, "brand_id")
    >>> next(names), next(names)
    ('brand_ref', 'brand_ref2')
    """
    ending = _REFERENCE.fullmatch(header)
    stem = ending[1] if ending else header
    rows = singular(table)
    same = [rows[:1].lower() + rows[1:]] if header.lower() == key.lower() else []
    names = map(local_name, chain(same, [stem, f"{stem}_ref"], (f"{stem}_ref{number}" for number in count(2))))
    return (name for name in names if name != local_name(key) and (name == own or name not in taken))


def class_name(name: str) -> str:
    """The class of the rows of a table, by its name: in the singular of English and in CamelCase.

    >>> class_name("films"), class_name("film_reviews-2024"), class_name("categories")
    ('Film', 'FilmReviews2024', 'Category')
    """
    words = [word for word in re.split(r"[\W_]+", name) if word]
    if words:
        words[-1] = singular(words[-1])
    return iri_safe("".join(word[:1].upper() + word[1:] for word in words)) or "Row"


def singular(word: str) -> str:
    """The singular of a regular English plural; other words as they are.

    >>> [singular(word) for word in ("films", "categories", "class", "status", "people")]
    ['film', 'category', 'class', 'status', 'people']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] not in "sui" else word


def languages(headers: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The name without its language, and the language, of headers that have one.

    `title@en` always has. `title_en` has if another header is called `title` or `title_de`.

    >>> languages(["title@en-GB", "plot_en", "plot_de", "film_id", "film"])
    {'title@en-GB': ('title', 'en-gb'), 'plot_en': ('plot', 'en'), 'plot_de': ('plot', 'de')}
    """
    found: dict[str, tuple[str, str]] = {}
    suffixed: dict[str, tuple[str, str]] = {}
    for header in headers:
        if marked := _MARKED.fullmatch(header):
            found[header] = marked[1].strip(), marked[2].lower()
        elif (end := _SUFFIXED.fullmatch(header)) and end[2] in LANGUAGES:
            suffixed[header] = end[1], f"{end[2]}-{end[3].lower()}" if end[3] else end[2]
    stems = Counter(stem for stem, _ in suffixed.values())
    plain = {*headers}
    return found | {
        header: (stem, language) for header, (stem, language) in suffixed.items() if stems[stem] > 1 or stem in plain
    }
