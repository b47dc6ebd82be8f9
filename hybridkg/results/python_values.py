"""Plain Python values of many cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hybridkg.rdf.term_texts import BLANK_TAG, IRI_TAG, UNBOUND_TAG, TextForm, literal_of
from hybridkg.rdf.terms import NUMBERS, XSD_STRING, Triple, number_or_text, term_text, to_python


class PythonValue(TextForm[Any]):
    """The value of `to_python` for each term, None for unbound.

    >>> PythonValue().of_tag("http://www.w3.org/2001/XMLSchema#integer")("7")
    7
    """

    def of_tag(self, tag: str) -> Callable[[str], Any]:
        """As TextForm has it."""
        if tag == UNBOUND_TAG:
            return lambda text: None
        if tag == BLANK_TAG:
            return lambda text: f"_:{text}"
        if tag in (IRI_TAG, XSD_STRING.value) or tag.startswith("@"):
            return str
        if (number := NUMBERS.get(tag)) is not None:
            return lambda text: number_or_text(number, text)
        return lambda text: to_python(literal_of(tag, text))

    def of_doubles(self, numbers: Sequence[float]) -> list[Any]:
        """As TextForm has it; the text of a double reads back as the same number."""
        return list(numbers)

    def of_triple(self, triple: Triple) -> str:
        """As TextForm has it."""
        return term_text(triple)


PYTHON_VALUE = PythonValue()
"""The one of all results: it knows the functions of the tags that it has met."""
