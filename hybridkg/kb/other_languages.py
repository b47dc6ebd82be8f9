"""The languages under which the literals of a text index have words that a search did not find."""

from __future__ import annotations

from dataclasses import replace

from hybridkg.interfaces.text_index import FieldChoice, TextIndex, TextQuery, speaks

MAX_LANGUAGES = 20
"""Languages that are tried; each costs a look-up of the terms."""


def languages_with(query: TextQuery, index: TextIndex) -> tuple[str, ...]:
    """The languages, without sub-tags, in whose literals a term of the query occurs once it is analysed as theirs.

    A query that names a language, its own or that of a field, is asked about no other.
    """
    if query.language or any(choice.language for choice in query.fields):
        return ()
    choices = query.fields or tuple(map(FieldChoice, index.fields))
    tags = {choice.name: index.languages_of(choice.name) for choice in choices}
    languages = sorted({tag.split("-", 1)[0] for own in tags.values() for tag in own if tag})
    found = []
    for language in languages[:MAX_LANGUAGES]:
        speaking = tuple(
            replace(choice, language=language)
            for choice in choices
            if any(speaks(tag, language) for tag in tags[choice.name])
        )
        if any(term.df and term.role != "not" for term in index.terms(query._replace(fields=speaking))):
            found.append(language)
    return tuple(found)


def tagged(languages: tuple[str, ...]) -> str:
    """`@de`, `@de and @fr`, `@de, @fr and @nl`.

    >>> tagged(("de",)), tagged(("de", "fr", "nl"))
    ('@de', '@de, @fr and @nl')
    """
    *first, last = (f"@{language}" for language in languages)
    return f"{', '.join(first)} and {last}" if first else last
