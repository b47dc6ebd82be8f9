"""Completion of queries by the parser's tables and the names of the data.

The symbols that the parser accepts at the cursor determine the kinds of suggestions (keyword, variable, IRI, name ...),
and the symbols on its stack which ones: an IRI after `a` is a class, a name after `USING` is a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

from hybridkg.cli.repl.reading import Reading, all_tokens, declared, in_comment, path, read
from hybridkg.cli.repl.vocabulary import NOTHING, CompletionVocabulary
from hybridkg.interfaces.encoder import ENCODERS
from hybridkg.interfaces.fusion import FUSIONS
from hybridkg.interfaces.ranking_model import RANKING_MODELS
from hybridkg.interfaces.reranker import COMMON, RERANKERS
from hybridkg.query.diagnostics.expected import SOME_FUNCTIONS, advance, kind, symbols
from hybridkg.query.lexer import FUSION, Token
from hybridkg.query.parser import machine
from hybridkg.rdf.terms import RDF_TYPE
from hybridkg.rdf.well_known import WELL_KNOWN, shortened
from hybridkg.text.analysis.languages import STEMMERS

MAX_SUGGESTIONS = 200
"""Length of the menu."""

MAX_TEXT_LENGTH = 50_000
"""Characters above which a query has no completion, because each keystroke reads it again."""

IRI_SYMBOLS = frozenset({"IRIREF", "PNAME_LN", "PNAME_NS"})
VARIABLE, IRI, NAME = kind("VAR1"), kind("IRIREF"), kind("NAME")
PLACEHOLDERS = {
    "VAR1": ("?", "variable"),
    "IRIREF": ("<", "IRI"),
    "STRING_LITERAL2": ('"', "text"),
    "INTEGER": ("10", "number"),
    "DECIMAL": ("0.5", "number"),
    "BLANK_NODE_LABEL": ("_:b", "blank node"),
}
"""(beginning of the token, note in the menu) of terminals that are no fixed word."""

NO_NAME_OF_THE_DATA = frozenset(
    ("PREFIX", "FROM", "NAMED", "BASE", "GRAPH", "SERVICE", "WITH", "USING", "SILENT", "LOAD", "ADD", "MOVE", "COPY",
     "TO")
)  # fmt: skip
"""Keywords before an IRI that is no class, predicate or entity of the graph."""

DATATYPES = ("string", "integer", "decimal", "double", "boolean", "date", "dateTime", "gYear")
WORD_TOKENS = frozenset(
    {"WORD", "NAME", "VAR1", "VAR2", "PNAME_LN", "PNAME_NS", "LANGTAG", "BLANK_NODE_LABEL", "a", FUSION}
)
_OPEN_IRI = re.compile(r'<[^<>"{}|^`\\\s]*\Z')
_IRI = re.compile(r'<[^<>"{}|^`\\\x00- ]*>')


@dataclass(frozen=True)
class Suggestion:
    """One line of the menu.

    Args:
        text: replaces the text between `start` and the cursor.
        start: offset in the text before the cursor.
        kind: kind of token (query/diagnostics/expected.py); a keyword or punctuation is its own kind.
        note: frequency or origin, in the menu.
    """

    text: str
    start: int
    kind: str
    note: str = ""


@dataclass(frozen=True)
class Place:
    """The cursor, with the text around it.

    Args:
        reading: the text before `typed`.
        typed: the beginning of a token; empty where a new token starts.
        tokens: tokens of the whole text.
        prefixes: prefixes of the session; those that the text declares have precedence.
        vocabulary: names of the data.
    """

    reading: Reading
    typed: str
    tokens: Sequence[Token]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    vocabulary: CompletionVocabulary = NOTHING

    @cached_property
    def legal(self) -> frozenset[str]:
        """The symbols that the parser accepts here."""
        return frozenset(symbols(machine().tables, self.reading.states))

    @cached_property
    def path(self) -> list[str]:
        """The symbols on the parser's stack."""
        return path(self.reading.states)

    @cached_property
    def in_force(self) -> dict[str, str]:
        """The prefixes of the session and of the text."""
        return {**self.prefixes, **declared(list(self.tokens))}

    def before(self, back: int = 1) -> Token:
        """A token before the cursor; an empty one if there is none."""
        tokens = self.reading.tokens
        return tokens[-back] if len(tokens) >= back else Token("", "", 0, 0)


def suggest(
    before: str, after: str = "", prefixes: Mapping[str, str] = WELL_KNOWN, vocabulary: CompletionVocabulary = NOTHING
) -> list[Suggestion]:
    """Suggestions at the cursor, likeliest first; none inside a string or a comment, or after a mistake.

    >>> [s.text for s in suggest("SELECT ?film { ?film a ?c } LI")]
    ['LIMIT']
    >>> [s.text for s in suggest("SELECT ?film { ?f")]
    ['?film']
    """
    if len(before) + len(after) > MAX_TEXT_LENGTH:
        return []
    place = _place(before, after, prefixes, vocabulary)
    if place is None:
        return []
    start = len(before) - len(place.typed)
    glue = " " if not place.typed and before[-1:].strip() and before[-1:] not in "([{,;./|^!@" else ""
    suggestions: dict[str, Suggestion] = {}
    for suggestion in _matching(_offers(place), place.typed):
        first = suggestion.text[0]
        text = (glue if first.isalnum() or first in "?<_" else "") + suggestion.text
        suggestions.setdefault(text, replace(suggestion, text=text, start=start))
        if len(suggestions) == MAX_SUGGESTIONS and place.typed:
            break
    return list(suggestions.values())


def _place(before: str, after: str, prefixes: Mapping[str, str], vocabulary: CompletionVocabulary) -> Place | None:
    cut = _start_of_typed(before)
    if cut is None:
        return None
    reading = read(before[:cut])
    if reading.stopped is not None or reading.failed is not None or in_comment(before):
        return None
    tokens = [*reading.tokens, *all_tokens(after)]
    return Place(reading, before[cut:], tokens, prefixes, vocabulary)


def _start_of_typed(before: str) -> int | None:
    """Offset of the half-typed token; the end if there is none, None if it cannot be determined."""
    if match := _OPEN_IRI.search(before):
        reading = read(before[: match.start()])
        if (reading.open or reading.complete) and advance(machine().tables, list(reading.states), "IRIREF"):
            return match.start()
    reading = read(before)
    if reading.failed is not None:
        tail = before[reading.failed :]
        return reading.failed if re.fullmatch(r"\$|@[A-Za-z-]*|_", tail) else None
    last = reading.stopped or (reading.tokens[-1] if reading.tokens else None)
    if last is None or last.end < len(before):
        return len(before) if reading.stopped is None else None
    if last.type in WORD_TOKENS or last.type in machine().tables.words:
        return last.start
    if last.type == "?":
        states = list(read(before[: last.start]).states)
        return last.start if advance(machine().tables, states, "VAR1") else len(before)
    if last.type[:3] in ("INT", "DEC", "DOU") or reading.stopped is not None:
        return None
    return len(before)


def _matching(offers: Iterable[Suggestion], typed: str) -> list[Suggestion]:
    """The offers that begin with the typed text; after them, IRIs whose last part begins with it."""
    if not typed:
        return list(offers)
    lower = typed.lower()
    first, second = [], []
    for offer in offers:
        text = offer.text.lower()
        if text.startswith(lower) and offer.text != typed:
            first.append(offer)
        elif offer.kind == IRI and lower.isalnum() and re.split(r"[/#:]", text.strip("<>"))[-1].startswith(lower):
            second.append(offer)
    return first + second


def _offers(place: Place) -> Iterator[Suggestion]:
    legal = place.legal
    if "VAR1" in legal:
        yield from _variables(place)
    if "NAME" in legal:
        yield from list(_names(place)) or [Suggestion("name", 0, NAME)]
    if legal & IRI_SYMBOLS:
        yield from _iris(place)
    yield from _keywords(place)
    if legal & IRI_SYMBOLS:
        yield from _prefixes(place)
    if "LANGTAG" in legal:
        yield from (Suggestion(f"@{language}", 0, kind("LANGTAG")) for language in sorted(STEMMERS))
    for symbol, (text, note) in PLACEHOLDERS.items():
        if symbol in legal:
            yield Suggestion(text, 0, kind(symbol), note)
    yield from (Suggestion(sign, 0, sign) for sign in sorted(legal & set(machine().tables.punctuation)))


def _variables(place: Place) -> Iterator[Suggestion]:
    names = dict.fromkeys(t.text[1:] for t in reversed(place.reading.tokens) if t.type in ("VAR1", "VAR2"))
    names.update(dict.fromkeys(t.text[1:] for t in place.tokens if t.type in ("VAR1", "VAR2")))
    mark = "$" if place.typed.startswith("$") else "?"
    yield from (Suggestion(mark + name, 0, VARIABLE, "variable") for name in names)


def _names(place: Place) -> Iterator[Suggestion]:
    """Fields after ON, models, encoders or rerankers after USING, else arguments."""
    trail = place.path
    clause = next((t.type for t in reversed(place.reading.tokens) if t.type in ("MATCH", "NEAR", "RERANK")), "MATCH")
    if trail[-1:] == ["USING"]:
        registry, note = {"NEAR": (ENCODERS, "encoder"), "RERANK": (RERANKERS, "reranker")}.get(
            clause, (RANKING_MODELS, "model")
        )
        yield from (Suggestion(name, 0, NAME, note) for name in registry.names())
    elif trail[-2:] == ["ON", "("] or (trail[-1:] == [","] and trail[-4:-2] == ["ON", "("]):
        for field_ in place.vocabulary.fields:
            yield Suggestion(str(field_["field"]), 0, NAME, f"field, weight {field_['weight']:g}")
    elif trail[-1:] != ["="] and clause == "RERANK":
        yield from _settings(next((t.text for t in reversed(place.reading.tokens) if t.text in RERANKERS.names()), ""))
    elif trail[-1:] != ["="] and clause == "MATCH":
        in_field = "ON" in trail and "USING" not in trail[len(trail) - trail[::-1].index("ON") :]
        yield from (Suggestion(f"{name}=", 0, NAME, note) for name, note in _arguments(in_field))


def _settings(reranker: str) -> Iterator[Suggestion]:
    if reranker:
        for name, setting in {**RERANKERS.get(reranker).settings, **COMMON}.items():
            yield Suggestion(f"{name}=", 0, NAME, setting.note)


@cache
def _arguments(of_field: bool) -> tuple[tuple[str, str], ...]:
    notes: dict[str, str] = {}
    for model in RANKING_MODELS.names():
        implementation = RANKING_MODELS.get(model)
        for argument in implementation.field_arguments if of_field else implementation.arguments:
            notes.setdefault(argument.name, f"argument of {model}")
    return tuple(notes.items())


def _iris(place: Place) -> Iterator[Suggestion]:
    """Names of the data: classes after `a`, predicates where `a` is legal, otherwise both once a letter is typed."""
    last, words, in_force = place.before(), place.vocabulary, place.in_force
    if last.type in NO_NAME_OF_THE_DATA or (last.type == "PNAME_NS" and place.before(2).type == "PREFIX"):
        return
    if last.type == "^^":
        yield from (Suggestion(f"xsd:{name}", 0, IRI, "datatype") for name in DATATYPES)
    elif _is_type(last, in_force):
        yield from _counted(words.classes, in_force, "instances")
    elif "a" in place.legal:
        yield from _counted(words.predicates, in_force, "triples")
    elif place.typed and not place.typed.startswith(("?", "$")):
        yield from _counted(words.classes, in_force, "instances")
        yield from _counted(words.predicates, in_force, "triples")


def _prefixes(place: Place) -> Iterator[Suggestion]:
    last = place.before()
    known = {**WELL_KNOWN, **place.prefixes}
    if last.type == "PREFIX":
        yield from (Suggestion(f"{name}: <{iri}>", 0, IRI, "prefix") for name, iri in known.items())
        yield Suggestion(":", 0, IRI)
    elif last.type == "PNAME_NS" and place.before(2).type == "PREFIX":
        namespace = known.get(last.text[:-1])
        yield from () if namespace is None else (Suggestion(f"<{namespace}>", 0, IRI, "prefix"),)
    elif last.type not in ("BASE", "^^"):
        if place.legal >= SOME_FUNCTIONS:
            yield from (Suggestion(f"xsd:{name}(", 0, IRI, "cast") for name in DATATYPES[:-1])
        yield from (Suggestion(f"{name}:", 0, IRI, f"<{iri}>") for name, iri in place.in_force.items())


def _is_type(token: Token, prefixes: Mapping[str, str]) -> bool:
    if token.type == "PNAME_LN":
        name, _, local = token.text.partition(":")
        return prefixes.get(name, "") + local == RDF_TYPE
    return token.type == "a" or token.text == f"<{RDF_TYPE}>"


def _counted(names: Iterable[tuple[str, int]], prefixes: Mapping[str, str], unit: str) -> Iterator[Suggestion]:
    for iri, n in names:
        text = shortened(iri, prefixes)
        if not text.startswith("<") or _IRI.fullmatch(text):
            yield Suggestion(text, 0, IRI, f"{n:,} {unit}")


def _keywords(place: Place) -> Iterator[Suggestion]:
    """Keywords, then functions, each with the tokens that must follow it, as in `GROUP BY` and `STR(`."""
    tables = machine().tables
    functions = []
    typed = place.typed.upper()
    for word in sorted(place.legal & tables.words):
        if not word.upper().startswith(typed):
            continue
        states = list(place.reading.states)
        advance(tables, states, word)
        text = "a" if word == "a" else word.lower() if word in ("TRUE", "FALSE") else word
        while (following := _only_follower(states[-1])) in tables.words:
            text += f" {following}"
            advance(tables, states, following)
        if following == "(" and word not in ("ON", "IN"):
            functions.append(Suggestion(f"{text}(", 0, word, "function"))
        else:
            yield Suggestion(f"{text} (" if following == "(" else text, 0, word, "keyword")
    if FUSION in place.legal:
        fusions = (name for name in FUSIONS.names() if name.upper().startswith(typed))
        functions += [Suggestion(f"{name}(", 0, FUSION, "function") for name in fusions]
    yield from functions


@cache
def _only_follower(state: int) -> str:
    """The only token that is legal in a state; "" if there are several."""
    tables = machine().tables
    terminals = tables.words.union(tables.punctuation, (name for name, _ in tables.terminals))
    possible = [symbol for symbol in tables.rows[state] if symbol in terminals]
    return possible[0] if len(possible) == 1 else ""
