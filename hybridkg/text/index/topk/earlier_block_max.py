"""The stored block maxima of an earlier segment, which those of the next one are taken from.

Stored maxima bound every query whatever their form is, so the forms of the earlier segment stay as long as bounds in
them are nearly as tight as in the forms that the next statistics give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hybridkg.text.index.layout import Array, ArrayReader
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm
from hybridkg.text.index.topk.level_edits import StoredParts
from hybridkg.text.index.topk.stored_levels import ArrayPiece
from hybridkg.text.models.additive import Floats

LOOSE = "peaks.loose"
"""In the header: how many document blocks may have levels above the lowest ones; none where it is missing."""

MAX_DRIFT = 0.05
"""How much looser a bound may be in an earlier form than in the one of the present statistics. At 500,000 papers, with
bounds 4 % looser and with a quarter of the document blocks at higher levels than needed, 400 questions by words of
titles take .98 to 1.03 times as long. 10,000 keywords move a mean length by 1 %.
"""


@dataclass(frozen=True)
class StoredMaxima:
    """The block maxima of a word as arrays have them.

    Args:
        members: a row of `peaks.members`.
        levels: of each form, and behind them the sets of fields.
        codes: float64[...], the x of each level of each form.
    """

    members: ArrayPiece
    levels: list[ArrayPiece]
    codes: Floats


def drift(stored: BlockMaxForm, form: BlockMaxForm) -> float:
    """How much looser a bound can be in a stored form than in another one, as a share; infinite for unlike forms.

    The x of two forms have a quotient between the smallest and the largest of those of their fields. Those are
    quotients of linear functions of the length, so they lie between the quotients of the bases and of the slopes.

    >>> def of(mean):
    ...     return BlockMaxForm(np.ones(1), np.array([0.25]), np.array([0.75]) / mean, together=False, levels=256)
    >>> round(drift(of(10.0), of(10.02)), 6), drift(of(10.0), of(10.0))
    (0.002, 0.0)
    """
    if (stored.together, stored.levels, len(stored.base)) != (form.together, form.levels, len(form.base)):
        return np.inf
    if ((stored.coefficient > 0) != (form.coefficient > 0)).any():
        return np.inf
    used = form.coefficient > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = form.coefficient / stored.coefficient
        quotients = np.concatenate(
            [
                (weight * own / other)[used & ~((own == 0) & (other == 0))]
                for own, other in ((stored.base, form.base), (stored.slope, form.slope))
            ]
        )
    return float(quotients.max() / quotients.min() - 1.0) if len(quotients) and quotients.min() > 0 else np.inf


class EarlierBlockMaxima:
    """The block maxima of an earlier segment with the same entities.

    Args:
        reader: of the earlier segment.
        forms: of its maxima.
    """

    def __init__(self, reader: ArrayReader, forms: Sequence[BlockMaxForm]):
        self.reader, self.forms = reader, forms
        self.loose = int(reader.header.get(LOOSE, 0))
        self.members, self.levels = reader.array("peaks.members"), reader.array("peaks.levels")
        self.codes, self.terms = reader.array("peaks.codes"), reader.array("peaks.terms").tolist()
        self._begins = reader.array("peaks.starts")[:-1].astype(np.int64).reshape(-1, len(forms) + 1)
        # The parts of a word are adjacent, and the first and the last have a byte for each block.
        sizes = self._begins[:, 1:2] - self._begins[:, :1]
        self._ends = np.concatenate((self._begins[:, 1:], self._begins[:, -1:] + sizes), axis=1)

    @classmethod
    def of(cls, reader: ArrayReader, forms: Sequence[BlockMaxForm]) -> EarlierBlockMaxima | None:
        """The block maxima of an earlier segment; None where its forms are not near those of the next segment."""
        stored = reader.about("peaks")
        if [_kind(own) for own in stored] != [_kind(form.to_json()) for form in forms]:
            return None
        own = [BlockMaxForm.from_json(form) for form in stored]
        if any(drift(*pair) > MAX_DRIFT for pair in zip(own, forms, strict=True)):
            return None
        return cls(reader, own)

    def stored(self, row: int) -> StoredMaxima:
        """The maxima of a row as they are."""
        ranges: list[ArrayPiece] = [*zip(self._begins[row].tolist(), self._ends[row].tolist(), strict=True)]
        return StoredMaxima((row, row + 1), ranges, self.codes[row])

    def levels_of(self, row: int) -> list[Array]:
        """The levels of a row in each form, and its sets of fields."""
        return [self.levels[begin:end] for begin, end in zip(self._begins[row], self._ends[row], strict=True)]

    def parts(self, rows: NDArray[np.int64]) -> StoredParts:
        """Where the levels of some rows are."""
        begins = self._begins[rows]
        halves = np.array([*(form.levels == COARSE for form in self.forms), False])
        return StoredParts(self.levels, begins, begins[:, 1] - begins[:, 0], halves)

    def codes_of(self, rows: NDArray[np.int64]) -> list[Floats]:
        """For each form float64[rows, levels], the x of each level."""
        ends = np.cumsum([form.levels for form in self.forms])
        return np.split(self.codes[rows], ends[:-1], axis=1)


def _kind(form: dict[str, object]) -> dict[str, object]:
    """What two forms of the header must have in common."""
    return {name: value for name, value in form.items() if not isinstance(value, list)}
