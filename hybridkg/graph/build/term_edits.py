"""Edits of the term table: terms that lost their last triple leave, new ones enter at their places in the order.

Every id of the earlier projection gets its id in the next one. A node that gains or loses its text moves between the
entities and the other nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hybridkg.entities.node_table import NodeTable
from hybridkg.graph.build.literal_pieces import LiteralPieces, check_piece
from hybridkg.graph.build.nquads_reader import UnsupportedGraphError
from hybridkg.graph.build.numbering import write_strings
from hybridkg.graph.literal_order import FIRST_VALUED, SEGMENTS, literal_key
from hybridkg.graph.stored_literal_part import tag_of
from hybridkg.graph.stored_literals import PIECES
from hybridkg.graph.stored_projection import StoredTerms
from hybridkg.graph.stored_strings import StoredStrings
from hybridkg.interfaces.graph_index import UNBOUND
from hybridkg.rdf.terms import BlankNode, Literal, NamedNode, Node, Term
from hybridkg.storage.array_edit import ArrayEdit
from hybridkg.storage.arrays import MappedArrays, Writer, smallest_unsigned

Ids = NDArray[np.int64]

OTHERS = ("others.text", "others.offsets")
"""Arrays of the nodes that are not entities."""

MAX_COPIED = 1 << 26
"""Bytes of forms that are copied at once: more than a piece has, and less than those of version 2."""

LITERALS = ("literals.values", "literals.kinds", "kinds.text", "kinds.offsets")
"""Arrays of the literals, besides the pieces of their forms."""


@dataclass(frozen=True)
class NewIds:
    """The ids of the next projection.

    Args:
        of_old: int64[old terms], the id of each earlier one; -1 for one that has gone.
        moved: bool[old terms]: nodes whose order among the others has changed, because they gained or lost their text.
        of: the id of a term of the next projection.
        about: the part of the header.
    """

    of_old: Ids
    moved: NDArray[np.bool_]
    of: Callable[[Term], int]
    about: dict[str, Any]


class TermEdits:
    """The edits from one term table to the next.

    Args:
        reader: the arrays of the earlier projection.
        before: the earlier node table.
        after: the next node table.
        entity_ids: int64[earlier entities], the next id of each; -1 for one that has lost its text.
        added: terms of the triples that are new.
        removed: terms of the triples that have gone.
        occurs: whether a term is subject or object of a triple of the next projection.
    """

    def __init__(
        self,
        reader: MappedArrays,
        before: NodeTable,
        after: NodeTable,
        entity_ids: Ids,
        added: Iterable[Term],
        removed: Iterable[Term],
        occurs: Callable[[Term], bool],
    ):
        self._reader, self._old, self._after, self._entity_ids = reader, StoredTerms(reader, before), after, entity_ids
        self._others = StoredStrings(reader.array("others.text"), reader.array("others.offsets"))
        self._literals, self._base = self._old.literals, self._old.base
        self._kinds = self._old.kinds
        self._blank = int(reader.about("other_blank_nodes"))
        added, gone = dict.fromkeys(added), [term for term in dict.fromkeys(removed) if not occurs(term)]
        lost = before.nodes(np.flatnonzero(entity_ids < 0).astype(np.uint32))
        self._to_others = [node for node in lost if occurs(node)]
        is_new = np.ones(len(after), bool)
        is_new[entity_ids[entity_ids >= 0]] = False
        self._to_entities = [
            node for node in after.nodes(np.flatnonzero(is_new).astype(np.uint32)) if self._other(node) >= 0
        ]
        self._edit_nodes(added, gone)
        self._edit_literals(added, gone)

    # --- nodes that have no text --------------------------------------------------------

    def _other(self, node: Node) -> int:
        """The place of a node among the earlier other nodes; -1 for none."""
        return self._others.find(node.value.encode(), *self._range_of(node))

    def _range_of(self, node: Node) -> tuple[int, int]:
        return (0, self._blank) if isinstance(node, BlankNode) else (self._blank, len(self._others))

    def _edit_nodes(self, added: Iterable[Term], gone: Iterable[Term]) -> None:
        leaving = {self._other(node) for node in self._to_entities}
        leaving |= {self._other(node) for node in gone if isinstance(node, NamedNode | BlankNode)} - {-1}
        entering: dict[Node, None] = dict.fromkeys(self._to_others)
        for node in added:
            if isinstance(node, NamedNode | BlankNode) and self._after.find(node) is None and self._other(node) < 0:
                entering[node] = None
        new = sorted(entering, key=lambda node: (isinstance(node, NamedNode), node.value.encode()))
        places = [self._others.place(node.value.encode(), *self._range_of(node)) for node in new]
        self._node_edit = ArrayEdit(len(self._others), _array(sorted(leaving)), _array(places))
        self._new_nodes = new
        self._new_blank = sum(isinstance(node, BlankNode) for node in new)
        self._gone_blank = sum(place < self._blank for place in leaving)

    # --- literals -----------------------------------------------------------------------

    def _edit_literals(self, added: Iterable[Term], gone: Iterable[Term]) -> None:
        old, base, n_nodes = self._old, self._base, self._old.n_nodes
        without = {term for term in gone if isinstance(term, Literal)}
        wanted = dict.fromkeys(term for term in added if isinstance(term, Literal))
        leaving = {*old.gone.tolist(), *(base.find(term) for term in without)}
        leaving -= {-1, *(base.find(term) for term in wanted)}
        kept = dict.fromkeys(term for term in self._tail_literals() if term not in without)
        new = [*kept, *(term for term in wanted if term not in kept and base.find(term) < 0)]
        self._new_literals = sorted(new, key=literal_key)
        self._keys = [literal_key(literal) for literal in self._new_literals]
        places = [base.place(literal) - n_nodes for literal in self._new_literals]
        self._literal_edit = ArrayEdit(self._n_base, _array(sorted(leaving)) - n_nodes, _array(places))

    @property
    def _n_base(self) -> int:
        """Literals of the earlier base."""
        return self._base.part.end - self._old.n_nodes

    def _tail_literals(self) -> list[Literal]:
        """The literals of the earlier tail, by id."""
        tail = self._old.tail
        if tail is None:
            return []
        return cast(list[Literal], self._old.terms(np.arange(tail.part.first, tail.part.end, dtype=np.uint32)))

    # --- the next table -----------------------------------------------------------------

    def write(self, out: Writer) -> NewIds:
        """Writes the arrays of the next term table.

        Raises:
            UnsupportedGraphError: there are more terms than ids.
            DamagedPieceError: a piece of the earlier literals is damaged.
        """
        about = self._about()
        if about["n_terms"] >= int(UNBOUND):
            raise UnsupportedGraphError(f"it has more than {int(UNBOUND):,} distinct terms")
        if self._node_edit:
            names = [node.value.encode() for node in self._new_nodes]
            self._write_edited(out, "others", self._others, self._node_edit, names)
        else:
            out.link(self._reader, OTHERS)
        if self._literal_edit or not self._literals.is_in_pieces:
            self._write_values(out)
            self._write_kinds(out)
        else:
            out.link(self._reader, LITERALS)
        about[PIECES] = self._write_pieces(out)
        return NewIds(*self._ids(about), about)

    def _write_pieces(self, out: Writer) -> list[tuple[int, int]]:
        """Writes the pieces in which a form has gone or is new; returns the sizes of all of them."""
        pieces, literals, edit = LiteralPieces(out), self._literals, self._literal_edit
        forms = [one.value.encode() for one in self._new_literals]
        runs = [run for run in literals.runs(MAX_COPIED) if run[2] <= self._n_base]
        for number, first, end in runs or [(0, 0, 0)]:  # where there are none, new ones enter
            gone, new = (
                slice(*places.searchsorted([first, end if end < edit.size else end + 1]).tolist())
                for places in (edit.removed, edit.inserted)
            )
            own = ArrayEdit(end - first, edit.removed[gone] - first, edit.inserted[new] - first)
            is_whole = literals.is_in_pieces and end - first == literals.size(number)[0] > 0
            if is_whole and pieces.is_between and not own:
                pieces.link(self._reader, literals, number)
                continue
            check_piece(literals, number)
            text, offsets = literals.stored(number, first, end)
            lengths = own.apply(np.diff(offsets.astype(np.int64)), np.array([len(form) for form in forms[new]]))
            pieces.append(np.concatenate([text[:0], *own.text_parts(text, offsets, forms[new])]), lengths)
        pieces.close()
        return pieces.sizes

    def _write_values(self, out: Writer) -> None:
        """Writes the values of the literals that are no strings."""
        first = self._base.part.segments[SEGMENTS[FIRST_VALUED]][0] - self._old.n_nodes
        strings = sum(key[0] < FIRST_VALUED for key in self._keys)
        own = self._literal_edit.behind(first, strings)
        values = own.apply(self._base.part.numbers, np.array([key[1] for key in self._keys[strings:]]))
        out.write("literals.values", values)

    def _write_edited(
        self, out: Writer, name: str, strings: StoredStrings, edit: ArrayEdit, new: Sequence[bytes]
    ) -> None:
        out.splice(f"{name}.text", self._reader, edit.text_pieces(strings.offsets, new))
        out.write(f"{name}.offsets", edit.offsets(strings.offsets, [len(one) for one in new]))

    def _about(self) -> dict[str, Any]:
        edit, n_entities = self._literal_edit, len(self._after)
        n_nodes = n_entities + self._node_edit.new_size
        segments, first = [], n_nodes
        for number, name in enumerate(SEGMENTS):
            begin, end = (place - self._old.n_nodes for place in self._base.part.segments[name])
            gone = np.searchsorted(edit.removed, [begin, end])
            size = end - begin - int(gone[1] - gone[0]) + sum(key[0] == number for key in self._keys)
            segments.append([first, first + size])
            first += size
        return {
            "n_entities": n_entities,
            "n_nodes": n_nodes,
            "n_terms": n_nodes + edit.new_size,
            "other_blank_nodes": self._blank - self._gone_blank + self._new_blank,
            "segments": segments,
        }

    def _write_kinds(self, out: Writer) -> None:
        """Writes the languages and datatypes that occur, and that of each literal."""
        old_kinds = self._reader.array("literals.kinds")
        strings = self._base.strings_end - self._old.n_nodes
        new_strings = sum(key[0] == 0 for key in self._keys)
        names = [self._kinds.string(i).encode() for i in range(len(self._kinds))]
        own = self._literal_edit.behind(strings, new_strings)
        tags = [tag_of(literal) for literal in self._new_literals[new_strings:]]
        counts = np.bincount(old_kinds, minlength=len(names)) - np.bincount(
            old_kinds[own.removed], minlength=len(names)
        )
        used = sorted({name for name, count in zip(names, counts.tolist(), strict=True) if count} | {*tags})
        place_of = {name: place for place, name in enumerate(used)}
        renamed = np.array([place_of.get(name, 0) for name in names] or [0], np.int64)
        numbers = own.apply(renamed[old_kinds], np.array([place_of[tag] for tag in tags], np.int64))
        write_strings(out, "kinds", used)
        out.write("literals.kinds", numbers.astype(smallest_unsigned(max(0, len(used) - 1))))

    def _ids(self, about: dict[str, Any]) -> tuple[Ids, NDArray[np.bool_], Callable[[Term], int]]:
        old, after, n_entities, n_nodes = self._old, self._after, about["n_entities"], about["n_nodes"]
        others, literals = _ids_from(n_entities, self._node_edit), _ids_from(n_nodes, self._literal_edit)
        tail = self._tail_literals()
        of_old = np.concatenate([self._entity_ids, others, literals, np.full(len(tail), -1)])
        entered: dict[Term, int] = dict(
            zip(self._new_nodes, (self._node_edit.new_places() + n_entities).tolist(), strict=True)
        )
        entered |= dict(zip(self._new_literals, (self._literal_edit.new_places() + n_nodes).tolist(), strict=True))
        moved = np.zeros(len(of_old), bool)
        if tail:
            first = len(of_old) - len(tail)
            of_old[first:] = [entered.get(literal, -1) for literal in tail]
            moved[first:] = True
        for node in self._to_entities:
            place = old.n_entities + self._other(node)
            of_old[place], moved[place] = after.find(node), True
        for node in self._to_others:
            place = old.id_of(node)
            of_old[place], moved[place] = entered[node], True

        def id_of(term: Term) -> int:
            if isinstance(term, NamedNode | BlankNode) and (entity := after.find(term)) is not None:
                return entity
            if term in entered:
                return entered[term]
            place = self._base.find(term) if isinstance(term, Literal) else old.id_of(term)
            return -1 if place < 0 else int(of_old[place])

        return of_old, moved, id_of


def _ids_from(first: int, edit: ArrayEdit) -> Ids:
    """int64[earlier elements]: the next id of each, from `first`; -1 for one that leaves."""
    ids = edit.places()
    ids += first
    ids[edit.removed] = -1
    return ids


def _array(places: Sequence[int]) -> Ids:
    return np.array(places, np.int64)
