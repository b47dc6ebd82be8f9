"""Texts of one shape share their parse, their checks and the template of their plan.

`query_text` scans a text (query/text_shape.py). Where a text of the same shape has been asked before, the constants of
this one are values of the parameters of a shared tree, and its variables have canonical names there: nothing is parsed.
Messages, columns and places are put into the words of the text at hand. Whatever fails is asked once more with the text
parsed alone, so that an error is that of the text. The law: rows, warnings, errors and plan are those of `ParsedQuery`
(tests/kb/test_shared_text.py).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path

from hybridkg.errors import HybridkgError, QueryWarning, Span, UserError
from hybridkg.interfaces.parameter import UnboundParameterError
from hybridkg.kb.clock_cache import ClockCache
from hybridkg.kb.parsed_query import NO_PARAMETERS, CheckedTree, Parameters, ParsedQuery, signed_parameters
from hybridkg.kb.query_template import BoundQuery, QueryTemplate
from hybridkg.query import ast
from hybridkg.query.parser import UnexpectedTokenError
from hybridkg.query.shared_parse import NoSharedTreeError, SharedTree, parse_shared
from hybridkg.query.text_shape import (
    CANONICAL_NAMES,
    IRI,
    MAX_SHARED_LENGTH,
    Constant,
    TextShape,
    boundaries,
    is_valid_iri,
    read_shape,
    restored,
)
from hybridkg.rdf.known_prefixes import ONLY_WELL_KNOWN, KnownPrefixes

MAX_TEXTS = 256
"""Capacity of the caches of texts and of shared trees."""


FIXED = ast.Lit("")
"""In place of a constant that belongs to the tree."""


class SharedQuery:
    """The tree of all texts of a shape whose fixed constants are equal, with its templates."""

    def __init__(self, parsed: SharedTree):
        self.parsed = parsed
        self.tree = CheckedTree(parsed.query, len(parsed.shape.constants))
        self._fixed = frozenset(parsed.fixed)
        self._open = [
            (number, kind, *parsed.suffixes.get(number, (kind, None)))
            for number, (kind, _) in enumerate(parsed.shape.constants)
            if number not in self._fixed
        ]
        self.is_fixed = not self._open
        """Whether all texts have the same constants."""

    def values(self, shape: TextShape) -> tuple[ast.Value, ...] | None:
        """The constants of a text, FIXED in place of fixed ones; None if one is no valid IRI."""
        values: list[ast.Value] = [FIXED] * len(shape.constants)
        for number, kind, datatype, language in self._open:
            value = shape.constants[number][1]
            if kind == IRI:
                if not is_valid_iri(value):
                    return None
                values[number] = ast.Iri(value)
            else:
                values[number] = ast.Lit(value, datatype, language)
        return tuple(values)

    @cached_property
    def boundaries(self) -> list[tuple[int, int]]:
        """(start, end) of each token of the text of the tree."""
        return [*boundaries(self.parsed.text)]


class OwnNames(dict[str, str]):
    """The names of a text by the canonical ones, in their order; a sentence with such names gets its own."""

    def __missing__(self, sentence: str) -> str:
        return sentence if sentence.isascii() else restored(sentence, tuple(self.values()))


class SharedText(ParsedQuery):
    """A text that is asked by a shared tree."""

    def __init__(
        self,
        text: str,
        shape: TextShape,
        shared: SharedQuery,
        values: tuple[ast.Value, ...],
        known: KnownPrefixes = ONLY_WELL_KNOWN,
    ):
        self.text, self.tree, self.prefixes = text, shared.tree, shape.prefixes
        self._names, self._constants = shape.names, shape.constants
        self._shared, self._values, self._known = shared, values, known
        self.names = OwnNames(zip(CANONICAL_NAMES, shape.names, strict=False))
        self.repeats = shared.is_fixed

    @cached_property
    def alone(self) -> ParsedQuery:
        """The same text, parsed by itself: its errors name the variables and places of this text."""
        return ParsedQuery(self.text, prefixes=self._known)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters: variables written with `$`, or without a binding."""
        return tuple(map(self.name, self.tree.parameters))

    def request(
        self, params: Parameters | None = None, *, folder: Path | None = None, services: bool = False
    ) -> BoundQuery:
        """As `ParsedQuery.request`, by the shared tree; what cannot be bound there is bound to this text alone."""
        tree, template = self.tree, None
        if tree.has_files or (tree.has_service and not services):
            signed = None
        elif params is None:
            signed, template = NO_PARAMETERS, tree.template(*NO_PARAMETERS)
        elif (signed := signed_parameters(params)) is not None:
            own = dict(zip(self._names, CANONICAL_NAMES, strict=False))
            if all(name in own for name, _ in signed[0]) and not (signed[0] and tree.compares_constants):
                signature = tuple((own[name], kind) for name, kind in signed[0])
                template = tree.template(signature, signed[1])
        if signed is None or template is None:
            return self.alone.request(params, folder=folder, services=services)
        repeats = None if signed[1] else self.repeats
        return BoundQuery(template, self._values + signed[1], self, (self._constants, signed[1]), repeats=repeats)

    # --- the wording of messages -------------------------------------------------

    def name(self, canonical: str) -> str:
        """The name of a variable, or a message with the names of variables."""
        return self.names[canonical]

    def own(self, error: HybridkgError) -> HybridkgError:
        """An error or a warning with the names and the place of this text."""
        error.message, error.hint = self.name(error.message), self.name(error.hint)
        error.args = (error.message,)
        if error.span is not None:
            error.span = Span(self._offset(error.span.start, 0), self._offset(error.span.end, 1))
        return error

    def advice(self, template: QueryTemplate) -> tuple[QueryWarning, ...]:
        """Static warnings about this text; they may name variables that are spelled alike."""
        if not template.advice:
            return ()
        given = frozenset(map(self.name, template.parameters))
        return QueryTemplate(self.alone.written, self.alone.written, template.logical, given).advice

    def _offset(self, offset: int, side: int) -> int:
        """The offset in this text for the start (side 0) or the end (side 1) of tokens of the tree."""
        if self.text == self._shared.parsed.text:
            return offset
        tokens = self._shared.boundaries
        at = bisect_right(tokens, offset - side, key=lambda token: token[0]) - 1
        return self._boundaries[max(at, 0)][side]

    @cached_property
    def _boundaries(self) -> list[tuple[int, int]]:
        return [*boundaries(self.text)]


_TEXTS: ClockCache[tuple[str, KnownPrefixes], ParsedQuery] = ClockCache(MAX_TEXTS)
"""By text and the prefixes that it need not declare: knowledge bases may keep different ones."""


@dataclass(frozen=True, eq=False)
class FixedConstants:
    """The numbers of the fixed constants of a shape. It is equal to itself only: the key of a shape is long to hash."""

    numbers: tuple[int, ...] = ()

    def key(self, shape: TextShape) -> object:
        """The key of the shared tree of a text of the shape."""
        return self, self._of(shape.constants)

    @cached_property
    def _of(self) -> Callable[[tuple[Constant, ...]], object]:
        """The fixed ones of the constants of a text."""
        return itemgetter(*self.numbers) if self.numbers else lambda constants: ()


_FIXED: ClockCache[object, FixedConstants] = ClockCache(MAX_TEXTS)
"""By the key of a shape."""

NO_TREE = FixedConstants()
"""In place of the fixed constants of a shape that has no shared tree."""

SEEN_ONCE = FixedConstants()
"""The same of a shape of which one text is known. That one is planned alone, in 0.6 of the time that a shared tree and
its template take; many texts stay the only one of their shape. PostgreSQL plans a statement five times before it
considers a generic plan.
"""

_SHARED: ClockCache[object, SharedQuery] = ClockCache(MAX_TEXTS)
"""Shared trees, by the fixed constants of their shape and the values of these."""


def query_text(text: str | ParsedQuery, name: str = "query", prefixes: KnownPrefixes = ONLY_WELL_KNOWN) -> ParsedQuery:
    """The parsed and checked text, cached unless it has an error; it need not declare the `prefixes`.

    Raises:
        HybridkgError: the text is not a query, or breaks a rule.
    """
    if not isinstance(text, str):
        if isinstance(text, ParsedQuery):
            return text
        raise UserError(f"a query is a text, not {type(text).__name__!r}")
    parsed = _TEXTS.get((text, prefixes))
    if parsed is None:
        shared = _by_shape(text, prefixes)
        parsed = shared or ParsedQuery(text, name, prefixes)
        if len(text) <= MAX_SHARED_LENGTH:
            if shared is None:
                _TEXTS.put((text, prefixes), parsed)
            else:
                shared.repeats |= _TEXTS.put_repeated((text, prefixes), parsed)
    return parsed


def _by_shape(text: str, prefixes: KnownPrefixes) -> SharedText | None:
    """The text by its shape; None for the first text of a shape, and where it has an error or no shared tree."""
    shape = read_shape(text, prefixes)
    if shape is None:
        return None
    fixed = _FIXED.get(shape.key)
    if fixed is None:
        _FIXED.put(shape.key, SEEN_ONCE)
    if fixed is None or fixed is NO_TREE:
        return None
    shared = None if fixed is SEEN_ONCE else _SHARED.get(fixed.key(shape))
    if shared is None:
        try:
            shared = _new_shared(text, shape, frozenset(fixed.numbers))
        except NoSharedTreeError:
            _FIXED.put(shape.key, NO_TREE)
            return None
        except (HybridkgError, UnexpectedTokenError, RecursionError):
            return None
        if fixed is SEEN_ONCE or fixed.numbers != shared.parsed.fixed:
            fixed = FixedConstants(shared.parsed.fixed)
            _FIXED.put(shape.key, fixed)
        _SHARED.put(fixed.key(shape), shared)
    values = shared.values(shape)
    return None if values is None else SharedText(text, shape, shared, values, prefixes)


def _new_shared(text: str, shape: TextShape, fixed: frozenset[int]) -> SharedQuery:
    """The shared tree of a first text; the constants that decide its plan are fixed.

    Raises:
        HybridkgError: the text has an error, or a combination that is not supported.
        UnexpectedTokenError: the text does not follow the grammar.
        NoSharedTreeError: its shape has no shared tree.
    """
    everything = frozenset(range(len(shape.constants)))
    while True:
        shared = SharedQuery(parse_shared(text, shape, fixed))
        if shared.tree.has_service:  # another server reads the names, and may log them
            raise NoSharedTreeError
        known = frozenset(shared.parsed.fixed)
        # Equal constants have one number, but "7"^^xsd:integer equals 7.
        if shared.tree.compares_constants and known < everything and "^^" in shape.key[0]:
            fixed = everything
            continue
        try:
            shared.tree.keep_template()
        except UnboundParameterError as e:
            if known == everything:
                raise NoSharedTreeError from e
            fixed = everything if e.number is None or e.number in known else known | {e.number}
            continue
        return shared
