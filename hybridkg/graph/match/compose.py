"""Counting the paths x - v - y by their ends, without listing the paths: a product of two sparse matrices."""

from __future__ import annotations

import numpy as np

from hybridkg.graph.match.compiled_loops import KERNEL
from hybridkg.graph.match.edges import Edge
from hybridkg.graph.match.grouping import CountedRows, count_rows
from hybridkg.graph.match.ids import BITMAP_SHARE, Counts
from hybridkg.graph.match.relations import CHUNK, NeighbourRuns, RunTable, spread
from hybridkg.graph.match.run import PatternRun
from hybridkg.graph.match.tables import SolutionTable
from hybridkg.graph.match.weigh import Weigher
from hybridkg.graph.match.weights import MAX_COUNT, NO_WEIGHTS, IdWeights
from hybridkg.interfaces.graph_index import UNBOUND, Ids

NO_OFFSETS = np.zeros(0, np.int64)

MIN_SHARE = 0.25
"""Where less of v or y is left by their restrictions, listing from there reads less."""


def count_paths(
    x: str, from_x: Edge, to_y: Edge, weigher: Weigher, run: PatternRun, *, ends: bool = True
) -> CountedRows | None:
    """The counts by x and y of the paths along two edges that share v, ordered by x, then y.

    Without `ends`, the weights of x and y are left out.

    None where the paths have to be listed: relations that are not stored, sparse ids, few values of v or y, or sums
    that might exceed MAX_COUNT.
    """
    v = from_x.other(x)
    assert isinstance(v, str)
    y = to_y.other(v)
    assert isinstance(y, str)
    edges = {x: from_x, v: from_x, y: to_y}
    of_x, of_v, of_y = (
        weigher.weights(name, None, edge)
        if (ends or name == v) and (weigher.is_restricted(name) or weigher.has_below(name))
        else None
        for name, edge in edges.items()
    )
    for weights, edge, name in ((of_v, from_x, v), (of_y, to_y, y)):
        if weights is not None and len(weights.ids) < MIN_SHARE * edge.sources[edge.from_subject(name)]:
            return None
    ids = from_x.relation.ends(from_x.from_subject(x), run) if of_x is None else of_x.ids
    runs = from_x.relation.runs(ids, from_x.from_subject(x))
    is_single = to_y.relation.is_single(to_y.from_subject(v))  # then every v is on one path at most
    column = to_y.relation.single_column(to_y.from_subject(v)) if is_single else None
    if column is not None:
        table: RunTable | None = RunTable(column[0], NO_OFFSETS, column[1])
    else:
        table = to_y.relation.run_table(to_y.from_subject(v))
    ys = to_y.relation.ends(to_y.from_subject(y), run)
    if runs is None or table is None or len(ys) == 0:
        return None
    y_low, span = int(ys[0]), int(ys[-1]) - int(ys[0]) + 1
    if span > BITMAP_SHARE * len(to_y.relation.ends(to_y.from_subject(v), run)) + len(ids):
        return None
    if of_v is not None and (len(of_v.ids) == 0 or not of_v.is_dense_for(len(ids))):
        return None
    lengths = None if is_single else to_y.relation.tally(None, to_y.from_subject(v), None, run)
    paths = from_x.relation.tally(ids, from_x.from_subject(x), lengths, run).at(ids)
    bound = int(paths.max(initial=0)) * (1 if of_v is None else of_v.bound)
    if bound > MAX_COUNT:
        return None
    degrees, targets, counts = _composed(runs, paths, table, of_v, (y_low, span), run)
    columns = {x: np.repeat(ids, degrees), y: targets}
    if of_x is not None and of_x.counts is not None:
        counts = counts * np.repeat(of_x.counts, degrees)
        bound *= of_x.bound
    if of_y is not None:
        counts = counts * of_y.at(targets)
        bound *= of_y.bound
    if bound > MAX_COUNT:
        return None
    table_of_rows = SolutionTable(columns, len(targets))
    if of_y is not None and not (counts > 0).all():
        table_of_rows, counts = table_of_rows.take(counts > 0), counts[counts > 0]
    return CountedRows(table_of_rows, counts)


def _composed(
    runs: NeighbourRuns, paths: Counts, table: RunTable, weights: IdWeights | None, ys: tuple[int, int], run: PatternRun
) -> tuple[Counts, Ids, Counts]:
    """(number of y of each x, the y of all x, their sums).

    `paths` is the maximum number of paths of each x, `ys` the first y and the span of all.
    """
    y_low, span = ys
    room, steps = np.minimum(paths, span), paths.cumsum()
    kernel = KERNEL.for_work(int(steps[-1]) if len(steps) else 0)
    degrees = np.zeros(len(runs.counts), np.int64)
    targets: list[Ids] = []
    sums: list[Counts] = []
    dense, touched = np.zeros(span, np.int64), np.empty(span, np.uint32)
    size = at = 0
    while at < len(degrees):
        before = int(steps[at - 1]) if at else 0
        until = max(at + 1, int(steps.searchsorted(before + CHUNK, side="right")))
        part = slice(at, until)
        run.read(int(paths[part].sum()))
        if kernel is None:
            found, counted = _by_listing(runs, part, table, weights, degrees, run)
        else:
            found, counted = np.empty(int(room[part].sum()), np.uint32), np.empty(int(room[part].sum()), np.int64)
            n = kernel.compose(
                runs.starts[part], runs.counts[part], runs.targets, *table,
                *((NO_WEIGHTS, 0) if weights is None else weights.dense),
                y_low, dense, touched, 0, degrees[part], found, counted,
            )  # fmt: skip
            found, counted = found[:n], counted[:n]
        size += len(found)
        run.room_for(size)
        targets.append(found)
        sums.append(counted)
        at = until
    if len(targets) == 1:
        return degrees, targets[0], sums[0]
    return degrees, np.concatenate([np.empty(0, np.uint32), *targets]), np.concatenate([NO_WEIGHTS, *sums])


def _by_listing(
    runs: NeighbourRuns, part: slice, table: RunTable, weights: IdWeights | None, degrees: Counts, run: PatternRun
) -> tuple[Ids, Counts]:
    """The y of some x and their sums, by numpy; writes the number of y of each x."""
    starts, counts = runs.starts[part], runs.counts[part]
    index = np.arange(len(starts)).repeat(counts)
    v = runs.targets[spread(starts, counts, int(counts.sum()))]
    place = v.astype(np.int64) - table.low
    present = (place >= 0) & (place < (len(table.offsets) - 1 if len(table.offsets) else len(table.targets)))
    index, v, place = index[present], v[present], place[present]
    of_v = None if weights is None else weights.at(v)
    if of_v is not None:
        index, place, of_v = index[of_v > 0], place[of_v > 0], of_v[of_v > 0]
    if len(table.offsets):
        firsts = table.offsets[place]
        lengths = table.offsets[place + 1] - firsts
    else:
        firsts, lengths = place, (table.targets[place] != UNBOUND).astype(np.int64)
    total = int(lengths.sum())
    run.room_for(total)
    names = {"x": index.repeat(lengths).astype(np.uint32), "y": table.targets[spread(firsts, lengths, total)]}
    rows = SolutionTable(names, total)
    bound = 1 if weights is None else weights.bound
    found = count_rows(rows, frozenset(names), None if of_v is None else of_v.repeat(lengths), bound)
    degrees[part] = np.bincount(found.table.column("x"), minlength=len(starts))
    return found.table.column("y"), found.counts
