"""Synonyms: other words that a query means as well. They are read from a file and kept with the index.

The format is that of Solr and Elasticsearch:

    ny, nyc, new york          any of these means all of them
    colour => color            what stands left means what stands right, and itself no more
    # a comment

A backslash makes the next character plain. Entries are analysed as the words
of a query are, by the analyzer of each field, so case and endings do not
matter. They are alternatives of one item: an entity that says it in two ways
has said it twice, and what is rare is how many entities say it at all.
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
"""In the folder of a text index: what it was built with."""

FIRST_LINE = "# hybridkg synonyms 1"
"""Of that file; the number is the version of how rules are read."""

MAX_FILE_BYTES = 8_000_000
"""Bytes; WordNet's synonyms are about 3 million."""

MAX_RULES = 100_000
MAX_ENTRIES = 100
"""Of one rule."""

MAX_ALTERNATIVES = 1_000
"""That an entry gets from all rules together."""

MAX_ENTRY_LENGTH = 200
"""Characters."""

MAX_TABLES = 8
"""Analyzers and languages for which an open index remembers the analysed rules."""

ARROW = "=>"

EntryReader = Callable[[str, Analyzer, str], tuple[tuple[str, ...], tuple[Words, ...]]]
"""From an entry to its terms and the alternatives that it stands for."""


@dataclass(frozen=True)
class SynonymRule:
    """Whoever writes one of `given` means all of `meant`."""

    given: tuple[str, ...]
    meant: tuple[str, ...]

    def line(self) -> str:
        """As it stands in a file."""
        sides = (self.given,) if self.given == self.meant else (self.given, self.meant)
        return f" {ARROW} ".join(", ".join(map(_escaped, side)) for side in sides)


@dataclass(frozen=True)
class SynonymTable:
    """The rules as one analyzer reads them, in one language.

    Args:
        alternatives: the terms of an entry -> what is looked for in its place.
        firsts: the first terms of those entries.
        longest: the number of terms of the longest of them.
    """

    alternatives: dict[tuple[str, ...], tuple[Words, ...]]
    firsts: frozenset[str]
    longest: int


@dataclass(frozen=True)
class Synonyms:
    """The rules of a file; safe to use from many threads."""

    rules: tuple[SynonymRule, ...]
    _tables: dict[tuple[str, str], SynonymTable] = field(default_factory=dict, compare=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def table(self, analyzer: Analyzer, stemmer: str, read: EntryReader) -> SynonymTable:
        """The rules as an analyzer reads them; remembered."""
        key = (analyzer.chain, stemmer)
        known = self._tables.get(key)
        if known is None:
            known = self._made(analyzer, stemmer, read)
            with self._lock:
                if len(self._tables) >= MAX_TABLES:
                    self._tables.clear()
                self._tables[key] = known
        return known

    def _made(self, analyzer: Analyzer, stemmer: str, read: EntryReader) -> SynonymTable:
        found: dict[tuple[str, ...], dict[Words, None]] = {}
        known: dict[str, tuple[tuple[str, ...], tuple[Words, ...]]] = {}
        for rule in self.rules:
            for entry in (*rule.given, *rule.meant):
                if entry not in known:
                    known[entry] = read(entry, analyzer, stemmer)
            meant = dict.fromkeys(words for entry in rule.meant for words in known[entry][1])
            for entry in rule.given:
                terms, own = known[entry]
                if any(terms):
                    # What was written comes first, so that it is what is shown.
                    first = dict.fromkeys(words for words in own if words in meant)
                    found.setdefault(terms, {}).update(first | meant)
        tables = {terms: tuple(alternatives) for terms, alternatives in found.items() if alternatives}
        return SynonymTable(tables, frozenset(terms[0] for terms in tables), max(map(len, tables), default=1))

    def text(self) -> str:
        """The rules as the file of an index holds them: no comments, one way to write each."""
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
    """The rules in a text; `name` is the file that an error points to.

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
    found = [tuple(" ".join(entry.split()) for entry in side) for side in sides]
    if found == [("",)]:
        return None
    if len(found) > 2:
        raise ConfigError(f"two {ARROW!r} in one rule of synonyms", place=place)
    for side in found:
        for entry in side:
            if not any(map(str.isalnum, entry)):
                what = f"{entry!r} has no word" if entry else "an entry is missing"
                hint = "rules are written 'a, b, c' or 'a, b => c'; a backslash makes a comma plain"
                raise ConfigError(f"in this rule of synonyms {what}", hint=hint, place=place)
            if len(entry) > MAX_ENTRY_LENGTH:
                raise ConfigError(f"an entry of more than {MAX_ENTRY_LENGTH} characters", place=place)
        if len(side) > MAX_ENTRIES:
            raise ConfigError(f"more than {MAX_ENTRIES} entries in one rule of synonyms", place=place)
    if len(found) == 1 and len(found[0]) == 1:
        raise ConfigError(
            f"{found[0][0]!r} alone says nothing", hint="rules are written 'a, b, c' or 'a, b => c'", place=place
        )
    return found


def _pieces(line: str) -> Iterator[str]:
    """Characters, and those that mean something as pieces of their own: `,` `=>` `#`, and `\\x` for a plain x."""
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
        CorruptError: the file is not what was written.
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
