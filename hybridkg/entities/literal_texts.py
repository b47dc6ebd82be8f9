"""The change of the values of fields that hold literals of the entities themselves, by columns.

Most changes are of this kind: a description gets longer, a keyword comes or goes. Their values need no triple of other
nodes, and those afterwards are those before without what is removed and with what is added. So each distinct literal is
read and routed once, and what an entity has is a row of numbers: 5 us an entity with its look-up and the comparison of
both states, where changed_text.py takes 20 to read it (10,000 of 500,000 papers, 2-core machine).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.field_routing import FieldRouting, Value
from hybridkg.entities.profile.paths import alternatives, can_be_empty, single_steps
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.rdf.terms import Literal, Node
from hybridkg.rdf.triple_columns import PairColumns, TripleColumns
from hybridkg.storage.distinct import sorted_distinct

I64 = NDArray[np.int64]

_Rows: TypeAlias = list[tuple[I64, I64]]
"""(places, numbers) of the same length, each."""


@dataclass(frozen=True, eq=False)
class LiteralColumn:
    """Literals of nodes.

    Args:
        places: int64[n], the place of a node.
        codes: int64[n], the place of its literal in `tags` and `texts`.
        tags: of each distinct literal, `@` and the language, or else the datatype.
        texts: of each.
    """

    places: I64
    codes: I64
    tags: list[str]
    texts: list[str]

    def only(self, chosen: NDArray[np.bool_]) -> LiteralColumn:
        """Some of the literals, by bool[n]."""
        return LiteralColumn(self.places[chosen], self.codes[chosen], self.tags, self.texts)


IdsOf: TypeAlias = Callable[[Sequence[Node]], I64]
"""Nodes -> their ids; -1 for one that has none."""


class LiteralLookups(Protocol):
    """Lookups in one state of a graph."""

    def literals(self, ids: NDArray[np.uint32], predicate: str, /) -> LiteralColumn:
        """The literals that entities have by a predicate; their ids ascend, and places are theirs."""
        ...

    def instances(self, nodes: Iterable[Node], classes: Sequence[str], types: Sequence[str], /) -> set[Node]:
        """The nodes that have one of the classes by one of the predicates."""
        ...


@dataclass(frozen=True)
class LiteralTexts:
    """Reads the values of some fields.

    Args:
        profile: of the index.
        routing: of the profile.
        fields: positions; none of these fields has links, longer paths, local names, rest or documents.
    """

    profile: Profile
    routing: FieldRouting
    fields: frozenset[int]

    @classmethod
    def of(
        cls, profile: Profile, routing: FieldRouting, fields: frozenset[int], documented: Collection[int]
    ) -> LiteralTexts | None:
        """The reader of some fields; None where one of them has other values than literals of its entities, or where
        a triple of any predicate may make an entity.

        Args:
            profile: of the index.
            routing: of the profile.
            fields: positions.
            documented: positions of the fields that may have values from documents.
        """
        makes_entities = any(one.local_name or any(map(can_be_empty, alternatives(one.path))) for one in profile.fields)
        if makes_entities or not fields.isdisjoint(documented):
            return None
        own = [profile.fields[position] for position in fields]
        if any(one.rest or one.text == "labels" or alternatives(one.path) for one in own):
            return None
        return cls(profile, routing, fields)

    def follows(self, predicates: frozenset[str]) -> bool:
        """Whether a change of triples of some predicates leaves every entity an entity that has text still."""
        types = self.profile.types if self.profile.entities else ()
        return predicates.isdisjoint((*types, *STRUCTURAL_PREDICATES))

    def changes(
        self,
        added: TripleColumns,
        removed: TripleColumns,
        ids_of: IdsOf,
        lookups: LiteralLookups,
        limit: int,
    ) -> list[tuple[EntityValues, EntityValues]] | None:
        """For each field of the profile, the values before and after a change of the entities whose values differ.

        Args:
            added: triples that the state after has and the one before has not.
            removed: triples that the state before has and the one after has not.
            ids_of: nodes -> their ids, if they are entities in the state before, else -1.
            lookups: in the state before.
            limit: maximum number of entities.

        Returns:
            None where a literal is that of a node that was no entity and may be one now, where an entity loses its last
            value in these fields, so that others tell whether it is one still, or where the entities are too many.

        Raises:
            ValueError: the state before lacks a literal that the change removes.
        """
        predicates = sorted({iri for position in self.fields for iri in self._steps(position)})
        changed = [
            (iri, state, *own)
            for state, triples in ((_NEW, added), (_GONE, removed))
            for iri in predicates
            if (own := _of_literals(triples.by_predicate.get(iri))) is not None
        ]
        ids = [ids_of(subjects) for _, _, subjects, _ in changed]
        others = [
            subjects[row]
            for (_, _, subjects, _), of_subjects in zip(changed, ids, strict=True)
            for row in np.flatnonzero(of_subjects < 0).tolist()
        ]
        if others and not self._are_outside(others, lookups):
            return None
        entities = sorted_distinct(np.concatenate([np.zeros(0, np.int64), *ids]))
        entities = entities[entities >= 0]
        if len(entities) > limit:
            return None
        own_ids, fields = entities.astype(np.uint32), {position: _FieldRows() for position in self.fields}
        for iri in predicates:
            self._add(iri, lookups.literals(own_ids, iri), _BEFORE, fields)
        for (iri, state, _, objects), of_subjects in zip(changed, ids, strict=True):
            column = _column(entities.searchsorted(of_subjects), objects)
            self._add(iri, column if not others else column.only(of_subjects >= 0), state, fields)
        had, has = np.zeros(len(entities), bool), np.zeros(len(entities), bool)
        found = [_NO_CHANGE] * len(self.profile.fields)
        for position, rows in fields.items():
            found[position], *places = rows.change(own_ids)
            had[places[0]] = has[places[1]] = True
        return found if has[had].all() else None

    def _are_outside(self, nodes: Sequence[Node], lookups: LiteralLookups) -> bool:
        """Whether nodes that are no entities are none afterwards, too: of none of the profile's classes."""
        classes = self.profile.entities
        return bool(classes) and not lookups.instances(nodes, classes, self.profile.types)

    def _steps(self, position: int) -> Iterable[str]:
        path = self.profile.fields[position].path
        return single_steps(path) if path is not None else ()

    def _add(self, iri: str, column: LiteralColumn, state: int, fields: Mapping[int, _FieldRows]) -> None:
        """Adds the literals of a predicate to the rows of a state in the fields that take them."""
        route, codes = self.routing.route(iri).within(self.fields), dict[int, list[int]]()
        taking: dict[str, list[int]] = {}
        for number, (tag, text) in enumerate(zip(column.tags, column.texts, strict=True)):
            if not text or text.isspace():
                continue
            language = tag[1:] if tag[0] == "@" else ""
            if (positions := taking.get(tag)) is None:
                positions = taking[tag] = self.routing.taking(route, language, "" if language else tag)
            for position in positions:
                own, numbers = codes.get(position), fields[position].numbers
                if own is None:
                    own = codes[position] = [-1] * len(column.texts)
                own[number] = numbers.setdefault((text, language), len(numbers))
        for position, own in codes.items():
            of_rows = np.array(own, np.int64)[column.codes]
            is_taken = of_rows >= 0
            fields[position].states[state].append((column.places[is_taken], of_rows[is_taken]))


_BEFORE, _NEW, _GONE = range(3)

_NO_CHANGE = EntityValues.of(()), EntityValues.of(())


@dataclass
class _FieldRows:
    """The rows (place of an entity, number of a value) of a field: before a change, new, and gone."""

    numbers: dict[Value, int] = field(default_factory=dict)
    states: tuple[_Rows, _Rows, _Rows] = field(default_factory=lambda: ([], [], []))

    def change(self, ids: NDArray[np.uint32]) -> tuple[tuple[EntityValues, EntityValues], I64, I64]:
        """The values before and after of the entities whose values differ, and the places of those with any before, and
        after.

        Raises:
            ValueError: a row has gone that was not there.
        """
        values, n = sorted(self.numbers), max(1, len(self.numbers))
        ranks = np.empty(len(values), np.int64)
        ranks[[self.numbers[value] for value in values]] = np.arange(len(values))
        before, new, gone = (
            np.concatenate([np.zeros(0, np.int64), *(places * n + ranks[codes] for places, codes in own)])
            for own in self.states
        )
        # Two literals of an entity may be the same value, so values count until the last of them has gone.
        keys, counts = np.unique(np.concatenate([before, new]), return_counts=True)
        left, of_left = np.unique(gone, return_counts=True)
        at = np.searchsorted(keys, left)
        if len(left) and (int(at.max()) == len(keys) or (keys[at] != left).any() or (counts[at] < of_left).any()):
            raise ValueError("a literal has gone that was not there")
        counts[at] -= of_left
        earlier, later = sorted_distinct(before), keys[counts > 0]
        changed = np.zeros(len(ids), bool)
        changed[np.setxor1d(earlier, later, assume_unique=True) // n] = True
        both = tuple(_of_rows(values, ids, own[changed[own // n]], n) for own in (earlier, later))
        return (both[0], both[1]), earlier // n, later // n


def _of_rows(values: Sequence[Value], ids: NDArray[np.uint32], keys: I64, n: int) -> EntityValues:
    """The values of the entities at some places, from ascending keys place * n + value."""
    places, codes = np.divmod(keys, n)
    begins = np.flatnonzero(np.diff(places, prepend=-1))
    return EntityValues(values, ids[places[begins]], np.diff(begins, append=len(keys)), codes)


def _of_literals(columns: PairColumns | None) -> tuple[list[Node], list[Literal]] | None:
    """The subjects and objects of the triples whose object is a literal; None for none."""
    if columns is None:
        return None
    if set(map(type, columns.objects)) == {Literal}:
        return columns.subjects, cast(list[Literal], columns.objects)
    pairs = [(subject, end) for subject, end in zip(*columns, strict=True) if isinstance(end, Literal)]
    return ([subject for subject, _ in pairs], [end for _, end in pairs]) if pairs else None


def _column(places: I64, literals: Sequence[Literal]) -> LiteralColumn:
    numbers: dict[Literal, int] = {}
    codes = [numbers.setdefault(literal, len(numbers)) for literal in literals]
    tags = [f"@{literal.language}" if literal.language else literal.datatype.value for literal in numbers]
    return LiteralColumn(places, np.array(codes, np.int64), tags, [literal.value for literal in numbers])
