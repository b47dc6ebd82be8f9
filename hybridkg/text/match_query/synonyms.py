"""Synonyms: alternative words of a query, read from a file and stored with the index.

The format is that of Solr and Elasticsearch:

    ny, nyc, new york          each of these means all of them
    colour => color            the left side is replaced by the right side
    # a comment

A backslash makes the next character plain. Entries are analysed as the words of a query are, by the analyzer of each
field, so case and inflection do not matter. Synonyms are alternatives of one item: their occurrences are added up, and
df counts the entities that have any of them.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hybridkg.errors import ConfigError, CorruptError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.text.match_query.items import Words

FILE = "synonyms.txt"
"""The file in the folder of a text index with the rules that it was built with."""

FIRST_LINE = "# hybridkg synonyms 1"
"""The first line of that file; the number is the version of the format."""

MAX_FILE_BYTES = 8_000_000
"""WordNet's synonyms are about 3 million bytes."""

MAX_RULES = 100_000
MAX_ENTRIES = 100
"""Entries of one rule."""

MAX_ALTERNATIVES = 1_000
"""Synonyms of an entry over all rules."""

MAX_ENTRY_LENGTH = 200
"""Characters."""

MAX_TABLES = 8
"""Analyzers and languages for which an open index caches the analysed rules."""

ARROW = "=>"

EntryReader = Callable[[str, Analyzer, str], tuple[tuple[str, ...], tuple[Words, ...]]]
"""From an entry to its terms and its alternatives."""


@dataclass(frozen=True)
class SynonymRule:
    """A rule: each entry of `given` means all of `meant`."""

    given: tuple[str, ...]
    meant: tuple[str, ...]

    def line(self) -> str:
        """The rule in the syntax of the file."""
        sides = (self.given,) if self.given == self.meant else (self.given, self.meant)
        return f" {ARROW} ".join(", ".join(map(_escaped, side)) for side in sides)


@dataclass(frozen=True)
class SynonymTable:
    """The rules as analysed by one analyzer for one language.

    Args:
        alternatives: the terms of an entry -> its alternatives.
        firsts: the first terms of those entries.
        longest: the number of terms of the longest entry.
    """

    alternatives: dict[tuple[str, ...], tuple[Words, ...]]
    firsts: frozenset[str]
    longest: int


@dataclass(frozen=True)
class Synonyms:
    """The rules of a file. Safe to use from many threads."""

    rules: tuple[SynonymRule, ...]
    _tables: dict[tuple[str, str], SynonymTable] = field(default_factory=dict, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def table(self, analyzer: Analyzer, stemmer: str, read: EntryReader) -> SynonymTable:
        """The rules analysed by an analyzer; cached."""
        key = (analyzer.chain, stemmer)
        table = self._tables.get(key)
        if table is None:
            table = self._analysed(analyzer, stemmer, read)
            with self._lock:
                if len(self._tables) >= MAX_TABLES:
                    self._tables.clear()
                self._tables[key] = table
        return table

    def _analysed(self, analyzer: Analyzer, stemmer: str, read: EntryReader) -> SynonymTable:
        collected: dict[tuple[str, ...], dict[Words, None]] = {}
        entries: dict[str, tuple[tuple[str, ...], tuple[Words, ...]]] = {}
        for rule in self.rules:
            for entry in (*rule.given, *rule.meant):
                if entry not in entries:
                    entries[entry] = read(entry, analyzer, stemmer)
            meant = dict.fromkeys(words for entry in rule.meant for words in entries[entry][1])
            for entry in rule.given:
                terms, own = entries[entry]
                if any(terms):
                    # The written words come first, because the first alternative is displayed.
                    first = dict.fromkeys(words for words in own if words in meant)
                    collected.setdefault(terms, {}).update(first | meant)
        tables = {terms: tuple(alternatives) for terms, alternatives in collected.items() if alternatives}
        return SynonymTable(tables, frozenset(terms[0] for terms in tables), max(map(len, tables), default=1))

    def text(self) -> str:
        """The rules in the file format of an index: no comments, one syntax for each."""
        return "\n".join([FIRST_LINE, *(rule.line() for rule in self.rules), ""])


NO_SYNONYMS = Synonyms(())


def read_synonyms(path: Path) -> Synonyms:
    """The rules of a file.

    Raises:
        ConfigError: it cannot be read, is too large, or a line is no rule; names the line.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as e:
        raise ConfigError(
            f"cannot read the synonyms: {(e.strerror or str(e)).lower()}",
            hint="'synonyms' in kb.toml is a path from the folder of the knowledge base",
            place=str(path),
        ) from e
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"the file of synonyms is larger than {MAX_FILE_BYTES:,} bytes", place=str(path))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        raise ConfigError("the file of synonyms is not UTF-8 text", place=f"{path}:{line}") from e
    return parse_synonyms(text, str(path))


def parse_synonyms(text: str, name: str) -> Synonyms:
    """The rules in a text; `name` is the file that an error names.

    Raises:
        ConfigError: a line is no rule.

    >>> parse_synonyms("ny, new york # big\\ncolour => color", "synonyms.txt").rules[1].meant
    ('color',)
    """
    rules: list[SynonymRule] = []
    alternatives: Counter[str] = Counter()
    for number, line in enumerate(text.split("\n"), 1):
        place = f"{name}:{number}"
        sides = _sides(line, place)
        if sides is None:
            continue
        if len(rules) == MAX_RULES:
            raise ConfigError(f"more than {MAX_RULES:,} rules of synonyms", place=place)
        rules.append(SynonymRule(sides[0], sides[-1]))
        for entry in sides[0]:
            alternatives[entry.casefold()] += len(sides[-1])
            if alternatives[entry.casefold()] > MAX_ALTERNATIVES:
                raise ConfigError(f"more than {MAX_ALTERNATIVES:,} synonyms of {entry!r}", place=place)
    return Synonyms(tuple(rules))


def _sides(line: str, place: str) -> list[tuple[str, ...]] | None:
    """The entries left and right of an arrow, or of a line without one; None for an empty line."""
    sides: list[list[str]] = [[""]]
    for piece in _pieces(line):
        if piece == "#":
            break
        if piece == ARROW:
            sides.append([""])
        elif piece == ",":
            sides[-1].append("")
        else:
            sides[-1][-1] += piece.removeprefix("\\") or "\\"
    parsed = [tuple(" ".join(entry.split()) for entry in side) for side in sides]
    if parsed == [("",)]:
        return None
    if len(parsed) > 2:
        raise ConfigError(f"two {ARROW!r} in one rule of synonyms", place=place)
    for side in parsed:
        for entry in side:
            if not any(map(str.isalnum, entry)):
                what = f"{entry!r} has no word" if entry else "an entry is missing"
                hint = "rules are written 'a, b, c' or 'a, b => c'; a backslash makes a comma plain"
                raise ConfigError(f"in this rule of synonyms {what}", hint=hint, place=place)
            if len(entry) > MAX_ENTRY_LENGTH:
                raise ConfigError(f"an entry of more than {MAX_ENTRY_LENGTH} characters", place=place)
        if len(side) > MAX_ENTRIES:
            raise ConfigError(f"more than {MAX_ENTRIES} entries in one rule of synonyms", place=place)
    if len(parsed) == 1 and len(parsed[0]) == 1:
        raise ConfigError(
            f"{parsed[0][0]!r} alone has no synonym", hint="rules are written 'a, b, c' or 'a, b => c'", place=place
        )
    return parsed


def _pieces(line: str) -> Iterator[str]:
    """Characters, and as pieces of their own `,` `=>` `#`, and `\\x` for a plain x."""
    at = 0
    while at < len(line):
        width = 2 if line[at] == "\\" or line.startswith(ARROW, at) else 1
        yield line[at : at + width]
        at += width


def _escaped(entry: str) -> str:
    return "".join("\\" + c if c in ",\\#=" else c for c in entry)


def stored_synonyms(folder: Path) -> Synonyms:
    """The rules that the text index in a folder was built with.

    Raises:
        CorruptError: the file is damaged, or of another version.
    """
    path = folder / FILE
    try:
        text = path.read_text(encoding="utf-8")
        if text.partition("\n")[0] != FIRST_LINE:
            raise CorruptError(
                "the synonyms of the text index are of another version", hint="index again", place=str(path)
            )
        return parse_synonyms(text, str(path))
    except FileNotFoundError:
        return NO_SYNONYMS
    except (OSError, UnicodeDecodeError, ConfigError) as e:
        raise CorruptError("the synonyms of the text index are damaged", hint="index again", place=str(path)) from e
