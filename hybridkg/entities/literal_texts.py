"""The values before and after a change of fields that hold literals of the entities themselves, read by columns.

Most changes are of this kind: a description gets longer, a keyword comes or goes. Their values need no triple of other
nodes, and those afterwards are those before without what is removed and with what is added. So each literal is read
once, without a term for it: 4 us an entity with two literals, where changed_text.py takes 20.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from hybridkg.entities.field_routing import FieldRouting, FieldValues, Gathering, LiteralTaker, Value, distinct_values
from hybridkg.entities.profile.paths import alternatives, single_steps
from hybridkg.entities.profile.profile import Profile
from hybridkg.entities.structure import STRUCTURAL_PREDICATES
from hybridkg.entities.triple_lookups import StatedTriple, TripleLookups
from hybridkg.rdf.terms import Literal, NamedNode, Node

NO_VALUES: list[Value] = []
"""The values of a field that an entity does not have; nobody changes it."""


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
        """The reader of some fields; None where one of them has other values than literals of its entities.

        Args:
            profile: of the index.
            routing: of the profile.
            fields: positions.
            documented: positions of the fields that may have values from documents.
        """
        if any(field.local_name for field in profile.fields) or not fields.isdisjoint(documented):
            return None
        own = [profile.fields[position] for position in fields]
        if any(one.rest or one.text == "labels" or alternatives(one.path) for one in own):
            return None
        return cls(profile, routing, fields)

    def follows(self, predicates: frozenset[str]) -> bool:
        """Whether a change of triples of some predicates leaves every entity an entity that has text still."""
        types = self.profile.types if self.profile.entities else ()
        return predicates.isdisjoint((*types, *STRUCTURAL_PREDICATES))

    def before_and_after(
        self,
        entities: Sequence[Node],
        lookups: TripleLookups,
        added: Iterable[StatedTriple],
        removed: Iterable[StatedTriple],
    ) -> tuple[dict[Node, FieldValues], dict[Node, FieldValues]]:
        """The values of entities in the state before a change and in that after it, with [] in all other fields.

        Args:
            entities: nodes.
            lookups: in the state before.
            added: triples that the state after has and the one before has not.
            removed: triples that the state before has and the one after has not.

        Raises:
            ValueError: the state before lacks a literal that the change removes.
        """
        token_of = {node: str(node) for node in entities}
        before, gone, new = (Gathering(self.profile, routing=self.routing) for _ in range(3))
        tokens = list(token_of.values())
        for iri in sorted({iri for position in self.fields for iri in self._steps(position)}):
            take = before.literal_taker(self.routing.route(iri).within(self.fields))
            for place, tag, text in zip(*lookups.literals(entities, iri), strict=True):
                take(tokens[place], text, tag[1:], "") if tag[0] == "@" else take(tokens[place], text, "", tag)
        self._add(gone, removed, token_of)
        self._add(new, added, token_of)
        after = Gathering(self.profile, routing=self.routing)
        for position in self.fields:
            held = {token: [*values] for token, values in before.literals[position].items()}
            for token, values in gone.literals[position].items():
                for value in values:
                    held.get(token, []).remove(value)
            for token, values in new.literals[position].items():
                held.setdefault(token, []).extend(values)
            after.literals[position] = held
        return self._values(before, token_of), self._values(after, token_of)

    def _steps(self, position: int) -> Iterable[str]:
        path = self.profile.fields[position].path
        return single_steps(path) if path is not None else ()

    def _add(self, gathering: Gathering, triples: Iterable[StatedTriple], token_of: dict[Node, str]) -> None:
        """Adds the literals among triples of the entities."""
        takers: dict[NamedNode, LiteralTaker] = {}
        for subject, predicate, end in triples:
            token = token_of.get(subject)
            if token is None or not isinstance(end, Literal):
                continue
            take = takers.get(predicate)
            if take is None:
                route = self.routing.route(predicate.value).within(self.fields)
                take = takers[predicate] = gathering.literal_taker(route)
            language = end.language or ""
            take(token, end.value, language, "" if language else end.datatype.value)

    def _values(self, gathering: Gathering, token_of: dict[Node, str]) -> dict[Node, FieldValues]:
        columns: list[Iterable[list[Value]]] = []
        for position in range(len(self.profile.fields)):
            held: dict[str, list[Value]] = gathering.literals[position] if position in self.fields else {}
            distinct = {token: distinct_values(values) for token, values in held.items()}
            columns.append([distinct.get(token, NO_VALUES) for token in token_of.values()])
        return dict(zip(token_of, zip(*columns, strict=True), strict=True))
