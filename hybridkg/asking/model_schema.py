"""The schema of a knowledge base for a language model: short names of classes, steps and properties, with counts."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from hybridkg.asking.base import AskedBase
from hybridkg.asking.schema_graph import SchemaStep
from hybridkg.asking.slots import Step
from hybridkg.rdf.namespaces import last_part

MAX_STEPS = 400
"""Steps between classes that the model sees, those with most edges."""

MAX_PROPERTIES = 100

LEAST_SIMILAR = 0.6
"""Ratio of difflib above which an unknown name is read as a known one."""


@dataclass(frozen=True)
class ComparedProperty:
    """A property with numbers, or with dates that are compared by their years."""

    iri: str
    years: bool
    low: float
    high: float


@dataclass(frozen=True)
class ModelSchema:
    """The names that a model may use.

    Args:
        classes: IRI by name.
        steps: by class and name; a name is a path such as `^writes` or `bought|^bought`.
        properties: by name.
        left_out: steps and properties that the model does not see.
        data: the schema as JSON data.
    """

    classes: Mapping[str, str]
    steps: Mapping[str, Mapping[str, Step]]
    properties: Mapping[str, ComparedProperty]
    left_out: int
    data: Mapping[str, Any]


def model_schema(base: AskedBase) -> ModelSchema:
    """The schema, most frequent first."""
    schema = base.schema
    every = sorted(
        (step for steps in schema.steps.values() for step in steps),
        key=lambda step: (-step.edges, step.source, step.predicate, step.inverse, step.target, step.others),
    )
    compared = sorted(_compared(base), key=lambda one: one.iri)
    names = short_names([
        *schema.classes, *(iri for step in every for iri, _ in _step(step).alternatives), *(one.iri for one in compared)
    ])  # fmt: skip
    steps: dict[str, dict[str, Step]] = {iri: {} for iri in schema.classes}
    told = []
    for one in every[:MAX_STEPS]:
        step = _step(one)
        name = "|".join(f"{'^' * inverse}{names[iri]}" for iri, inverse in step.alternatives)
        if name in steps[one.source]:  # a predicate that leads to several classes
            name = f"{name} {names[one.target]}"
        steps[one.source][name] = step
        told.append({"name": name, "from": names[one.source], "to": names[one.target], "edges": one.edges})
    properties = {names[one.iri]: one for one in compared[:MAX_PROPERTIES]}
    data = {
        "classes": [
            {"name": names[iri], "label": base.lexicon.name(iri), "nodes": n} for iri, n in schema.classes.items()
        ],
        "relations": told,
        "properties": [
            {"name": name, "values": "years" if one.years else "numbers", "least": one.low, "most": one.high}
            for name, one in properties.items()
        ],
    }  # fmt: skip
    left_out = len(every) + len(compared) - len(told) - len(properties)
    return ModelSchema({names[iri]: iri for iri in schema.classes}, steps, properties, left_out, data)


def _step(one: SchemaStep) -> Step:
    return Step(one.predicate, one.inverse, one.target, one.others)


def _compared(base: AskedBase) -> Iterable[ComparedProperty]:
    for one in base.predicates:
        dates = [bucket for kind, buckets in one.histograms.items() if kind.startswith("date") for bucket in buckets]
        numbers = one.histograms.get("number", ())
        if dates:
            yield ComparedProperty(one.iri, True, *(_year(at) for at in (dates[0].low, dates[-1].high)))
        elif numbers:
            yield ComparedProperty(one.iri, False, numbers[0].low, numbers[-1].high)


def _year(seconds: float) -> int:
    try:
        return datetime.fromtimestamp(seconds, UTC).year
    except (ValueError, OverflowError, OSError):  # a year of more than four digits
        return round(1970 + seconds / 31_556_952)


def short_names(iris: Iterable[str]) -> dict[str, str]:
    """The last part of each IRI, or the IRI where several have the same.

    >>> short_names(["http://e/a#name", "http://e/b#name", "http://e/a#year"])
    {'http://e/a#name': 'http://e/a#name', 'http://e/b#name': 'http://e/b#name', 'http://e/a#year': 'year'}
    """
    distinct = list(dict.fromkeys(iris))
    counts = Counter(last_part(iri) for iri in distinct)
    return {iri: last if (last := last_part(iri)) and counts[last] == 1 else iri for iri in distinct}


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is equal but for case, signs and direction, or else similar; None for none.

    >>> nearest("Written by", ["written_by", "^cites"]), nearest("cites", ["written_by", "^cites"])
    ('written_by', '^cites')
    >>> nearest("wrote", ["cites"]) is None
    True
    """
    by_key = {_key(one): one for one in reversed(list(known))}
    near = difflib.get_close_matches(_key(name[:200]), list(by_key), 1, LEAST_SIMILAR)
    return by_key[near[0]] if near else None


def _key(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))
