"""Texts of many terms as one run of bytes, for writers that need no object for each term."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import BaseDirection

from hybridkg.rdf.string_bytes import decoded
from hybridkg.rdf.terms import (
    XSD_DOUBLE,
    XSD_STRING,
    BlankNode,
    Literal,
    NamedNode,
    Term,
    Triple,
    double_text,
)

T = TypeVar("T")

UNBOUND_TAG: Final = ""
IRI_TAG: Final = "<>"
BLANK_TAG: Final = "_:"
PLAIN_TAGS: Final = (UNBOUND_TAG, IRI_TAG, BLANK_TAG, XSD_STRING.value)
"""The first tags of TermTexts.tags; their places are those of UNBOUND, IRI, BLANK and STRING."""

TaggedTexts: TypeAlias = tuple[list[str], list[str]]
"""The tag (TermTexts.tags) of each of some terms, and their texts."""

UNBOUND_KIND, IRI_KIND, BLANK_KIND, STRING_KIND = range(len(PLAIN_TAGS))


@dataclass(frozen=True, eq=False)
class TermTexts:
    """The texts of n terms, none of which is a triple.

    Args:
        tags: what the terms have beside their texts: "" unbound, "<>" IRI, "_:" blank node, "@en" language, "@ar--rtl"
            language and direction, else the datatype; the first are PLAIN_TAGS.
        kinds: int[n], place of each term's tag in `tags`.
        data: uint8[bytes], the texts in UTF-8, one after another: the IRI, the label without `_:`, the lexical form.
        offsets: int64[n + 1], where each text begins; the last one is the number of bytes.

    >>> texts = TermTexts.of([Literal("é", language="fr"), None, NamedNode("x:a")])
    >>> texts.strings(), [texts.tags[kind] for kind in texts.kinds], texts.offsets.tolist()
    (['é', '', 'x:a'], ['@fr', '', '<>'], [0, 2, 2, 5])
    """

    tags: tuple[str, ...]
    kinds: NDArray[Any]
    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    @classmethod
    def of(cls, terms: Sequence[Term | None]) -> TermTexts | None:
        """The texts of terms; None if one is a triple."""
        tags = {tag: kind for kind, tag in enumerate(PLAIN_TAGS)}
        kinds = np.empty(len(terms), np.int64)
        texts: list[bytes] = []
        for place, term in enumerate(terms):
            if isinstance(term, Triple):
                return None
            kinds[place] = tags.setdefault(tag_of(term), len(tags))
            texts.append(b"" if term is None else term.value.encode())
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) for text in texts], out=offsets[1:])
        return cls(tuple(tags), kinds, np.frombuffer(b"".join(texts), np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.kinds)

    def strings(self) -> list[str]:
        """The texts; about 100 ns each."""
        return decoded(self.data, self.offsets)

    @property
    def present(self) -> list[int]:
        """The kinds that occur, ascending."""
        present: list[int] = np.flatnonzero(np.bincount(self.kinds, minlength=1)).tolist()
        return present


def tag_of(term: NamedNode | BlankNode | Literal | None) -> str:
    """The tag of a term, as TermTexts.tags has it.

    >>> tag_of(Literal("rot", language="de"))
    '@de'
    """
    match term:
        case None:
            return UNBOUND_TAG
        case NamedNode():
            return IRI_TAG
        case BlankNode():
            return BLANK_TAG
    if not term.language:
        return term.datatype.value
    direction = getattr(term, "direction", None)  # of RDF 1.2, with some versions of pyoxigraph
    return f"@{term.language}" if direction is None else f"@{term.language}--{direction.value}"


def tagged(terms: Sequence[Term | None]) -> TaggedTexts:
    """The tags and the texts of terms, none of which is a triple.

    >>> tagged([Literal("rot", language="de"), NamedNode("e:a"), None])
    (['@de', '<>', ''], ['rot', 'e:a', ''])
    """
    tags, texts = list[str](), list[str]()
    for term in terms:
        assert not isinstance(term, Triple)
        tags.append(tag_of(term))
        texts.append("" if term is None else term.value)
    return tags, texts


def is_language(tag: str) -> bool:
    """Whether a tag is a language without a direction: literals of rdf:langString."""
    return tag.startswith("@") and "--" not in tag


def language_of(tag: str) -> tuple[str, str]:
    """(language, base direction or "") of a tag that begins with `@`.

    >>> language_of("@ar--rtl"), language_of("@en")
    (('ar', 'rtl'), ('en', ''))
    """
    language, _, direction = tag[1:].partition("--")
    return language, direction


def literal_of(tag: str, text: str) -> Literal:
    """The literal with a tag.

    >>> str(literal_of("@en", "red"))
    '"red"@en'
    """
    if not tag.startswith("@"):
        return Literal(text, datatype=NamedNode(tag))
    language, direction = language_of(tag)
    return literal_with(text, language, direction or None)


def literal_with(text: str, language: str, direction: str | None) -> Literal:
    """The literal with a language, and with a base direction unless it is None.

    >>> str(literal_with("red", "en", None)), str(literal_with("red", "en", "ltr"))
    ('"red"@en', '"red"@en--ltr')
    """
    if direction is None:
        return Literal(text, language=language)
    return Literal(text, language=language, direction=BaseDirection(direction))


class TextForm(Generic[T]):
    """A function of terms, such as their form in a file, by what they have beside their text. No ABC: columns ask for
    each of their mappings whether it is one, which takes 0.3 us then.

    >>> class Length(TextForm[int]):
    ...     def of_tag(self, tag):
    ...         return len
    ...     def of_triple(self, triple):
    ...         return 0
    >>> Length()(Literal("red")), Length().of_texts(TermTexts.of([None, NamedNode("x:a")]))
    (3, [0, 3])
    """

    def __init__(self) -> None:
        self._of_tag: dict[str, Callable[[str], T]] = {}

    @abstractmethod
    def of_tag(self, tag: str) -> Callable[[str], T]:
        """The function of the texts of terms with a tag (TermTexts.tags); called once for each tag."""

    @abstractmethod
    def of_triple(self, triple: Triple) -> T:
        """The value for a triple term."""

    def __call__(self, term: Term | None) -> T:
        if isinstance(term, Triple):
            return self.of_triple(term)
        return self._known(tag_of(term))("" if term is None else term.value)

    def of_tagged(self, tagged: TaggedTexts) -> list[T]:
        """The value of each of a few terms by their tags and texts."""
        (tags, texts), known = tagged, self._known
        if tags and tags.count(tags[0]) == len(tags):
            return list(map(known(tags[0]), texts))
        return [known(tag)(text) for tag, text in zip(tags, texts, strict=True)]

    def of_doubles(self, numbers: Sequence[float]) -> list[T]:
        """The value of `double` of each number."""
        return list(map(self._known(XSD_DOUBLE.value), map(double_text, numbers)))

    def of_texts(self, texts: TermTexts) -> list[T]:
        """The value of each term."""
        strings, kinds = texts.strings(), texts.present
        if len(kinds) == 1:
            return list(map(self._known(texts.tags[kinds[0]]), strings))
        of_kind = {kind: self._known(texts.tags[kind]) for kind in kinds}
        return [of_kind[kind](text) for kind, text in zip(texts.kinds.tolist(), strings, strict=True)]

    def _known(self, tag: str) -> Callable[[str], T]:
        function = self._of_tag.get(tag)
        if function is None:
            function = self._of_tag[tag] = self.of_tag(tag)
        return function


class AsTerm(TextForm[Term | None]):
    """The terms themselves."""

    def of_tag(self, tag: str) -> Callable[[str], Term | None]:
        """As TextForm has it."""
        if tag == UNBOUND_TAG:
            return lambda text: None
        if tag == IRI_TAG:
            return NamedNode
        if tag == BLANK_TAG:
            return BlankNode
        if tag == XSD_STRING.value:
            return Literal
        if is_language(tag):
            language = tag[1:]
            return lambda text: Literal(text, language=language)
        if tag.startswith("@"):
            return lambda text: literal_of(tag, text)
        datatype = NamedNode(tag)
        return lambda text: Literal(text, datatype=datatype)

    def of_triple(self, triple: Triple) -> Term:
        """As TextForm has it."""
        return triple


class TermsOfTexts(Sequence[Term]):
    """The bound terms of some texts, which are made when one is first read.

    >>> terms = TermsOfTexts(TermTexts.of([Literal("é", language="fr")]))
    >>> len(terms), str(terms[0])
    (1, '"é"@fr')
    """

    def __init__(self, texts: TermTexts):
        self.texts = texts

    @cached_property
    def _terms(self) -> list[Any]:
        return AsTerm().of_texts(self.texts)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: Any) -> Any:
        return self._terms[place]
