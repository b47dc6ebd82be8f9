"""Foreign keys: columns whose values all identify rows of another table of the same call.

A column is compared with the key of a table if it is named after it, or if both are texts: small integers are in any
table of numbered rows. Values are compared by 64-bit hashes, 8 bytes for each row of a table that is referred to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hybridkg.interfaces.table_reader import Table, ValueKind
from hybridkg.tables.column_profile import KEY_KINDS, ColumnProfile
from hybridkg.tables.names import singular
from hybridkg.tables.triples import values_of

MIN_DISTINCT_TEXTS = 2
"""Different values that a column of texts needs, to refer to a table that it is not named after."""


@dataclass(frozen=True)
class KeyedTable:
    """A table with its profiles, and the column that identifies its rows; None for none."""

    table: Table
    profiles: Sequence[ColumnProfile]
    key: str | None

    def profile(self, name: str) -> ColumnProfile:
        """The profile of a column."""
        return next(one for one in self.profiles if one.name == name)


@dataclass
class _Candidate:
    """A column that may refer to a table."""

    column: str
    separator: str
    target: str
    is_named: bool
    is_kept: bool = True
    distinct: set[int] = field(default_factory=set)


class ForeignKeys:
    """The references between some tables."""

    def __init__(self) -> None:
        self._targets: dict[tuple[str, str], str] = {}
        self._notes: dict[str, list[str]] = {}

    @classmethod
    def found(cls, tables: Sequence[KeyedTable]) -> ForeignKeys:
        """Compares all candidates, by one more pass over the tables that have any."""
        keys = cls()
        candidates = {one.table.name: _candidates(one, tables) for one in tables}
        wanted = {candidate.target for found in candidates.values() for candidate in found}
        known = {one.table.name: _hashes(one) for one in tables if one.table.name in wanted}
        for one in tables:
            keys._compare(one, candidates[one.table.name], known)
        return keys

    def target(self, table: str, column: str) -> str | None:
        """The table that a column refers to."""
        return self._targets.get((table, column))

    def notes(self, table: str) -> list[str]:
        """Remarks about columns that are named after a table and do not refer to it."""
        return self._notes.get(table, [])

    def _compare(self, one: KeyedTable, candidates: list[_Candidate], known: dict[str, npt.NDArray[np.int64]]) -> None:
        if not candidates:
            return
        places = {name: i for i, name in enumerate(one.table.columns)}
        for batch in one.table.batches():
            for candidate in [candidate for candidate in candidates if candidate.is_kept]:
                values = values_of(batch.columns[places[candidate.column]], candidate.separator)
                distinct = [*dict.fromkeys(values.texts)]
                hashes = np.fromiter(map(hash, distinct), np.int64, len(distinct))
                missing = np.flatnonzero(~_contains(known[candidate.target], hashes))
                if len(missing):
                    candidate.is_kept = False
                    self._note(one.table.name, candidate, distinct[missing[0]])
                elif len(candidate.distinct) < MIN_DISTINCT_TEXTS:
                    candidate.distinct.update(hashes[:MIN_DISTINCT_TEXTS].tolist())
            if not any(candidate.is_kept for candidate in candidates):
                return
        for candidate in sorted(candidates, key=lambda candidate: not candidate.is_named):
            enough = candidate.is_named or len(candidate.distinct) >= MIN_DISTINCT_TEXTS
            if candidate.is_kept and enough:
                self._targets.setdefault((one.table.name, candidate.column), candidate.target)

    def _note(self, table: str, candidate: _Candidate, missing: str) -> None:
        if candidate.is_named:
            shown = missing if len(missing) <= 40 else f"{missing[:40]}..."
            self._notes.setdefault(table, []).append(
                f"column {candidate.column!r} is no reference to {candidate.target!r}: no row there has {shown!r}"
            )


def _candidates(one: KeyedTable, tables: Sequence[KeyedTable]) -> list[_Candidate]:
    found = []
    for target in tables:
        if target.key is None or not (key := target.profile(target.key)).rows:
            continue
        names = _names(target)
        for profile in one.profiles:
            if (target is one and profile.name == target.key) or not profile.filled or profile.kind not in KEY_KINDS:
                continue
            is_named = _is_named_after(profile.name, names)
            is_text = profile.kind is not ValueKind.INTEGER and target is not one
            if profile.kind is key.kind and (is_named or is_text):
                found.append(_Candidate(profile.name, profile.separator, target.table.name, is_named))
    return found


def _names(target: KeyedTable) -> set[str]:
    """Names of columns that refer to a table: `film`, `film_id`, `filmid`, `imdb_id` for a key of that name."""
    stem = _normal(target.table.name)
    key = _normal(target.key or "")
    bases = {stem, singular(stem)}
    names = {name for base in bases for name in (base, f"{base}_{key}", f"{base}_id", f"{base}id")}
    return names | ({key} - {"id", "identifier", "iri", "uri", "name", "label", "title", "key", "code"})


def _is_named_after(column: str, names: Iterable[str]) -> bool:
    """Whether a header is one of some names, in the plural of it, or ends in one: `main_film_id`."""
    name = _normal(column)
    forms = {name, singular(name)}
    if name.endswith("_ids"):
        forms.add(name[:-1])
    return any(form == one or form.endswith(f"_{one}") for form in forms for one in names)


def _normal(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name).strip("_").lower()


def _hashes(one: KeyedTable) -> npt.NDArray[np.int64]:
    """The hashes of the values in the key of a table, ascending."""
    place = [*one.table.columns].index(one.key or "")
    found = [np.empty(0, np.int64)]
    for batch in one.table.batches():
        texts = values_of(batch.columns[place]).texts
        found.append(np.fromiter(map(hash, texts), np.int64, len(texts)))
    return np.unique(np.concatenate(found))


def _contains(known: npt.NDArray[np.int64], hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    places = np.searchsorted(known, hashes)
    inside = places < len(known)
    found = np.zeros(len(hashes), bool)
    found[inside] = known[places[inside]] == hashes[inside]
    return found
