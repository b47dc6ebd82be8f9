"""Bounds on scores by ranges of 4 ids, from which top-k passes over most of the postings of common words.

For each common word and each range the index keeps the largest x of an entity there, where

    x(d) = sum_f coefficient[f] * tf_f(d) / (base[f] + slope[f] * length_f(d))

is what additive models sum up (text/models/additive.py), rounded up to one of 256 or of 16 levels. The combination of the
fields is in it: the sum of the largest values of each field is far above what any one entity reaches. It is kept for a
few forms, the default weights of BM25F and of the language models. Another form, with other weights and b in the query,
is at most

    x'(d) <= x(d) * max_f sup_length [coefficient'[f] / (base'[f] + slope'[f] * length)]
                                   / [coefficient[f]  / (base[f]  + slope[f]  * length)]

and a quotient of two linear functions of the length is largest at one of its ends. So bounds hold for every form;
they are tight near the defaults. Ranges of ids with one bound each, looked at from the highest bound down, are those of
Mallia, Suel and Tonellotto, "Faster learned sparse retrieval with block-max pruning" (2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.text.index.codec.packing import KERNEL
from hybridkg.text.index.layout import DOC_BLOCK, ArrayReader, ArrayStream, ArrayWriter
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.term_field_sets import TermSets
from hybridkg.text.models.additive import AdditiveForm, Floats

FINE, COARSE = 256, 16
"""Levels of a form: 0, and 255 or 15 values of its own for each word. Only ranges that have the word have one, a byte
or half of one. Of six common words of 500,000 entities 256 ranges reach the tenth best score if nothing is rounded, 267
of 256 levels, 508 of 16. BM25F is asked most; a byte for every form would make an index larger by a twentieth.
"""

SETS = 4
"""Bits that tell the fields in which a range has a word; that of a field is its number modulo this. Most words are in
one field of an entity, and need not be looked for in the lists of the others. Behind them are RANGE bits that tell the
entities that have it: where each word has its largest x in another entity, none reaches their sum. Of the 267 ranges
14 are left.
"""

TOP = (0.97, 0.99, 0.999, 0.9999)
"""Quantiles that have a level of their own."""

CLASSES = 256
"""Of x, by which levels are spaced."""

COMMON = 64
"""A word has peaks if at least one in so many entities has it; rarer ones cost little."""

MIN_NODES = 20_000
"""In a smaller index nothing is worth passing over."""

TEXT_MU = 1500.0
"""The default of the language models of one text."""


MAX_CACHED = 64
"""Coefficients of which an open index remembers what bounds each common term."""

MOST = 1e100
"""An x beyond it bounds nothing."""


@dataclass(frozen=True)
class BlockMaxForm:
    """A form that peaks are kept for.

    Args:
        coefficient: float64[fields], at least 0.
        base: float64[fields].
        slope: float64[fields].
        together: whether the length is that of all fields together.
        levels: FINE or COARSE.
    """

    coefficient: Floats
    base: Floats
    slope: Floats
    together: bool
    levels: int

    def to_json(self) -> dict[str, Any]:
        """As the header of a segment has it."""
        numbers = {name: getattr(self, name).tolist() for name in ("coefficient", "base", "slope")}
        return {**numbers, "together": self.together, "levels": self.levels}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> BlockMaxForm:
        """What `to_json` made."""
        numbers = (np.array(stored[name], np.float64) for name in ("coefficient", "base", "slope"))
        if stored["levels"] not in (FINE, COARSE):
            raise ValueError(f"{stored['levels']} levels")
        return cls(next(numbers), next(numbers), next(numbers), bool(stored["together"]), stored["levels"])


def default_forms(fields: Sequence[tuple[float, float]], totals: Sequence[tuple[int, int]]) -> list[BlockMaxForm]:
    """The forms of the models with default weights.

    Args:
        fields: (weight, b) of each field.
        totals: (entities, tokens) of each field.
    """
    weight, b = (np.array(column, np.float64) for column in zip(*fields, strict=True))
    mean = np.array([tokens / entities if entities else 1.0 for entities, tokens in totals])
    ones = np.ones(len(weight))
    return [
        BlockMaxForm(weight, 1.0 - b, b / mean, together=False, levels=FINE),
        BlockMaxForm(weight / (weight.sum() or 1.0), mean, ones, together=False, levels=COARSE),
        BlockMaxForm(ones, ones * TEXT_MU, ones, together=len(weight) > 1, levels=COARSE),
    ]


class BlockMaxBounds(NamedTuple):
    """What bounds a term in a form.

    Args:
        members: row of `BlockMaxIndex.members`.
        levels: where its levels begin in `BlockMaxIndex.levels`.
        sets: where its sets of fields do.
        codes: column of its levels in `BlockMaxIndex.codes`.
        halves: 1 where two levels are in a byte, 0 where one is.
        factor: what x of a level is multiplied with.
    """

    members: int
    levels: int
    sets: int
    codes: int
    halves: int
    factor: float


class BlockMaxIndex:
    """The peaks of a segment.

    Args:
        reader: of the segment.
        n_fields: of the index.
        n_nodes: ids are below this.
    """

    def __init__(self, reader: ArrayReader, n_fields: int, n_nodes: int):
        try:
            self._forms = [BlockMaxForm.from_json(form) for form in reader.about("peaks")]
        except (KeyError, TypeError, ValueError) as e:
            raise CorruptError(f"the header of a segment of the text index is damaged: {e}", hint="index again") from e
        self.members, self.levels = reader.array("peaks.members"), reader.array("peaks.levels")
        self.codes, self._starts = reader.array("peaks.codes"), reader.array("peaks.starts")
        self._longest = reader.array("peaks.longest").astype(np.float64)
        terms = reader.array("peaks.terms")
        self.ranges = -(-n_nodes // DOC_BLOCK)
        ends = np.cumsum([0, *(form.levels for form in self._forms)])
        self._per_term = len(self._forms) + 1
        whole = (
            self.members.shape == (len(terms), words_of(self.ranges))
            and self.codes.shape == (len(terms), ends[-1])
            and len(self._starts) == len(terms) * self._per_term + 1
            and int(self._starts[-1]) == len(self.levels)
            and len(self._longest) == n_fields + 1
            and all(
                len(numbers) == n_fields
                for form in self._forms
                for numbers in (form.coefficient, form.base, form.slope)
            )
        )
        if not whole:
            raise CorruptError("the peaks of the text index have the wrong shape", hint="index again")
        self._largest = self.codes[:, ends[1:] - 1]
        self._columns = ends[:-1]
        self._halves = np.array([form.levels == COARSE for form in self._forms], np.int64)
        self._place = {int(term): i for i, term in enumerate(terms.tolist())}
        self._known: dict[object, list[BlockMaxBounds | None]] = {}

    def of(self, terms: Sequence[int], form: AdditiveForm, numbers: Sequence[int]) -> dict[int, BlockMaxBounds]:
        """What bounds some terms in a form, by row of the form. Terms without peaks, or without any that bound this
        form, are left out.

        Args:
            terms: of the index, or -1, by row of the form.
            form: of the query.
            numbers: the index's number of each field of the form.
        """
        found = {}
        places = [(row, place) for row, place in enumerate(map(self._place.get, terms)) if place is not None]
        together = bool(places) and len(form.rows) > 1 and not form.rows.any()
        shared = form.base.tobytes(), form.slope.tobytes(), tuple(numbers), together
        for row, place in places:
            key = form.coefficient[row].tobytes(), *shared
            known = self._known.get(key)
            if known is None:
                if len(self._known) >= MAX_CACHED:
                    self._known.clear()
                known = self._known[key] = self._bounding(form, form.coefficient[row], list(numbers), together)
            own = known[place]
            if own is not None:
                found[row] = own
        return found

    def _bounding(
        self, form: AdditiveForm, coefficient: Floats, numbers: list[int], together: bool
    ) -> list[BlockMaxBounds | None]:
        """What `of` tells of each common term, where it has these coefficients."""
        n_forms = len(self._forms)
        # How much larger an x of the query's form can be than one of each kept form.
        ratios = np.array([self._ratio(kept, form, coefficient, numbers, together) for kept in self._forms])
        with np.errstate(invalid="ignore", over="ignore"):
            steps = ratios * self._largest
            best, every = steps.argmin(axis=1), np.arange(len(steps))
        starts = self._starts[:-1].reshape(-1, self._per_term)
        columns = (
            every, starts[every, best], starts[:, n_forms], self._columns[best], self._halves[best],
            # A little more, because what is computed in another order may be rounded otherwise.
            ratios[best] * (1 + 1e-9),
        )  # fmt: skip
        # Where a weight is huge, what it is multiplied with must stay a number as well.
        bounded = steps[every, best] < MOST
        rows = zip(*(column.tolist() for column in (bounded, *columns)), strict=True)
        return [BlockMaxBounds(*own) if bounds else None for bounds, *own in rows]

    def _ratio(
        self, kept: BlockMaxForm, form: AdditiveForm, coefficient: Floats, numbers: list[int], together: bool
    ) -> float:
        if kept.together and not (together and len(numbers) == len(self._longest) - 1):
            return np.inf
        used = coefficient > 0
        own = np.array(numbers)[used]
        longest = np.full(len(own), self._longest[-1]) if kept.together else self._longest[own]
        if not (kept.coefficient[own] > 0).all():
            return np.inf
        ratios = [
            coefficient[used]
            / (form.base[used] + form.slope[used] * length)
            * (kept.base[own] + kept.slope[own] * length)
            / kept.coefficient[own]
            for length in (np.ones(len(own)), np.maximum(longest, 1.0))
        ]
        return float(np.max(ratios, initial=0.0))


def words_of(ranges: int) -> int:
    """How many numbers of 64 bits have a bit for each range; at least one, so that an array of none has columns.

    >>> words_of(0), words_of(64), words_of(65)
    (1, 1, 2)
    """
    return max(1, -(-ranges // 64))


def write_block_maxima(
    out: ArrayWriter,
    reader: ArrayReader,
    lists: SegmentPostings,
    lengths: NDArray[np.uint32],
    fields: Sequence[tuple[float, float]],
    totals: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    """Writes `peaks.*` of the common words, and returns the forms for the header.

    Args:
        out: of the segment.
        reader: of the same segment: its lists and term sets are finished.
        lists: its posting lists.
        lengths: uint32[fields, nodes].
        fields: (weight, b) of each.
        totals: (entities, tokens) of each.
    """
    n_fields, n_nodes = lengths.shape
    forms = default_forms(fields, totals)
    sets = TermSets(reader, (len(lists.ends) - 1) // n_fields)
    terms = [] if n_nodes < MIN_NODES else sets.at_least(n_nodes // COMMON)
    whole = lengths.sum(axis=0, dtype=np.uint32)
    ranges = -(-n_nodes // DOC_BLOCK)
    members = out.stream("peaks.members", "<u8", words_of(ranges))
    levels = out.stream("peaks.levels", "<u1")
    codes, starts = [], [0]
    append = {FINE: _append_bytes, COARSE: _append_halves}
    for term in terms:
        sizes, ids, tf = lists.lists(term * n_fields, (term + 1) * n_fields)
        there = np.zeros(words_of(ranges) * 64, bool)
        there[ids // DOC_BLOCK] = True
        members.append(np.packbits(there, bitorder="little").view("<u8")[None, :])
        sets_of = np.zeros(len(there), np.uint8)
        for f, (end, size) in enumerate(zip(np.cumsum(sizes).tolist(), sizes.tolist(), strict=True)):
            sets_of[ids[end - size : end] // DOC_BLOCK] |= 1 << f % SETS
        for place in range(DOC_BLOCK):
            sets_of[ids[ids % DOC_BLOCK == place] // DOC_BLOCK] |= 1 << SETS + place
        for form in forms:
            kernel = KERNEL.for_work(len(ids))
            own = np.stack([whole]) if form.together else lengths
            highest = np.zeros(n_nodes if kernel is None else ranges)
            if kernel is None:
                highest = highest_numpy(sizes, ids, tf, own, form, highest)
            else:
                kernel.highest(sizes, ids, tf, own, form.coefficient, form.base, form.slope, highest)
            highest = highest[there[:ranges]]
            code = code_of(highest, form.levels)
            starts.append(starts[-1] + append[form.levels](levels, np.searchsorted(code, highest)))
            codes.append(code)
        starts.append(starts[-1] + _append_bytes(levels, sets_of[there]))
    members.close()
    levels.close()
    out.write("peaks.starts", np.array(starts, np.uint64))
    out.write("peaks.terms", np.array(terms, np.uint32))
    n_levels = sum(form.levels for form in forms)
    out.write("peaks.codes", np.concatenate([np.zeros(0), *codes]).reshape(len(terms), n_levels))
    longest = [*(int(row.max(initial=0)) for row in lengths), int(whole.max(initial=0))]
    out.write("peaks.longest", np.array(longest, np.uint32))
    return [form.to_json() for form in forms]


def _append_bytes(out: ArrayStream, numbers: NDArray[Any]) -> int:
    """Writes numbers below 256; how many bytes these are."""
    out.append(numbers.astype(np.uint8))
    return len(numbers)


def _append_halves(out: ArrayStream, numbers: NDArray[Any]) -> int:
    """Writes numbers below 16, two in a byte; how many bytes these are."""
    padded = np.zeros(len(numbers) + len(numbers) % 2, np.uint8)
    padded[: len(numbers)] = numbers
    out.append(padded[::2] | padded[1::2] << 4)
    return len(padded) // 2


def code_of(highest: Floats, levels: int) -> Floats:
    """float64[levels], ascending from 0 to the largest: the x of each level.

    Most are spaced by the cube root of how many ranges are there, as the least squared error asks for (Panter and Dite,
    "Quantization distortion in pulse-count modulation with nonuniform spacing of levels", 1951), in x / (x + mean),
    because a score is less and less moved by a larger x. The others tell the highest ranges apart, which are all that
    one word alone needs.

    Args:
        highest: float64[n], at least 0.
        levels: more than 5.

    >>> code_of(np.array([1.0, 3.0, 5.0]), 16)[[0, 1, 15]].round(3).tolist()
    [0.0, 0.998, 5.0]
    """
    if not highest.any():
        return np.linspace(0.0, 1.0, levels)
    largest, mean = float(highest.max()), float(highest.mean())
    counts, edges = np.histogram(highest / (highest + mean), CLASSES, (0.0, largest / (largest + mean)))
    wanted = np.cumsum(np.cbrt(counts))
    even = np.linspace(0.0, wanted[-1], levels - len(TOP))
    share = np.interp(even, np.concatenate(([0.0], wanted)), edges)
    share[0] = 0.0
    code = np.concatenate((mean * share / (1 - share), np.quantile(highest, TOP, method="higher")))
    code.sort()
    code[-1] = largest
    return np.asarray(np.minimum(code, largest))


def highest_numpy(
    sizes: NDArray[np.int64],
    ids: NDArray[np.uint32],
    tf: NDArray[np.uint32],
    lengths: NDArray[np.uint32],
    form: BlockMaxForm,
    x: Floats,
) -> Floats:
    """The kernel's twin: float64[ranges], the largest x in each range.

    Args:
        sizes: int64[fields], postings of a term in each field.
        ids: uint32[sum(sizes)].
        tf: uint32[sum(sizes)].
        lengths: uint32[fields, nodes], or [1, nodes] where the fields are taken together.
        form: of x.
        x: float64[nodes], zeros.
    """
    start = 0
    for f, size in enumerate(sizes.tolist()):
        own, occurrences = ids[start : start + size], tf[start : start + size]
        length = lengths[f if len(lengths) > 1 else 0, own]
        x[own] += form.coefficient[f] * occurrences * (1.0 / (form.base[f] + form.slope[f] * length))
        start += size
    padded = np.zeros(-(-len(x) // DOC_BLOCK) * DOC_BLOCK)
    padded[: len(x)] = x
    return np.asarray(padded.reshape(-1, DOC_BLOCK).max(axis=1))
