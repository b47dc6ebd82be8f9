"""What holds for stored block maxima, whatever commits led to them: `assert_law`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hybridkg.interfaces.text_index import IndexedField
from hybridkg.text.index.layout import ArrayReader
from hybridkg.text.index.postings import SegmentPostings
from hybridkg.text.index.topk import earlier_block_max
from hybridkg.text.index.topk.block_max import COARSE, BlockMaxForm, default_forms, rounded_lengths
from hybridkg.text.index.topk.block_max_check import DEPENDS_ON_COMMITS
from hybridkg.text.index.topk.block_max_writer import block_maxima_numpy
from hybridkg.text.index.topk.earlier_block_max import LOOSE, drift


def assert_law(folder: Path, fields: Sequence[IndexedField]) -> None:
    """The forms are near those of the statistics; every block has the fields and entities of its postings, and the
    lowest level whose x is not below its maximum, or a higher one where the header says so.
    """
    reader = ArrayReader(folder, "1")
    terms, lengths = reader.array("peaks.terms").tolist(), reader.array("lengths")
    forms = [BlockMaxForm.from_json(form) for form in reader.about("peaks")]
    totals = list(zip(reader.about("fields")["entities"], reader.about("fields")["tokens"], strict=True))
    wanted = default_forms([(field.weight, field.b) for field in fields], totals)
    assert [drift(*pair) <= earlier_block_max.MAX_DRIFT for pair in zip(forms, wanted, strict=True)] == [True] * len(
        forms
    )
    lists = SegmentPostings(reader, (len(reader.array("terms.offsets")) - 1) * len(fields))
    text_lengths = rounded_lengths(lengths.sum(axis=0, dtype=np.uint32))
    members, levels, codes = (reader.array(f"peaks.{name}") for name in ("members", "levels", "codes"))
    starts = reader.array("peaks.starts").tolist()
    parts = len(forms) + 1
    assert starts[-1] == len(levels)
    for row, term in enumerate(terms):
        postings = lists.lists(term * len(fields), (term + 1) * len(fields))
        blocks = block_maxima_numpy(*postings, lengths, text_lengths, forms)
        assert members[row].tobytes() == blocks.members.tobytes()
        begins, n = starts[row * parts : (row + 1) * parts], len(blocks.sets)
        own = [levels[begin:end] for begin, end in zip(begins, [*begins[1:], begins[-1] + n], strict=True)]
        assert own[-1].tobytes() == blocks.sets.tobytes()
        column = 0
        for form, stored, maxima in zip(forms, own, blocks.maxima, strict=False):
            code = codes[row, column : column + form.levels]
            column += form.levels
            assert (np.diff(code) >= 0).all()
            lowest = np.searchsorted(code, maxima)
            if reader.header[LOOSE]:
                assert (unpacked(stored, form.levels, n) >= lowest).all()
            else:
                assert packed(lowest, form.levels).tobytes() == stored.tobytes()


def packed(numbers: np.ndarray, levels: int) -> np.ndarray:
    """Levels as they are stored, by another way than that of the index."""
    if levels != COARSE:
        return numbers.astype(np.uint8)
    pairs = [*numbers.tolist(), *[0] * (len(numbers) % 2)]
    return np.array([low + 16 * high for low, high in zip(pairs[::2], pairs[1::2], strict=True)], np.uint8)


def unpacked(stored: np.ndarray, levels: int, n: int) -> np.ndarray:
    """The levels of n blocks."""
    return np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)[:n] if levels == COARSE else stored


def header_without_forms(path: Path) -> dict:
    """The header of a segment, without what depends on commits."""
    header = json.loads(path.read_text(encoding="utf-8"))
    header.pop("peaks")
    header.pop(LOOSE)
    for name in DEPENDS_ON_COMMITS:
        header["arrays"].pop(name)
    return header
