"""Turns a TextQuery into analysed items over known fields; reads no postings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from hybridkg.errors import Span, TextQueryError, UnknownNameError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.ranking_model import RANKING_MODELS, ModelArgument, ModelLimits, RankingModel
from hybridkg.interfaces.text_index import Argument, FieldChoice, IndexedField, TextQuery
from hybridkg.registry import did_you_mean
from hybridkg.text.query_string import MUST, NOT, SHOULD, Clause, parse_query_string

MOST_TERMS = 1024
"""Distinct terms and phrases of one MATCH."""

Words = tuple[tuple[int, str], ...]
"""(position in the phrase, term) of one item in one field; a single word is a phrase of one."""


@dataclass(frozen=True)
class Item:
    """A term or phrase: its words in each ON field, analysed as that field is; empty where it may not occur."""

    words: tuple[Words, ...]

    def shown(self) -> str:
        """The words of the first field that has any."""
        return " ".join(term for _, term in next((words for words in self.words if words), ()))


@dataclass(frozen=True)
class OnField:
    """A field of the ON clause, checked.

    Args:
        number: its place in the index.
        name: its name.
        weight: finite, at least 0.
        b: the profile's default.
        analyzer: its analyzer.
        arguments: its own model arguments.
    """

    number: int
    name: str
    weight: float
    b: float
    analyzer: Analyzer
    arguments: Mapping[str, float]


@dataclass(frozen=True)
class ResolvedQuery:
    """A MATCH ready to be answered.

    Args:
        fields: the ON fields.
        model: the ranking model.
        arguments: the model's arguments, checked.
        counts: the distinct items that score, in order of first appearance, with how often each is written.
        required: the items that must occur.
        excluded: the items that must not occur.
    """

    fields: tuple[OnField, ...]
    model: RankingModel
    arguments: Mapping[str, float]
    counts: Mapping[Item, int]
    required: tuple[Item, ...]
    excluded: tuple[Item, ...]


WEIGHT = ModelArgument("weight", 0)


def resolve(query: TextQuery, fields: Sequence[IndexedField], analyzers: Mapping[str, Analyzer]) -> ResolvedQuery:
    """Checks and analyses a query.

    Raises:
        UnknownNameError: a field, model or argument that does not exist; the message lists those that do.
        TextQueryError: an argument out of range, a field named twice, or a malformed query string.
    """
    model = RANKING_MODELS.get(query.model)()
    owner = f"model {query.model!r}"
    arguments = _arguments(query.arguments, model.arguments, owner)
    on = _on_fields(query, fields, analyzers, model)
    _check_limits(query, on, model.limits)
    counts: dict[Item, int] = {}
    required: dict[Item, None] = {}
    excluded: dict[Item, None] = {}
    for clause in parse_query_string(query.text) if query.syntax else (Clause(query.text),):
        _check_clause_field(clause, on)
        for item in _items(clause, query.language, on):
            if clause.role == NOT:
                excluded[item] = None
                continue
            counts[item] = counts.get(item, 0) + 1
            if clause.role == MUST or query.all_terms:
                required[item] = None
        if len(counts) + len(excluded) > MOST_TERMS:
            raise TextQueryError(f"more than {MOST_TERMS:,} different terms in one text", span=clause.span)
    return ResolvedQuery(on, model, arguments, counts, tuple(required), tuple(excluded))


def role_of(item: Item, query: ResolvedQuery) -> str:
    """`must` or `should`, for an item that scores."""
    return MUST if item in query.required else SHOULD


def _arguments(given: Sequence[Argument], known: Sequence[ModelArgument], owner: str) -> dict[str, float]:
    by_name = {argument.name: argument for argument in known}
    checked: dict[str, float] = {}
    for name, value in given:
        if name not in by_name:
            names = sorted(by_name)
            listed = f"known: {', '.join(names)}" if names else "it takes none"
            raise UnknownNameError(f"{owner} has no argument {name!r}; {listed}", hint=did_you_mean(name, names))
        if name in checked:
            raise TextQueryError(f"argument {name!r} of {owner} is given twice")
        checked[name] = by_name[name].checked(value, owner)
    return checked


def _on_fields(
    query: TextQuery, fields: Sequence[IndexedField], analyzers: Mapping[str, Analyzer], model: RankingModel
) -> tuple[OnField, ...]:
    numbers = {field.name: number for number, field in enumerate(fields)}
    on: dict[str, OnField] = {}
    for choice in query.fields or [FieldChoice(field.name) for field in fields]:
        if choice.name not in numbers:
            known = ", ".join(numbers) or "none"
            raise UnknownNameError(
                f"no text field {choice.name!r}; known: {known}",
                hint=did_you_mean(choice.name, list(numbers)),
            )
        if choice.name in on:
            raise TextQueryError(f"field {choice.name!r} is named twice in ON")
        field = fields[numbers[choice.name]]
        owner = f"field {choice.name!r}"
        on[choice.name] = OnField(
            number=numbers[choice.name],
            name=choice.name,
            weight=WEIGHT.checked(field.weight if choice.weight is None else choice.weight, owner),
            b=field.b,
            analyzer=analyzers[field.analyzer],
            arguments=_arguments(choice.arguments, model.field_arguments, owner),
        )
    return tuple(on.values())


def _check_limits(query: TextQuery, on: Sequence[OnField], limits: ModelLimits) -> None:
    """Refuses what the model cannot do.

    Raises:
        TextQueryError: names the field, and what can be done instead.
    """
    if not limits.weights:
        weighted = next((f.name for f in query.fields if f.weight not in (None, 1)), None)
        if weighted is not None:
            raise TextQueryError(
                f"model {query.model!r} reads its fields as one text, so {weighted!r} can have no weight",
                hint="leave the weight out, or USING bm25f, which has weights and b for each field",
            )
    light = next((f for f in on if f.weight < limits.least_weight), None) if limits.weights else None
    if light is not None:
        raise TextQueryError(
            f"field {light.name!r} has weight {light.weight:g}; model {query.model!r} needs at least "
            f"{limits.least_weight:g}",
            hint=f"ON ({light.name}^{limits.least_weight:g}, ...), or USING bm25f, which takes any weight",
        )
    if limits.one_analyzer and (other := next((f for f in on if f.analyzer is not on[0].analyzer), None)):
        raise TextQueryError(
            f"model {query.model!r} needs fields with the same analyzer; {on[0].name!r} and {other.name!r} differ",
            hint="name fields that are analysed alike: ON (...), or USING bm25f",
        )


def _check_clause_field(clause: Clause, on: Sequence[OnField]) -> None:
    names = [field.name for field in on]
    if clause.field and clause.field not in names:
        hint = did_you_mean(clause.field, names) or f"write {clause.field}\\: to search for the word itself"
        raise UnknownNameError(
            f"no field {clause.field!r} among the fields searched: {', '.join(names)}",
            hint=hint,
            span=Span(clause.span.start, clause.span.end),
        )


def _items(clause: Clause, language: str, on: Sequence[OnField]) -> list[Item]:
    """The items of a clause: one for a phrase, one for each word otherwise."""
    by_analyzer: dict[int, list[str]] = {}
    per_field: list[list[str]] = []
    for field in on:
        if clause.field and clause.field != field.name:
            per_field.append([])
            continue
        analyzer = field.analyzer
        if id(analyzer) not in by_analyzer:
            stemmer = analyzer.stemmer(language)
            by_analyzer[id(analyzer)] = [analyzer.term(word, stemmer) for word in analyzer.words(clause.text)]
        per_field.append(by_analyzer[id(analyzer)])
    if clause.phrase:
        items = [Item(tuple(_phrase(terms) for terms in per_field))]
    else:
        rows = zip_longest(*per_field, fillvalue="")
        items = [Item(tuple(((0, term),) if term else () for term in row)) for row in rows]
    return [item for item in items if any(item.words)]


def _phrase(terms: Sequence[str]) -> Words:
    """Positions counted from the first word that is indexed: stop words leave a gap."""
    kept = [(position, term) for position, term in enumerate(terms) if term]
    return tuple((position - kept[0][0], term) for position, term in kept)
