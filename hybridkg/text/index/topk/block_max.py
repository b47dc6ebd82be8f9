"""Block maxima of common words, from which top-k prunes document blocks.

The maximum of a word in a document block (4 ids) is the largest x of an entity there, where

    x(d) = sum_f coefficient[f] * tf_f(d) / (base[f] + slope[f] * length_f(d))

is the summand of additive models (text/models/additive.py), rounded up to one of 256 or of 16 levels. It is taken over
the combination of the fields, since the sum of the maxima of each field is much larger. It is stored for a few forms,
the default weights of BM25F and of the language models. For a query with other weights and b,

    x'(d) <= x(d) * max_f sup_length [coefficient'[f] / (base'[f] + slope'[f] * length)]
                                   / [coefficient[f]  / (base[f]  + slope[f]  * length)]

and a quotient of two linear functions of the length is largest at one of its ends. So bounds hold for every form; they
are tight near the defaults. Source: Mallia, Suel and Tonellotto, "Faster learned sparse retrieval with block-max
pruning" (2024).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hybridkg.errors import CorruptError
from hybridkg.text.index.layout import DOC_BLOCK, ArrayReader
from hybridkg.text.models.additive import AdditiveForm, Floats

FINE, COARSE = 256, 16
"""Levels of a form: 0, and 255 or 15 values for each word. Only blocks that contain the word have one, of a byte or
half of one. For six common words of 500,000 entities 256 blocks reach the tenth best score without rounding, 267 with
256 levels, 508 with 16. BM25F is the default model; a byte for every form would make an index 5 % larger.
"""

MEAN_BITS = 10
"""Significant bits of a mean length in a form: bounds become up to 0.2 % looser, which 256 levels hide."""

TEXT_MU = 1500.0
"""The default mu of the language models of one text."""

LENGTH_BITS = 5
"""Significant bits of mu + length in the form of whole texts. A text that gets a few words more mostly has the length
of before then, and its words keep their maxima. Bounds become 2 % looser, which 16 levels hide: 210 queries of one to
three words by `lm` over 500,000 papers take 5.8 ms each, as without rounding.
"""

MAX_CACHED = 64
"""Coefficients whose bounds of all common terms are cached."""

MAX_X = 1e100
"""A larger x is no bound."""


@dataclass(frozen=True)
class BlockMaxForm:
    """A form that has block maxima, of FINE or COARSE levels.

    coefficient (at least 0), base and slope are float64[fields]; `together` is true where the length is that of all
    fields.
    """

    coefficient: Floats
    base: Floats
    slope: Floats
    together: bool
    levels: int

    def to_json(self) -> dict[str, Any]:
        """The entry in the header of a segment."""
        numbers = {name: getattr(self, name).tolist() for name in ("coefficient", "base", "slope")}
        lengths = {"length_bits": LENGTH_BITS} if self.together else {}
        return {**numbers, **lengths, "together": self.together, "levels": self.levels}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> BlockMaxForm:
        """The inverse of `to_json`."""
        numbers = (np.array(stored[name], np.float64) for name in ("coefficient", "base", "slope"))
        if stored["levels"] not in (FINE, COARSE):
            raise ValueError(f"{stored['levels']} levels")
        return cls(next(numbers), next(numbers), next(numbers), bool(stored["together"]), stored["levels"])


def rounded_up(mean: float) -> float:
    """The least number of MEAN_BITS significant bits that is not below a mean.

    >>> rounded_up(7.99), rounded_up(8.0), rounded_up(8.001)
    (7.9921875, 8.0, 8.015625)
    """
    share, exponent = math.frexp(mean)
    return math.ldexp(math.ceil(math.ldexp(share, MEAN_BITS)), exponent - MEAN_BITS)


def default_forms(fields: Sequence[tuple[float, float]], totals: Sequence[tuple[int, int]]) -> list[BlockMaxForm]:
    """The forms of the models with default weights, by the (weight, b) and the (entities, tokens) of each field.

    Mean lengths are rounded, so that texts of nearly the same lengths have the same forms.
    """
    weight, b = (np.array(column, np.float64) for column in zip(*fields, strict=True))
    mean = np.array([rounded_up(tokens / entities) if entities else 1.0 for entities, tokens in totals])
    ones = np.ones(len(weight))
    return [
        BlockMaxForm(weight, 1.0 - b, b / mean, together=False, levels=FINE),
        BlockMaxForm(weight / (weight.sum() or 1.0), mean, ones, together=False, levels=COARSE),
        BlockMaxForm(ones, ones * TEXT_MU, ones, together=len(weight) > 1, levels=COARSE),
    ]


def rounded_lengths(lengths: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The lengths of whole texts as their form takes them: so that TEXT_MU + length is rounded down to LENGTH_BITS.

    A shorter text has a larger x, so the maxima stay upper bounds.

    >>> rounded_lengths(np.array([0, 35, 36, 99, 100, 548, 675], np.uint32)).tolist()
    [0, 0, 36, 36, 100, 548, 548]
    """
    largest = int(lengths.max(initial=0))
    if largest < len(lengths):  # a table of all lengths takes less time
        return _rounded(np.arange(largest + 1))[lengths]
    return _rounded(lengths)


def _rounded(lengths: NDArray[Any]) -> NDArray[np.uint32]:
    whole = lengths.astype(np.int64) + int(TEXT_MU)
    unit = np.int64(1) << np.maximum(np.frexp(whole)[1] - LENGTH_BITS, 0)
    rounded: NDArray[np.uint32] = np.maximum(whole // unit * unit - int(TEXT_MU), 0).astype(np.uint32)
    return rounded


class BlockMaxBounds(NamedTuple):
    """The block maxima of a term for one form, as places in the arrays of BlockMaxIndex: the row of `members`, the
    first place of its levels and of its sets of fields in `levels`, the column of its levels in `codes`; `halves` is 1
    for two levels in a byte, 0 for one; x of a level is multiplied by `factor`.
    """

    members: int
    levels: int
    sets: int
    codes: int
    halves: int
    factor: float


class BlockMaxIndex:
    """The block maxima of a segment; its ids are below `n_nodes`."""

    def __init__(self, reader: ArrayReader, n_fields: int, n_nodes: int):
        try:
            self._forms = [BlockMaxForm.from_json(form) for form in reader.about("peaks")]
        except (KeyError, TypeError, ValueError) as e:
            raise CorruptError(f"the header of a segment of the text index is damaged: {e}", hint="index again") from e
        self.members, self.levels = reader.array("peaks.members"), reader.array("peaks.levels")
        self.codes, self._starts = reader.array("peaks.codes"), reader.array("peaks.starts")
        self._longest = reader.array("peaks.longest").astype(np.float64)
        terms = reader.array("peaks.terms")
        self.n_blocks = -(-n_nodes // DOC_BLOCK)
        ends = np.cumsum([0, *(form.levels for form in self._forms)])
        self._per_term = len(self._forms) + 1
        numbers = [part for form in self._forms for part in (form.coefficient, form.base, form.slope)]
        consistent = (
            self.members.shape == (len(terms), words_of(self.n_blocks))
            and self.codes.shape == (len(terms), ends[-1])
            and len(self._starts) == len(terms) * self._per_term + 1
            and int(self._starts[-1]) == len(self.levels)
            and len(self._longest) == n_fields + 1
            and all(len(part) == n_fields for part in numbers)
        )
        if not consistent:
            raise CorruptError("the block maxima of the text index have the wrong shape", hint="index again")
        self._largest = self.codes[:, ends[1:] - 1]
        self._columns = ends[:-1]
        self._halves = np.array([form.levels == COARSE for form in self._forms], np.int64)
        self._place = {int(term): i for i, term in enumerate(terms.tolist())}
        self._cached: dict[object, list[BlockMaxBounds | None]] = {}

    def bounds(self, terms: Sequence[int], form: AdditiveForm, numbers: Sequence[int]) -> dict[int, BlockMaxBounds]:
        """The tightest block maxima of each term for a form, by row of the form; without terms that have none.

        Args:
            terms: of the index, or -1, by row of the form.
            form: of the query.
            numbers: the index's number of each field of the form.
        """
        result = {}
        places = [(row, place) for row, place in enumerate(map(self._place.get, terms)) if place is not None]
        together = bool(places) and len(form.rows) > 1 and not form.rows.any()
        shared = form.base.tobytes(), form.slope.tobytes(), tuple(numbers), together
        for row, place in places:
            key = form.coefficient[row].tobytes(), *shared
            bounds = self._cached.get(key)
            if bounds is None:
                if len(self._cached) >= MAX_CACHED:
                    self._cached.clear()
                bounds = self._cached[key] = self._all_bounds(form, form.coefficient[row], list(numbers), together)
            own = bounds[place]
            if own is not None:
                result[row] = own
        return result

    def _all_bounds(
        self, form: AdditiveForm, coefficient: Floats, numbers: list[int], together: bool
    ) -> list[BlockMaxBounds | None]:
        """The bounds of each common term, where it has these coefficients."""
        n_forms = len(self._forms)
        ratios = np.array([self._ratio(stored, form, coefficient, numbers, together) for stored in self._forms])
        with np.errstate(invalid="ignore", over="ignore"):
            max_x = ratios * self._largest
            best, every = max_x.argmin(axis=1), np.arange(len(max_x))
        starts = self._starts[:-1].reshape(-1, self._per_term)
        columns = (
            every, starts[every, best], starts[:, n_forms], self._columns[best], self._halves[best],
            ratios[best] * (1 + 1e-9),  # a margin, because another order of operations rounds otherwise
        )  # fmt: skip
        # The product with a huge weight must stay finite as well.
        bounded = max_x[every, best] < MAX_X
        rows = zip(*(column.tolist() for column in (bounded, *columns)), strict=True)
        return [BlockMaxBounds(*own) if is_bound else None for is_bound, *own in rows]

    def _ratio(
        self, stored: BlockMaxForm, form: AdditiveForm, coefficient: Floats, numbers: list[int], together: bool
    ) -> float:
        """The maximum of x in the query's form divided by x in a stored form."""
        if stored.together and not (together and len(numbers) == len(self._longest) - 1):
            return np.inf
        used = coefficient > 0
        own = np.array(numbers)[used]
        longest = np.full(len(own), self._longest[-1]) if stored.together else self._longest[own]
        if not (stored.coefficient[own] > 0).all():
            return np.inf
        ratios = [
            coefficient[used]
            / (form.base[used] + form.slope[used] * length)
            * (stored.base[own] + stored.slope[own] * length)
            / stored.coefficient[own]
            for length in (np.ones(len(own)), np.maximum(longest, 1.0))
        ]
        return float(np.max(ratios, initial=0.0))


def words_of(blocks: int) -> int:
    """The number of 64-bit words of a bit set of blocks; at least 1, so that an empty array has columns.

    >>> words_of(0), words_of(64), words_of(65)
    (1, 1, 2)
    """
    return max(1, -(-blocks // 64))
