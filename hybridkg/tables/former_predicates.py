"""Predicates that the columns of a table may have had in an earlier load, for rows that replace earlier ones.

What a guess says of a column depends on all its cells: a column that is blank now may have had values, one of texts in
a language may have had numbers, and one of references may have had texts, because the other table was not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from hybridkg.tables.foreign_keys import ReferredTable
from hybridkg.tables.names import (
    DESCRIPTIONS,
    LABELS,
    RDFS_COMMENT,
    RDFS_LABEL,
    ends_as_reference,
    languages,
    local_name,
    local_names,
    reference_names,
)


def former_predicates(
    headers: Sequence[str], namespace: str, targets: Sequence[ReferredTable]
) -> Iterator[tuple[str, str]]:
    """(predicate, start of the IRIs that are its values) of every guess about columns of these headers.

    The start is empty where every value of the predicate comes from the column.

    Args:
        headers: of all columns.
        namespace: of their predicates.
        targets: tables to which columns may refer, or could in an earlier load.
    """
    local = local_names(headers)
    yield from ((namespace + name, "") for name in local.values())
    stems = {header: stem for header, (stem, _) in languages(headers).items()}
    yield from ((namespace + local_name(stem), "") for stem in dict.fromkeys(stems.values()))
    known = {stems.get(header, header).lower() for header in headers}
    if known & {*LABELS}:
        yield RDFS_LABEL, ""
    if known & DESCRIPTIONS:
        yield RDFS_COMMENT, ""
    by_key: dict[str, list[ReferredTable]] = defaultdict(list)
    for target in targets:
        by_key[target.key.lower()].append(target)
    taken = {*local.values()}
    given: set[str] = set()  # to the columns before, where these were references
    for header in headers:
        own: set[str] = set()
        for target in targets if ends_as_reference(header) else by_key.get(header.lower(), ()):
            if start := target.subject.template[0]:
                for name in reference_names(header, target.name, target.key, taken, local[header]):
                    yield namespace + name, start
                    own.add(name)
                    if name not in given:
                        break
        given |= own
