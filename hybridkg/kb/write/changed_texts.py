"""The texts that a commit changes, as its indexes follow them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hybridkg.entities.changed_text import SelectedTexts, changed_values
from hybridkg.entities.node_table import NodeTable
from hybridkg.interfaces.entity_values import EntityValues
from hybridkg.interfaces.staying import Staying
from hybridkg.interfaces.text_engine import FieldChange, TextChange
from hybridkg.rdf.terms import Node


@dataclass(frozen=True)
class ChangedTexts:
    """The texts that a commit changes.

    Args:
        nodes: the next node table.
        ids: the earlier entities that have text still.
        after: the later texts of the changed entities; those of entities that stay may be missing where `change` is
            all that is needed.
        change: for the text engine; None where nothing has changed that it stores.
        changed: the entities whose text differs, in term order.
        old_ids: these, and others for whom the engine stores something else now, with their earlier ids; -1 for a new
            entity.
    """

    nodes: NodeTable
    ids: Staying
    after: SelectedTexts
    change: TextChange | None = None
    changed: Collection[Node] = ()
    old_ids: Mapping[Node, int] = field(default_factory=dict)


def literal_field_changes(fields: Iterable[tuple[EntityValues, EntityValues]], ids: Staying) -> list[FieldChange]:
    """The changes of the fields of entities that stay, from the values before and after of each field."""
    return [
        FieldChange(ids.without(np.concatenate([before.ids, after.ids]).astype(np.int64)), before, after)
        for before, after in fields
    ]


def field_changes(
    changed: Collection[Node],
    before: SelectedTexts,
    after: SelectedTexts,
    ids: Staying,
    old_ids: Mapping[Node, int],
    new_ids: Mapping[Node, int],
) -> Sequence[FieldChange]:
    """The changes of each field.

    Args:
        changed: the entities.
        before: their texts before.
        after: their texts after.
        ids: the earlier entities that have text still.
        old_ids: the earlier ids of the entities.
        new_ids: the next ids of those that have text.
    """
    return [
        FieldChange(
            staying_of(own, old_ids, ids),
            EntityValues.of(
                (old_ids[node], before.texts[node][i]) for node in own if node in before.texts if before.texts[node][i]
            ),
            EntityValues.of((new_ids[node], values) for node, values in own.items() if values),
        )
        for i, own in enumerate(changed_values(changed, before, after))
    ]


def staying_of(changed: Iterable[Node], old_ids: Mapping[Node, int], ids: Staying) -> Staying:
    """The earlier entities that have text still, and have not changed."""
    return ids.without(np.array([id for id in map(old_ids.__getitem__, changed) if id >= 0], np.int64))
