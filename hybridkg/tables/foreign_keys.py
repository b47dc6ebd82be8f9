"""Foreign keys: columns whose values all identify rows of another table, of the same call or loaded earlier.

A column is compared with the key of a table if it is named after it, or if both are texts: small integers are in any
table of numbered rows. Values are compared by 64-bit hashes, 8 bytes for each row of a table of the call that is
referred to. Rows that were loaded earlier are looked up in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from hybridkg.interfaces.row_subject import RowSubject
from hybridkg.interfaces.table_reader import Table, ValueKind
from hybridkg.storage.distinct import sorted_distinct
from hybridkg.tables.column_profile import KEY_KINDS, ColumnProfile
from hybridkg.tables.earlier_tables import NO_TABLES, EarlierTables
from hybridkg.tables.mapping import TermMap
from hybridkg.tables.names import reference_names, singular
from hybridkg.tables.triples import values_of

MIN_DISTINCT_TEXTS = 2
"""Different values that a column of texts needs, to refer to a table that it is not named after."""

MAX_FOUND = 50_000
"""Values of a column, found in the graph, that are not looked up again; about 5 MB."""


@dataclass(frozen=True)
class KeyedTable:
    """A table of the call with its profiles, the column that identifies its rows (None for none), and their subject."""

    table: Table
    profiles: Sequence[ColumnProfile]
    key: str | None
    subject: TermMap

    def profile(self, name: str) -> ColumnProfile:
        """The profile of a column."""
        return next(one for one in self.profiles if one.name == name)


@dataclass(frozen=True)
class ReferredTable:
    """A table to which columns may refer.

    Args:
        name: of the table.
        key: the column that identifies its rows.
        subject: of its rows; a template of this column alone.
        kind: of the values in this column; None if unknown, or if loads of the table differ.
        call: the table itself, where it is one of the call.
        earlier: its rows in the graph, where some of these subjects were loaded earlier.
    """

    name: str
    key: str
    subject: TermMap
    kind: ValueKind | None
    call: KeyedTable | None = None
    earlier: RowSubject | None = None


@dataclass
class _Candidate:
    """A column that may refer to a table; `first` is one of its values. `stays_reference`: it was one earlier."""

    column: str
    separator: str
    first: str
    target: ReferredTable
    is_named: bool
    stays_reference: bool
    is_kept: bool = True
    distinct: set[int] = field(default_factory=set)
    found: set[str] = field(default_factory=set)


class ForeignKeys:
    """The references of some tables to each other, and to earlier ones; `targets` are all that can be referred to."""

    def __init__(self, earlier: EarlierTables = NO_TABLES) -> None:
        self._earlier = earlier
        self._targets: dict[tuple[str, str], ReferredTable] = {}
        self._notes: dict[str, list[str]] = {}
        self.targets: Sequence[ReferredTable] = ()
        self.former_targets: Sequence[ReferredTable] = ()
        """All that could be referred to at any time, for instance by an earlier class of a table."""

    @classmethod
    def found(cls, tables: Sequence[KeyedTable], earlier: EarlierTables = NO_TABLES) -> ForeignKeys:
        """Compares all candidates, by one more pass over the tables that have any."""
        keys = cls(earlier)
        keys.targets = _targets(tables, earlier)
        keys.former_targets = [*keys.targets, *(_earlier_target(row, earlier) for row in earlier.templates)]
        candidates = {one.table.name: _candidates(one, keys.targets) for one in tables}
        for one in tables:
            candidates[one.table.name] = keys._with_a_first_row(one, candidates[one.table.name])
        wanted = {one.target.name: one.target.call for found in candidates.values() for one in found if one.target.call}
        known = {name: hashes_of_key(one) for name, one in wanted.items()}
        for one in tables:
            keys._compare(one, candidates[one.table.name], known)
        return keys

    def target(self, table: str, column: str) -> ReferredTable | None:
        """The table that a column refers to."""
        return self._targets.get((table, column))

    def notes(self, table: str) -> list[str]:
        """Remarks about columns that are named after a table and do not refer to it."""
        return self._notes.get(table, [])

    def _with_a_first_row(self, one: KeyedTable, candidates: list[_Candidate]) -> list[_Candidate]:
        """The candidates without those whose first value is no row of an earlier table, by one lookup."""
        asked = [
            (candidate, candidate.target.earlier)
            for candidate in candidates
            if candidate.target.earlier is not None and candidate.target.call is None
        ]
        values = [(earlier, candidate.first) for candidate, earlier in asked]
        for (candidate, _), is_missing in zip(asked, self._earlier.missing(values) if values else (), strict=True):
            if is_missing:
                candidate.is_kept = False
                self._note(one.table.name, candidate, candidate.first)
        return [candidate for candidate in candidates if candidate.is_kept]

    def _compare(self, one: KeyedTable, candidates: list[_Candidate], known: dict[str, npt.NDArray[np.int64]]) -> None:
        if not candidates:
            return
        places = {name: i for i, name in enumerate(one.table.columns)}
        for batch in one.table.batches():
            for candidate in [candidate for candidate in candidates if candidate.is_kept]:
                values = values_of(batch.columns[places[candidate.column]], candidate.separator)
                distinct = [*dict.fromkeys(values.texts)]
                hashes = np.fromiter(map(hash, distinct), np.int64, len(distinct))
                missing = self._first_missing(candidate, distinct, hashes, known)
                if missing is not None:
                    candidate.is_kept = False
                    self._note(one.table.name, candidate, missing)
                elif len(candidate.distinct) < MIN_DISTINCT_TEXTS:
                    candidate.distinct.update(hashes[:MIN_DISTINCT_TEXTS].tolist())
            if not any(candidate.is_kept for candidate in candidates):
                return
        for candidate in sorted(candidates, key=lambda candidate: not candidate.is_named):
            enough = candidate.is_named or len(candidate.distinct) >= MIN_DISTINCT_TEXTS
            if candidate.is_kept and enough:
                self._targets.setdefault((one.table.name, candidate.column), candidate.target)

    def _first_missing(
        self,
        candidate: _Candidate,
        distinct: Sequence[str],
        hashes: npt.NDArray[np.int64],
        known: dict[str, npt.NDArray[np.int64]],
    ) -> str | None:
        """The first of some values that no row has, neither of the call nor of an earlier load; None for none."""
        left = distinct
        if candidate.target.call is not None:
            left = [distinct[i] for i in np.flatnonzero(~is_contained(known[candidate.target.name], hashes)).tolist()]
        if (earlier := candidate.target.earlier) is None or not left:
            return left[0] if left else None
        new = [text for text in left if text not in candidate.found]
        missing = self._earlier.missing([(earlier, text) for text in new])
        if any(missing):
            return new[missing.index(True)]
        if len(candidate.found) + len(new) > MAX_FOUND:
            candidate.found.clear()
        candidate.found.update(new)
        return None

    def _note(self, table: str, candidate: _Candidate, missing: str) -> None:
        if candidate.is_named and not candidate.stays_reference:
            shown = missing if len(missing) <= 40 else f"{missing[:40]}..."
            name = next(reference_names(candidate.column, candidate.target.name, candidate.target.key))
            when = "" if candidate.target.call is not None else ", which was loaded earlier"
            self._notes.setdefault(table, []).append(
                f"column {candidate.column!r} is no reference to {candidate.target.name!r}{when}: no row there has "
                f"{shown!r}, so all cells are values, and queries by ex:{name} find none of these rows"
            )


def _targets(tables: Sequence[KeyedTable], earlier: EarlierTables) -> list[ReferredTable]:
    """Tables of the call, with their rows of earlier loads, then the other earlier tables, the last one first.

    An earlier load of a table of the call under another class is no other table.
    """
    in_graph = {(one.start, one.end): one for one in earlier.rows}
    names, found = {one.table.name for one in tables}, []
    for one in tables:
        if one.key is None or not (key := one.profile(one.key)).rows:
            continue
        before = in_graph.pop((one.subject.template[0], one.subject.template[2]), None)
        kind = key.kind if before is None or earlier.kind(before) == key.kind else None
        found.append(ReferredTable(one.table.name, one.key, one.subject, kind, one, before))
    return [*found, *(_earlier_target(row, earlier) for row in [*in_graph.values()][::-1] if row.table not in names)]


def _earlier_target(row: RowSubject, earlier: EarlierTables) -> ReferredTable:
    subject, known = TermMap((row.start, row.column, row.end), ValueKind.IRI), earlier.kind(row)
    kind = next((one for one in ValueKind if one == known), None)
    return ReferredTable(row.table, row.column, subject, kind, earlier=row)


def _candidates(one: KeyedTable, targets: Sequence[ReferredTable]) -> list[_Candidate]:
    found = []
    for target in targets:
        names = reference_headers(target)
        for profile in one.profiles:
            is_own_key = target.call is one and profile.name == target.key
            was_value = profile.kept is not None and not profile.kept.predicate
            if is_own_key or was_value or not profile.filled or profile.kind not in KEY_KINDS:
                continue
            is_named = _is_named_after(profile.name, names)
            is_text = profile.kind is not ValueKind.INTEGER and target.call is not one and target.kind is not None
            if target.kind in (profile.kind, None) and (is_named or is_text):
                stays = profile.kept is not None and bool(profile.kept.predicate)
                found.append(_Candidate(profile.name, profile.separator, profile.first, target, is_named, stays))
    return found


def reference_headers(target: ReferredTable) -> set[str]:
    """Names of columns that refer to a table: `film`, `film_id`, `filmid`, `imdb_id` for a key of that name."""
    stem = _normal(target.name)
    key = _normal(target.key)
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


def hashes_of_key(one: KeyedTable) -> npt.NDArray[np.int64]:
    """The hashes of the values in the key of a table, ascending."""
    place = [*one.table.columns].index(one.key or "")
    found = [np.empty(0, np.int64)]
    for batch in one.table.batches():
        texts = values_of(batch.columns[place]).texts
        found.append(np.fromiter(map(hash, texts), np.int64, len(texts)))
    return sorted_distinct(np.concatenate(found))


def is_contained(known: npt.NDArray[np.int64], hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Whether each hash is one of some that are ascending."""
    places = np.searchsorted(known, hashes)
    inside = places < len(known)
    found = np.zeros(len(hashes), bool)
    found[inside] = known[places[inside]] == hashes[inside]
    return found
