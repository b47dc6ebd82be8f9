"""The statistics of a graph: counts, the estimates from them, and their file.

They depend on the graph alone, so the same graph gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from pathlib import Path
from typing import Any

from hybridkg.errors import CorruptError
from hybridkg.graph.statistics.characteristic_sets import Bound, CharacteristicSets, whole
from hybridkg.graph.statistics.histograms import finite, triples_in_range
from hybridkg.graph.statistics.pattern_cardinality import least_read, rows_of, values_of
from hybridkg.interfaces.graph_index import Cardinality, Pattern
from hybridkg.interfaces.statistics import Bucket, Degrees, Leg, PredicateStatistics
from hybridkg.rdf.terms import RDF_TYPE, Term

FORMAT = 1
"""The version of the file. Other versions are ignored: statistics can always be collected again."""

PART = "statistics"
"""The name of the statistics in a generation."""

FILE = f"{PART}.json"

MAX_FREQUENT = 100
"""Most frequent objects of a predicate, listed with counts; as many as PostgreSQL's default_statistics_target."""

MAX_TERM_LENGTH = 200
"""The maximum length of a listed term in N-Triples syntax."""

REBUILD = "build the index again: hybridkg index KB"


@dataclass(frozen=True)
class Others:
    """The predicates, or classes, that are too rare to be listed; `most` bounds the triples of one of them."""

    names: int
    triples: int
    most: int

    @property
    def one(self) -> Cardinality:
        """The cardinality of one unlisted name; zero if all are listed."""
        return Cardinality(0.0, self.triples / self.names if self.names else 0.0, float(self.most))


@dataclass(frozen=True)
class Statistics:
    """The statistics of a graph; implements GraphStatistics.

    Args:
        triples, subjects: of the projection; subjects are distinct.
        entities, nodes, terms: of the term table.
        predicates: the listed ones, most frequent first; `other_predicates` are the rest.
        classes: `rdf:type` triples by IRI of the class, most frequent first.
        other_classes: the others, and anonymous classes.
        omitted: predicates with triples outside the projection, sorted.
    """

    triples: int
    subjects: int
    entities: int
    nodes: int
    terms: int
    predicates: tuple[PredicateStatistics, ...]
    other_predicates: Others
    classes: Mapping[str, int]
    other_classes: Others
    sets: CharacteristicSets
    omitted: tuple[str, ...]

    @cached_property
    def _by_iri(self) -> dict[str, PredicateStatistics]:
        return {predicate.iri: predicate for predicate in self.predicates}

    def predicate(self, iri: str) -> PredicateStatistics | None:
        return self._by_iri.get(iri)

    def triples_of(self, iri: str) -> Cardinality:
        predicate = self.predicate(iri)
        size = self.other_predicates.one if predicate is None else Cardinality(*[float(predicate.triples)] * 3)
        return self._unsure(size, iri)

    def instances(self, class_iri: str) -> Cardinality:
        subjects = self.classes.get(class_iri)
        size = self.other_classes.one if subjects is None else Cardinality(*[float(subjects)] * 3)
        return self._unsure(size, RDF_TYPE)

    def having(self, iri: str, value: Term) -> Cardinality:
        """The number of triples of a predicate with an object: exact for the most frequent objects."""
        predicate = self.predicate(iri)
        if predicate is None:
            return self._unsure(self.other_predicates.one, iri)
        text = str(value)
        for listed, triples in predicate.frequent:
            if listed == text:
                return self._unsure(Cardinality(*[float(triples)] * 3), iri)
        full = len(predicate.frequent) == MAX_FREQUENT
        upper = predicate.frequent[-1][1] if full else min(1, predicate.objects)
        if len(text) > MAX_TERM_LENGTH:
            upper = max([upper, *(triples for listed, triples in predicate.frequent if listed is None)])
        rest = predicate.objects - len(predicate.frequent)
        mean = (predicate.triples - sum(triples for _, triples in predicate.frequent)) / rest if rest else 0.0
        return self._unsure(Cardinality(0.0, min(mean, upper), float(upper)), iri)

    def in_range(
        self,
        iri: str,
        segment: str,
        low: float | None = None,
        high: float | None = None,
        *,
        open_low: bool = False,
        open_high: bool = False,
    ) -> Cardinality:
        predicate = self.predicate(iri)
        if predicate is None:
            return self._unsure(self.other_predicates.one, iri)
        buckets = predicate.histograms.get(segment, ())
        return self._unsure(triples_in_range(buckets, low, high, open_low=open_low, open_high=open_high), iri)

    def values(self, pattern: Pattern, variable: str) -> Cardinality | None:
        return values_of(pattern, variable, self)

    def rows(self, pattern: Pattern) -> float | None:
        return rows_of(pattern, self)

    def least_read(self, pattern: Pattern) -> float | None:
        return least_read(pattern, self)

    def star(self, legs: Sequence[Leg]) -> Cardinality:
        """The number of distinct subjects with all of these predicates and objects.

        Exact without constants if every characteristic set is listed. Constants are assumed independent of the rest.
        """
        if not legs:
            return Cardinality(*[float(self.nodes)] * 3)
        size = self.sets.subjects_with(self._bounds(legs))
        return self._with_constants(size, legs)

    def star_rows(self, legs: Sequence[Leg]) -> Cardinality:
        """The solutions of a star with a separate variable for each object that is not a constant."""
        free = [iri for iri, value in legs if value is None]
        if not free:
            return self.star(legs)
        bounds = self._bounds(legs)
        size = self.sets.rows_with(bounds)
        low, estimate, high = size.low, size.estimate, size.high
        for iri in {iri for iri in free if free.count(iri) > 1}:
            repeats = free.count(iri) - 1
            predicate = self.predicate(iri)
            estimate *= (1.0 if predicate is None else predicate.triples / max(predicate.subjects, 1)) ** repeats
            high = high * bounds[iri].most ** repeats if high else 0.0
        size = self._unsure(Cardinality(low, estimate, high), *bounds)
        if len(free) == len(legs):
            return size
        star, share = self.star(legs), self._share_of_constants(legs)
        high = min(size.high, star.high * prod(bounds[iri].most for iri in free) if star.high else 0.0)
        return Cardinality(star.low, min(max(size.estimate * share, star.low), high), high)

    def _with_constants(self, size: Cardinality, legs: Sequence[Leg]) -> Cardinality:
        low, high = size.low, size.high
        for iri, value in legs:
            if value is not None:
                having = self.having(iri, value)
                # A subject without this object has another object of the predicate, or is not in the star.
                low -= self._bound(iri).subjects - having.low
                high = min(high, having.high)
        low = max(0.0, min(low, high))
        estimate = size.estimate * self._share_of_constants(legs)
        return self._unsure(Cardinality(low, min(max(estimate, low), high), high), *(iri for iri, _ in legs))

    def _share_of_constants(self, legs: Sequence[Leg]) -> float:
        """The selectivity of the constant objects among the subjects with the predicates."""
        share = 1.0
        for iri, value in legs:
            subjects = self._bound(iri).subjects
            if value is not None and 0 < subjects < inf:
                share *= min(1.0, self.having(iri, value).estimate / subjects)
        return share

    def _bounds(self, legs: Sequence[Leg]) -> dict[str, Bound]:
        free = {iri for iri, value in legs if value is None}
        return {iri: self._bound(iri, once=iri not in free) for iri, _ in legs}

    def _bound(self, iri: str, *, once: bool = False) -> Bound:
        predicate = self.predicate(iri)
        if predicate is None:
            upper = float(self.other_predicates.most)
            return Bound(upper, upper, once)
        return Bound(float(predicate.subjects), float(predicate.outward.most), once)

    def _unsure(self, size: Cardinality, *iris: str) -> Cardinality:
        """The cardinality without its upper bound if one of the predicates has triples outside the projection."""
        return Cardinality(size.low, size.estimate, inf) if any(iri in self.omitted for iri in iris) else size

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "triples": self.triples,
            "subjects": self.subjects,
            "entities": self.entities,
            "nodes": self.nodes,
            "terms": self.terms,
            "predicates": [_predicate_to_json(predicate) for predicate in self.predicates],
            "other_predicates": _others_to_json(self.other_predicates),
            "classes": dict(self.classes),
            "other_classes": _others_to_json(self.other_classes),
            "characteristic_sets": self.sets.to_json(),
            "omitted": list(self.omitted),
        }

    @classmethod
    def from_json(cls, value: Any) -> Statistics:
        """Parses the result of `to_json`.

        Raises:
            KeyError, TypeError, ValueError, AttributeError: it is malformed.
        """
        return cls(
            whole(value["triples"]),
            whole(value["subjects"]),
            whole(value["entities"]),
            whole(value["nodes"]),
            whole(value["terms"]),
            tuple(map(_predicate_from_json, value["predicates"])),
            _others_from_json(value["other_predicates"]),
            {str(iri): whole(n) for iri, n in value["classes"].items()},
            _others_from_json(value["other_classes"]),
            CharacteristicSets.from_json(value["characteristic_sets"]),
            tuple(map(str, value["omitted"])),
        )


def write_statistics(folder: Path, statistics: Statistics) -> None:
    text = json.dumps(statistics.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    (folder / FILE).write_text(text + "\n", encoding="utf-8", newline="\n")


def read_statistics(folder: Path) -> Statistics | None:
    """The statistics in the folder of a generation; None if missing, or of another version.

    Raises:
        CorruptError: the file is unreadable or damaged. No query needs it.
    """
    path = folder / FILE
    try:
        value = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_number)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as e:
        raise CorruptError(f"{str(path)!r} cannot be read: {e}", hint=REBUILD) from e
    if not isinstance(value, dict):
        raise CorruptError(f"{str(path)!r} is damaged: it is not a JSON object", hint=REBUILD)
    if value.get("format") != FORMAT:
        return None
    try:
        return Statistics.from_json(value)
    except (KeyError, TypeError, ValueError, AttributeError) as e:
        raise CorruptError(f"{str(path)!r} is damaged: {type(e).__name__}: {e}", hint=REBUILD) from e


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number of JSON")


def _predicate_to_json(predicate: PredicateStatistics) -> dict[str, Any]:
    def degrees(of: Degrees) -> list[int]:
        return [of.p50, of.p90, of.p99, of.most]

    return {
        "iri": predicate.iri,
        "triples": predicate.triples,
        "subjects": predicate.subjects,
        "objects": predicate.objects,
        "kinds": dict(predicate.kinds),
        "out_degrees": degrees(predicate.outward),
        "in_degrees": degrees(predicate.inward),
        "histograms": {name: finite(buckets) for name, buckets in predicate.histograms.items()},
        "frequent": [list(item) for item in predicate.frequent],
    }


def _predicate_from_json(value: Any) -> PredicateStatistics:
    def degrees(of: Any) -> Degrees:
        p50, p90, p99, most = map(whole, of)
        return Degrees(p50, p90, p99, most)

    return PredicateStatistics(
        str(value["iri"]),
        whole(value["triples"], 1),
        whole(value["subjects"], 1),
        whole(value["objects"], 1),
        {str(kind): whole(n) for kind, n in value["kinds"].items()},
        degrees(value["out_degrees"]),
        degrees(value["in_degrees"]),
        {str(name): tuple(map(_bucket, buckets)) for name, buckets in value["histograms"].items()},
        tuple((None if term is None else str(term), whole(n)) for term, n in value["frequent"]),
    )


def _bucket(value: Any) -> Bucket:
    low, high, triples, values = value
    return Bucket(float(low), float(high), whole(triples, 1), whole(values, 1))


def _others_to_json(others: Others) -> list[int]:
    return [others.names, others.triples, others.most]


def _others_from_json(value: Any) -> Others:
    names, triples, most = map(whole, value)
    return Others(names, triples, most)
