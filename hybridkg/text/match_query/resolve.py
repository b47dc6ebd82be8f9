"""Query resolution: from a TextQuery to analysed items over checked fields; reads no postings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hybridkg.errors import TextQueryError, UnknownNameError
from hybridkg.interfaces.analyzer import Analyzer
from hybridkg.interfaces.links import EntityLinker, LinkedNode
from hybridkg.interfaces.ranking_model import RANKING_MODELS, ModelArgument, ModelTraits, RankingModel
from hybridkg.interfaces.text_index import MAX_WEIGHT, Argument, FieldChoice, IndexedField, TextQuery
from hybridkg.registry import did_you_mean
from hybridkg.text.match_query.clause_items import pair_of
from hybridkg.text.match_query.field_language import check_language
from hybridkg.text.match_query.items import Item, ResolvedField, ResolvedQuery
from hybridkg.text.match_query.matching import MatchClauses
from hybridkg.text.match_query.query_string import MUST, NOT, SHOULD, Clause, parse_query_string
from hybridkg.text.match_query.synonyms import NO_SYNONYMS, Synonyms
from hybridkg.text.match_query.vocabulary import IndexVocabulary

UNORDERED_WINDOW = 8
"""Places of the unordered window of the sequential dependence models (Metzler and Croft, 2005)."""

WEIGHT = ModelArgument("weight", 0, MAX_WEIGHT)


def resolve(
    query: TextQuery,
    fields: Sequence[IndexedField],
    analyzers: Mapping[str, Analyzer],
    vocabulary: IndexVocabulary | None = None,
    synonyms: Synonyms = NO_SYNONYMS,
) -> ResolvedQuery:
    """Checks and analyses a query; without a vocabulary, prefixes and fuzzy words are an error.

    Raises:
        UnknownNameError: an unknown field, model or argument; the message lists the alternatives.
        TextQueryError: an argument out of range, a field named twice, or a malformed query string.
    """
    model = RANKING_MODELS.get(query.model)()
    owner = f"model {query.model!r}"
    arguments, choices = _arguments(query.arguments, model.arguments, owner)
    on = _on_fields(query, fields, analyzers, model)
    _check_traits(query, on, _traits(model, choices))
    parts = parse_query_string(query.text) if query.syntax else (Clause(query.text),)
    clauses = MatchClauses(query.language, on, vocabulary, synonyms)
    matching = clauses.group(parts, all_terms=query.all_terms)
    if not clauses.counts:  # the text has nothing but stop words
        clauses = MatchClauses(query.language, on, vocabulary, synonyms, stop_words=True)
        matching = clauses.group(parts, all_terms=query.all_terms)
    ordered: dict[Item, float] = {}
    unordered: dict[Item, float] = {}
    if model.traits.pairs:
        window = int(arguments.get("window", UNORDERED_WINDOW))
        pairs = ((boost, *two) for boost, run in clauses.runs for two in pairwise(run))
        for boost, (place, first), (following, second) in pairs:
            for by_pair, width in ((ordered, 0), (unordered, window)):
                pair = pair_of(first, second, following - place, width)
                if any(pair.places):
                    by_pair[pair] = by_pair.get(pair, 0) + boost
    return ResolvedQuery(
        fields=on,
        model=model,
        arguments=arguments,
        choices=choices,
        counts=clauses.counts,
        matching=matching,
        ordered=ordered,
        unordered=unordered,
        text_query=query,
    )


def links_of(query: ResolvedQuery, linker: EntityLinker | None) -> tuple[LinkedNode, ...]:
    """The nodes that the text mentions, for a model that scores them.

    Raises:
        TextQueryError: the links are malformed, or the index was opened without a graph to link to.
    """
    if not query.model.traits.links:
        return ()
    if linker is None:
        raise TextQueryError(
            "a model with links needs a graph, and this index was opened without one",
            hint="query through KnowledgeBase, or USING a model without links",
        )
    text_query, links = query.text_query, query.choices.get("links")
    try:
        return linker.linked(text_query.text, links, language=text_query.language, syntax=text_query.syntax)
    except TextQueryError as e:  # its span is one of the links, which need not be in the query
        raise TextQueryError(f"argument 'links' of model {text_query.model!r}: {e.message}", hint=e.hint) from e


def roles_of(query: ResolvedQuery) -> list[tuple[Item, str]]:
    """The scoring items with `must` or `should`, then the excluded ones with `not`."""
    scoring = [(item, MUST if item in query.matching.must else SHOULD) for item in query.counts]
    return scoring + [(item, NOT) for item in query.excluded]


def _traits(model: RankingModel, choices: Mapping[str, str]) -> ModelTraits:
    """The model's traits; those of its base decide whether fields have weights."""
    if not model.traits.base:
        return model.traits
    base = RANKING_MODELS.get(choices.get("base", model.traits.base))()
    return replace(model.traits, weights=base.traits.weights)


def _arguments(
    arguments: Sequence[Argument], declared: Sequence[ModelArgument], owner: str
) -> tuple[dict[str, float], dict[str, str]]:
    """The numbers and the words."""
    by_name = {argument.name: argument for argument in declared}
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for name, value in arguments:
        if name not in by_name:
            names = sorted(by_name)
            listed = f"known: {', '.join(names)}" if names else "it takes none"
            raise UnknownNameError(f"{owner} has no argument {name!r}; {listed}", hint=did_you_mean(name, names))
        if name in numbers or name in words:
            raise TextQueryError(f"argument {name!r} of {owner} is given twice")
        if by_name[name].words or by_name[name].text:
            words[name] = by_name[name].word(value, owner)
        else:
            numbers[name] = by_name[name].checked(value, owner)
    return numbers, words


def _on_fields(
    query: TextQuery, fields: Sequence[IndexedField], analyzers: Mapping[str, Analyzer], model: RankingModel
) -> tuple[ResolvedField, ...]:
    numbers = {field.name: number for number, field in enumerate(fields)}
    on: dict[tuple[str, str], ResolvedField] = {}
    for choice in query.fields or [FieldChoice(field.name) for field in fields]:
        if choice.name not in numbers:
            names = ", ".join(numbers) or "none"
            raise UnknownNameError(
                f"no text field {choice.name!r}; known: {names}", hint=did_you_mean(choice.name, list(numbers))
            )
        language = choice.language.lower()
        if (choice.name, language) in on:
            raise TextQueryError(f"field {on[choice.name, language].written!r} is named twice in ON")
        field = fields[numbers[choice.name]]
        if language:
            check_language(field, choice.language)
        owner = f"field {choice.name!r}"
        on[choice.name, language] = ResolvedField(
            number=numbers[choice.name],
            name=choice.name,
            weight=WEIGHT.checked(field.weight if choice.weight is None else choice.weight, owner),
            b=field.b,
            analyzer=analyzers[field.analyzer],
            arguments=_arguments(choice.arguments, model.field_arguments, owner)[0],
            language=language,
        )
    return tuple(on.values())


def _check_traits(query: TextQuery, on: Sequence[ResolvedField], traits: ModelTraits) -> None:
    """Refuses a query that the model does not support.

    Raises:
        TextQueryError: names the field and an alternative.
    """
    if not traits.weights:
        weighted = next((f.name for f in query.fields if f.weight not in (None, 1)), None)
        if weighted is not None:
            raise TextQueryError(
                f"model {query.model!r} has no weights of fields, so {weighted!r} can have none",
                hint="leave the weight out, or USING bm25f, mlm or fsdm, which have a weight for each field",
            )
    light = next((f for f in on if f.weight < traits.least_weight), None) if traits.weights else None
    if light is not None:
        raise TextQueryError(
            f"field {light.name!r} has weight {light.weight:g}; model {query.model!r} needs at least "
            f"{traits.least_weight:g}",
            hint=f"ON ({light.name}^{traits.least_weight:g}, ...), or USING bm25f, which takes any weight",
        )
    if traits.one_analyzer and (other := next((f for f in on if f.analyzer is not on[0].analyzer), None)):
        raise TextQueryError(
            f"model {query.model!r} needs fields with the same analyzer; {on[0].name!r} and {other.name!r} differ",
            hint="name fields that are analysed alike: ON (...), or USING bm25f",
        )
