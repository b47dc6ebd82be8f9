"""The check that a field of a text index has literals in a language."""

from __future__ import annotations

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.interfaces.text_index import IndexedField, speaks
from hybridkg.registry import did_you_mean

MAX_SHOWN = 20
"""Languages that an error lists."""


def check_language(field: IndexedField, language: str) -> None:
    """Refuses a language that no literal of a field has.

    Raises:
        UnknownNameError: the field has no such literal; the message lists its languages.
        TextQueryError: the index does not store the languages of its literals.

    >>> check_language(IndexedField("title", languages=("de-at", "en")), "de")
    """
    if field.languages is None:
        raise TextQueryError(
            f"this text index does not store languages, which '{field.name}@{language}' needs",
            hint=f'leave "@{language}" out; or: hybridkg index KB --text-engine {TEXT_ENGINES.default}',
        )
    if not any(speaks(tag, language.lower()) for tag in field.languages):
        more = len(field.languages) - MAX_SHOWN
        shown = ", ".join(field.languages[:MAX_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        raise UnknownNameError(
            f"field {field.name!r} has no literal in the language {language!r}; "
            + (f"its languages: {shown}" if field.languages else "none of its literals has a language tag"),
            hint=did_you_mean(language, list(field.languages)) if field.languages else f"write {field.name}",
        )
