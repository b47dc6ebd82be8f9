"""The guess of a mapping from the tables themselves, by rules that its description states (docs/tables.md).

One pass over every row finds the types, so no later row contradicts the guess. Where a column may refer to the rows of
another table, a second pass compares them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from hybridkg.entities.documents.document_lines import TEXT_DOCUMENTS
from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.row_subject import KeptColumn
from hybridkg.interfaces.table_reader import Table, ValueKind
from hybridkg.rdf.input_file import extensions
from hybridkg.rdf.terms import NamedNode
from hybridkg.rdf.well_known import WELL_KNOWN
from hybridkg.registry import did_you_mean
from hybridkg.tables.column_profile import ColumnProfile
from hybridkg.tables.earlier_tables import NO_TABLES, EarlierTables
from hybridkg.tables.foreign_keys import ForeignKeys, KeyedTable
from hybridkg.tables.former_predicates import former_predicates
from hybridkg.tables.kept_references import kept_references
from hybridkg.tables.mapping import (
    RDF_TYPE,
    ROW_NUMBER,
    PropertyMap,
    TableMap,
    TableMapping,
    TermMap,
    constant_iri,
    iri_safe,
    literal_of,
)
from hybridkg.tables.names import (
    DESCRIPTIONS,
    LABELS,
    RDFS_COMMENT,
    RDFS_LABEL,
    class_name,
    ends_as_reference,
    languages,
    local_names,
    reference_names,
    singular,
)
from hybridkg.tables.referring_texts import referring_texts
from hybridkg.tables.same_rows import copy_note
from hybridkg.tables.table_source import row_subject

DEFAULT_PREFIX = "http://example.org/"

Choice: TypeAlias = "str | Mapping[str, str] | None"
"""A column or a class: of the only table, or of each table by its name."""


@dataclass(frozen=True, slots=True)
class _Key:
    """The column that identifies rows; None for their numbers."""

    column: str | None
    is_iri: bool = False


def guess(
    tables: Sequence[Table],
    *,
    id: Choice = None,
    class_: Choice = None,
    prefix: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    earlier: EarlierTables = NO_TABLES,
    progress: Progress = SILENT,
) -> TableMapping:
    """The mapping of tables that are loaded together.

    Args:
        tables: with different names.
        id: the column that identifies the rows; default: one called `id` or after its table, else the first whose
            values differ, else the number of the row.
        class_: class of the rows, a name or an IRI, also with a prefix; default: the name of the table, in the
            singular.
        prefix: namespace of classes, predicates and rows; default: DEFAULT_PREFIX.
        prefixes: namespaces for `class_`, before the well-known ones.
        earlier: tables to which columns may refer as to those of the call.
        progress: receives the bytes read.

    Raises:
        LoadError: a table is malformed, a choice names nothing, or a row has no value in its `id`.
    """
    namespace = _namespace(prefix)
    _check_names(tables)
    ids, classes = _choices(id, "id", tables), _choices(class_, "class", tables)
    known = {**WELL_KNOWN, **(prefixes or {}), "ex": namespace}
    class_iris = {
        table.name: _class(classes[table.name], namespace, known)
        if classes.get(table.name)
        else namespace + class_name(table.name)
        for table in tables
    }
    starts = {table.name: _start(class_iris[table.name], namespace) for table in tables}
    profiles = {table.name: _profiles(table, earlier.columns(starts[table.name]), progress) for table in tables}
    for table in tables:
        if earlier.replaces_rows:
            _forget_replaced(table, profiles[table.name], ids.get(table.name), starts[table.name], earlier)
    keys = {table.name: _key(table, profiles[table.name], ids.get(table.name)) for table in tables}
    _check_subjects(keys, class_iris, classes)
    subjects = {table.name: _subject(keys[table.name], class_iris[table.name], namespace) for table in tables}
    keyed = [KeyedTable(table, profiles[table.name], keys[table.name].column, subjects[table.name]) for table in tables]
    links = ForeignKeys.found(keyed, earlier)
    dangling = kept_references(keyed, links, earlier)
    further_notes = {
        one.table.name: [*dangling.get(one.table.name, ()), *referring_texts(one, namespace, earlier)] for one in keyed
    }
    maps = [
        _table_map(
            table,
            profiles[table.name],
            keys[table.name],
            class_iris[table.name],
            subjects[table.name],
            links,
            namespace,
            is_chosen=table.name in ids,
            further_notes=further_notes[table.name],
        )
        for table in tables
    ]
    maps = [
        one
        if one.name in classes
        else replace(one, notes=(*one.notes, *copy_note(row_subject(one), earlier.templates)))
        for one in maps
    ]
    return TableMapping(tuple(maps), (("ex", namespace),))


def _profiles(table: Table, kept: Mapping[str, KeptColumn], progress: Progress) -> list[ColumnProfile]:
    """The profiles of the columns, by one pass; `kept` are those of earlier loads of the table."""
    progress.start(f"{table.source} (types)", table.size)
    found, rows = [ColumnProfile(name, kept.get(name)) for name in table.columns], 0
    for batch in table.batches():
        for profile, column in zip(found, batch.columns, strict=True):
            profile.see(column, batch.rows)
        rows += batch.rows
        progress.advance(table.advanced(), batch.rows)
    progress.done(rows)
    for profile in found:
        if profile.has_json_and_text:
            raise LoadError(
                f"column {profile.name!r} has lists of objects in some rows, and texts or numbers in others",
                hint="give them one form, or drop the column",
                place=table.source,
            )
    return found


def _forget_replaced(
    table: Table, profiles: Sequence[ColumnProfile], chosen: str | None, start: str, earlier: EarlierTables
) -> None:
    """Forgets the kinds of earlier loads where this table replaces all of their rows; references stay."""
    kept = [one for one in profiles if one.kept is not None and not one.kept.predicate]
    key = _key(table, profiles, chosen).column if kept else None
    before = earlier.identifiers(start, kept[0].rows) if key is not None else None
    if before and next(one for one in profiles if one.name == key).has_values(before):
        for one in kept:
            one.kept = one.misfit = None


def _key(table: Table, profiles: Sequence[ColumnProfile], chosen: str | None) -> _Key:
    """The column that identifies the rows."""
    by_name = {profile.name: profile for profile in profiles}
    if chosen is not None:
        if chosen not in by_name:
            raise LoadError(
                f"no column {chosen!r} in {table.source!r}; its columns: {', '.join([*table.columns][:20])}",
                hint=did_you_mean(chosen, [*table.columns]),
            )
        if row := by_name[chosen].first_blank:
            raise LoadError(
                f"row {row:,}, no value in column {chosen!r}, which identifies the rows",
                hint="each row needs one, or choose another column with --id",
                place=table.place(row),
            )
        return _Key(chosen, by_name[chosen].kind is ValueKind.IRI)
    usual = _usual_keys(table)
    ordered = sorted(profiles, key=lambda profile: profile.name.lower() not in usual)
    for profile in ordered:
        if profile.rows and profile.is_unique():
            return _Key(profile.name, profile.kind is ValueKind.IRI)
    if ROW_NUMBER in by_name:
        raise LoadError(
            f"no column of {table.source!r} has a value of its own in each row, and one is called {ROW_NUMBER!r}, the "
            "name of the number of the row",
            hint=f"rename that column, or choose one with --id; its columns: {', '.join([*table.columns][:20])}",
        )
    return _Key(None)


def _usual_keys(table: Table) -> set[str]:
    """Names of columns that identify the rows, in lower case."""
    stem = re.sub(r"[\W_]+", "_", table.name).lower()
    return {"id", "identifier", "iri", "uri", f"{stem}_id", f"{singular(stem)}_id", f"{stem}id", f"{singular(stem)}id"}


_CODES = frozenset({"sku", "isbn", "issn", "ean", "gtin", "upc", "doi", "key", "code", "uuid", "guid"})
"""Other names of columns that identify rows of a table of any name."""


def _near_key_notes(table: Table, key: _Key, profiles: Sequence[ColumnProfile]) -> list[str]:
    """A remark about a column whose name says that it identifies the rows, and that does not because of a few cells."""
    usual = _usual_keys(table)

    def rank(profile: ColumnProfile) -> int:
        """How well the name and the place of a column fit an identifier; 0 is best."""
        name, is_first = profile.name.lower(), profile is profiles[0]
        if name in usual or name in _CODES:
            return int(name in _CODES)
        is_named = re.search(r"[\W_]id$", name) is not None
        return 2 if is_named and is_first else 3 if is_named else 4 if is_first else 5

    chosen = min((rank(profile) for profile in profiles if profile.name == key.column), default=5)
    for profile in sorted((one for one in profiles if rank(one) < chosen), key=rank):
        flaw = profile.key_flaw() if profile.has_key_kind() and profile.filled else None
        if flaw is not None and (flaw.is_rare or rank(profile) < 2):
            advice = "" if len(flaw.rows) == 1 else f", or say --id {shlex.quote(profile.name)}"
            return [f"{profile.name!r} would identify the rows, but {flaw}; correct it{advice}"]
    return []


def _subject(key: _Key, class_iri: str, namespace: str) -> TermMap:
    """The rows in our own namespace, also where their class is in that of somebody else."""
    if key.is_iri and key.column is not None:
        return TermMap(("", key.column, ""), ValueKind.IRI)
    return TermMap((_start(class_iri, namespace), key.column or ROW_NUMBER, ""), ValueKind.IRI)


def _start(class_iri: str, namespace: str) -> str:
    """How the IRIs of the rows of a class begin."""
    name = class_iri.removeprefix(namespace) if class_iri.startswith(namespace) else re.split("[/#:]", class_iri)[-1]
    return f"{namespace}{name}/"


def _table_map(
    table: Table,
    profiles: Sequence[ColumnProfile],
    key: _Key,
    class_iri: str,
    subject: TermMap,
    links: ForeignKeys,
    namespace: str,
    *,
    is_chosen: bool,
    further_notes: Sequence[str],
) -> TableMap:
    tongues = languages([profile.name for profile in profiles if profile.kind is ValueKind.STRING])
    stems = {header: stem for header, (stem, _) in tongues.items()}
    # Headers of one text in several languages share a predicate; all others have their own.
    local = local_names([*dict.fromkeys(stems.get(profile.name, profile.name) for profile in profiles)])
    label = _label_header(profiles, stems)
    properties, notes = [PropertyMap((RDF_TYPE,), constant_iri(class_iri))], _key_notes(table, key, profiles)
    if not is_chosen:
        notes += _near_key_notes(table, key, profiles) + _guessed_key_notes(table, key, profiles)
    taken = {*local.values()}
    drifts: list[str] = []
    for profile in profiles:
        stem = stems.get(profile.name, profile.name)
        if not profile.filled:
            notes.append(f"column {profile.name!r} is blank in every row, so it gives no triple")
            continue
        other, kept = links.target(table.name, profile.name), profile.kept
        is_same = other is None or kept is None or other.subject.template[::2] == (kept.start, kept.end)
        if kept is not None and kept.predicate and is_same:
            target = TermMap((kept.start, profile.name, kept.end), ValueKind.IRI, separator=profile.separator)
            properties.append(PropertyMap((kept.predicate,), target))
            taken.add(kept.predicate.removeprefix(namespace))
            continue
        if profile.misfit is not None:
            drifts.append(_drift(table, profile))
        elif profile.is_as_kept and profile.kind is not profile.own_kind:
            notes.append(
                f"column {profile.name!r} is {_named(profile.kind)}, as in earlier loads of this table; its cells "
                f"alone would be {_named(profile.own_kind)}"
            )
        if why := profile.why_text():
            notes.append(f"column {profile.name!r} is text, because {why}")
        if other is not None:
            if stem == profile.name:
                local[stem] = next(reference_names(stem, other.name, other.key, taken, local[stem]))
                taken.add(local[stem])
            target = _link(profile, other.subject)
            properties.append(PropertyMap((namespace + local[stem],), target))
            continue
        predicates = [namespace + local[stem]]
        if stem == label:
            predicates.append(RDFS_LABEL)
        elif stem.lower() in DESCRIPTIONS and profile.kind is ValueKind.STRING and not profile.separator:
            predicates.append(RDFS_COMMENT)
        target = literal_of(
            profile.name,
            profile.kind,
            language=tongues.get(profile.name, ("", ""))[1],
            separator=profile.separator,
        )
        properties.append(PropertyMap(tuple(predicates), target))
    notes += [*links.notes(table.name), *further_notes]
    rows = profiles[0].rows if profiles else 0
    if not rows:
        notes = []  # the description says that there are 0 rows
    notes += _separator_notes(table)
    file_name = re.split(r"[\\/]", table.source)[-1]
    former = former_predicates([profile.name for profile in profiles], namespace, links.former_targets)
    return TableMap(
        table.name,
        file_name,
        table.part,
        subject,
        tuple(properties),
        tuple(notes),
        rows,
        tuple(dict.fromkeys(former)),
        tuple(drifts),
    )


def _drift(table: Table, profile: ColumnProfile) -> str:
    """The first cell of a column that is not as the column was in earlier loads."""
    assert profile.misfit is not None
    assert profile.kept is not None
    row, text = profile.misfit
    shown = repr(text if len(text) <= 40 else f"{text[:40]}...")
    return (
        f"{table.place(row)}: row {row:,}, column {profile.name!r}: {shown} is not {_named(profile.kept.kind)}, as the "
        f"column was in earlier loads, so that all of its cells in this load are {_named(profile.kind)}"
    )


def _named(kind: str) -> str:
    """A kind in words."""
    words = {ValueKind.STRING.value: "text", ValueKind.IRI.value: "an IRI", ValueKind.JSON.value: "rdf:JSON"}
    return words.get(str(kind), f"xsd:{kind}")


def _separator_notes(table: Table) -> list[str]:
    """A remark about a file that may have been divided at the wrong character, or whose header is in another row."""
    unnamed = sum(name == f"column_{i}" for i, name in enumerate(table.columns, 1))
    if unnamed > len(table.columns) / 2 and unnamed > 1:
        return [f"{unnamed} of {len(table.columns)} columns have no name in the header: is it in another row?"]
    if len(table.columns) != 1:
        return []
    separator = max(",;|\t", key=table.columns[0].count)
    found = table.columns[0].count(separator)
    return [f"one column, and its header has {found} {separator!r}: is that the separator?"] if found > 1 else []


def _link(profile: ColumnProfile, subject: TermMap) -> TermMap:
    """The subject of the other table, with the value of this column in place of its key."""
    return TermMap((subject.template[0], profile.name, subject.template[2]), ValueKind.IRI, separator=profile.separator)


def _label_header(profiles: Sequence[ColumnProfile], stems: Mapping[str, str]) -> str | None:
    """The header whose values name the rows, as `rdfs:label` does."""
    texts = [one.name for one in profiles if one.filled and one.kind is ValueKind.STRING and not one.separator]
    headers = {stem.lower(): stem for name in texts[::-1] for stem in [stems.get(name, name)]}
    return next((headers[name] for name in LABELS if name in headers), None)


def _guessed_key_notes(table: Table, key: _Key, profiles: Sequence[ColumnProfile]) -> list[str]:
    """A remark about a column of numbers that identifies the rows, and whose name does not say so."""
    for profile in profiles:
        if profile.name == key.column and profile.rows > 1 and profile.kind is ValueKind.INTEGER:
            name = profile.name.lower()
            is_named = name in _usual_keys(table) or name in _CODES or ends_as_reference(profile.name)
            if not is_named and not _NUMBERS.search(name):
                return [
                    f"{profile.name!r} identifies the rows by a guess, because its numbers differ: --id COLUMN chooses "
                    "another"
                ]
    return []


_NUMBERS = re.compile(r"(?:^|[\W_])(?:id|nr|no|num|number|key|code)$")
"""The end of a header, in lower case, of numbers that identify something."""


def _key_notes(table: Table, key: _Key, profiles: Sequence[ColumnProfile]) -> list[str]:
    if key.column is None:
        return ["no column has a value of its own in each row, so the number of the row identifies it"]
    if key.is_iri and extensions(Path(table.source))[0] in TEXT_DOCUMENTS:
        return [f"to search in these as texts without adding them to the graph: --text {table.source}"]
    profile = next(one for one in profiles if one.name == key.column)
    if profile.rows and not profile.is_unique() and profile.filled == profile.rows:
        example = f": {flaw}" if (flaw := profile.key_flaw()) is not None else ""
        return [f"rows with the same {key.column!r} describe one entity{example}"]
    return []


def _namespace(prefix: str | None) -> str:
    namespace = DEFAULT_PREFIX if prefix is None else prefix
    try:
        NamedNode(namespace + "x")
    except ValueError as e:
        raise LoadError(
            f"{namespace!r} cannot begin an IRI: {e}",
            hint="--prefix is the start of an IRI, such as http://example.org/",
        ) from e
    if namespace[-1] not in "/#:":
        raise LoadError(
            f"{namespace!r} ends within a word, so that it and a name would be one word",
            hint=f"a namespace ends in '/', '#' or ':': --prefix {namespace}/",
        )
    return namespace


def _class(name: str, namespace: str, known: Mapping[str, str]) -> str:
    """The IRI of a class that is given by its name, with a prefix, or whole."""
    prefix, colon, local = name.partition(":")
    if not colon:
        return namespace + iri_safe(name)
    if not local.startswith("//") and prefix != "urn":
        if prefix not in known:
            raise LoadError(
                f"the class {name!r} has a prefix that is not known; known: {', '.join([*known][:-31:-1])}",
                hint=did_you_mean(prefix, [*known]) or "give the class as a name or as a whole IRI: http://...",
            )
        return known[prefix] + iri_safe(local)
    try:
        return NamedNode(name).value
    except ValueError as e:
        raise LoadError(f"{name!r} is no IRI of a class: {e}") from e


def _check_names(tables: Sequence[Table]) -> None:
    seen: dict[str, str] = {}
    for table in tables:
        if table.name in seen:
            raise LoadError(
                f"two tables are called {table.name!r}: one of {seen[table.name]!r} and one of {table.source!r}",
                hint="rename a file, or load them one after the other",
            )
        seen[table.name] = table.source


def _check_subjects(keys: Mapping[str, _Key], class_iris: Mapping[str, str], chosen: Mapping[str, str]) -> None:
    """Raises LoadError: the rows of two tables would be the same entities, and nobody has said that they are."""
    seen: dict[str, str] = {}
    for name, class_iri in class_iris.items():
        if keys[name].is_iri:
            continue
        first = seen.setdefault(class_iri, name)
        if first != name and not (first in chosen and name in chosen):
            raise LoadError(
                f"the rows of {first!r} and of {name!r} would be the same entities, because the class of both is "
                f"<{class_iri}>",
                hint=f"say so with the same NAME twice, or write two: --class {first}=NAME --class {name}=NAME",
            )


def _choices(choice: Choice, name: str, tables: Sequence[Table]) -> Mapping[str, str]:
    """The choice for each table by its name. Raises LoadError: it does not tell which table it is for."""
    if choice is None:
        return {}
    known = [table.name for table in tables]
    if isinstance(choice, str):
        if len(known) > 1:
            raise LoadError(
                f"{name} {choice!r} is for one table, and there are {len(known)}: {', '.join(known)}",
                hint=f"say for which: --{name} {known[0]}={choice}; in Python a dict: {{{known[0]!r}: {choice!r}}}",
            )
        return {known[0]: choice} if known else {}
    for table in choice:
        if table not in known:
            raise LoadError(
                f"{name} is given for a table {table!r}; the tables: {', '.join(known)}",
                hint=did_you_mean(table, known),
            )
    return choice
