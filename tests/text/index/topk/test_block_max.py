"""What the index keeps of ranges of ids is what the postings say."""

import numpy as np
import pytest

from hybridkg.compute.kernels import LazyKernel
from hybridkg.interfaces.text_index import IndexedField, TextQuery
from hybridkg.text.index.layout import DOC_BLOCK, FIELD_SETS
from hybridkg.text.index.stored_fields import best
from hybridkg.text.index.topk import block_max_writer, topk
from hybridkg.text.index.topk.block_max import COARSE, FINE, LENGTH_BITS, TEXT_MU, BlockMaxForm, rounded_lengths
from hybridkg.text.index.topk.block_max_levels import quantised

pytestmark = pytest.mark.quick

FIELDS = ["title", "body", "notes", "tags", "places", "dates"]
COMMON = ["aa", "ab", "ac"]
N = 700


@pytest.fixture
def index(build, monkeypatch):
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)
    monkeypatch.setattr(block_max_writer, "COMMON", 20)
    rng = np.random.default_rng(4)

    def text():
        often = rng.poisson([2, 0.3, 0.1, 0.01])
        return " ".join(np.repeat([*COMMON, "rare"], often)) + " x" * rng.integers(1, 30)

    fields = [IndexedField(name, float(weight), 0.7, "unstemmed") for weight, name in enumerate(FIELDS, 1)]
    return build({e: {name: text() for name in FIELDS if rng.random() < 0.6} for e in range(N)}, fields, n_nodes=N)


def numbers(kept, begin, n, levels):
    """Numbers of a row of `block_max.levels`, one by one."""
    if levels == FINE:
        return kept[begin : begin + n]
    both = kept[begin : begin + -(-n // 2)]
    return np.stack((both & 15, both >> 4), axis=1).reshape(-1)[:n]


def test_levels_sets_and_members_are_those_of_the_postings(index):
    kept, lengths = index._block_maxima, index._lengths.astype(np.int64)
    assert [form.levels for form in kept._forms] == [FINE, COARSE, COARSE]
    for word in COMMON:
        term = index._plain._terms.number(word)
        place = kept._place[term]
        postings = [index._lists.postings(term * len(FIELDS) + f) for f in range(len(FIELDS))]
        sets = np.zeros(-(-N // DOC_BLOCK), np.uint8)
        for f, own in enumerate(postings):
            for entity in own.ids.tolist():
                sets[entity // DOC_BLOCK] |= 1 << f % FIELD_SETS | 1 << FIELD_SETS + entity % DOC_BLOCK
        bits = np.unpackbits(kept.members[place].view(np.uint8), bitorder="little")[: len(sets)]
        assert (bits == (sets > 0)).all()
        n = int(bits.sum())
        starts = kept._starts[place * kept._per_term :].tolist()
        assert (numbers(kept.levels, starts[len(kept._forms)], n, FINE) == sets[sets > 0]).all()
        column = 0
        for form, begin in zip(kept._forms, starts, strict=False):
            x = np.zeros(len(sets) * DOC_BLOCK)
            for f, own in enumerate(postings):
                length = (rounded_lengths(lengths.sum(axis=0)) if form.together else lengths[f])[own.ids]
                x[own.ids] += form.coefficient[f] * own.tf / (form.base[f] + form.slope[f] * length)
            highest = x.reshape(-1, DOC_BLOCK).max(axis=1)[sets > 0]
            code = kept.codes[place, column : column + form.levels]
            level = numbers(kept.levels, begin, n, form.levels)
            assert (code[level] >= highest * (1 - 1e-12)).all()
            assert (code[level - 1] < highest * (1 + 1e-12)).all()
            column += form.levels


def test_a_rounded_length_is_a_little_shorter_and_mostly_that_of_the_next_length():
    lengths = np.concatenate([np.arange(20_000), np.array([10**6, 2**32 - 1])]).astype(np.uint32)
    rounded = rounded_lengths(lengths).astype(np.float64)
    assert (rounded <= lengths).all()
    assert ((TEXT_MU + lengths) / (TEXT_MU + rounded) < 1 + 2.0 ** (1 - LENGTH_BITS)).all()
    assert (np.diff(rounded[:20_000]) > 0).mean() < 1 / 32


def drawn_maxima(seed):
    """Maxima of some shape: heavy tails, few values, equal ones, zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 5, 99, 100, 1_001, 5_000]))
    shapes = (rng.pareto(1.2, n), rng.choice([0.0, 1e-9, 1.0, 1e9], n), np.full(n, 0.3), rng.random(n), np.zeros(n))
    return shapes[seed % len(shapes)]


@pytest.mark.parametrize("levels", [FINE, COARSE])
@pytest.mark.parametrize("seed", range(60))
def test_a_maximum_has_the_lowest_level_that_is_not_below_it(kernel, levels, seed):
    maxima, halves = drawn_maxima(seed), levels == COARSE
    code, packed = quantised(maxima, levels, halves=halves)
    level = numbers(packed, 0, len(maxima), levels).astype(np.int64)
    assert len(code) == levels
    assert (np.diff(code) >= 0).all()
    assert code[0] == 0
    assert code[-1] == maxima.max() or not maxima.any()
    assert (code[level] >= maxima).all()
    assert (code[level - 1][level > 0] < maxima[level > 0]).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LazyKernel, "for_work", lambda self, work: None)
        plain_code, plain = quantised(maxima, levels, halves=halves)
    assert plain_code.tobytes() == code.tobytes()
    assert plain.tobytes() == packed.tobytes()


def test_a_tail_is_rounded_up_by_little():
    maxima = np.random.default_rng(1).pareto(1.2, 5_000)
    code, level = quantised(maxima, FINE, halves=False)
    even = np.linspace(0.0, maxima.max(), FINE)
    of_even = np.searchsorted(even, maxima)
    assert (code[level] / maxima).mean() < 1.1 < 2.0 < (even[of_even] / maxima).mean()
    highest = np.sort(maxima)[[4_850, 4_950, 4_995]]
    assert np.isin(highest, code).all()


def test_a_maximum_beyond_the_largest_number_is_below_its_level():
    for huge in (1e308, np.inf):
        code, level = quantised(np.array([huge, 1.0, huge]), COARSE, halves=False)
        assert (code[level] >= [huge, 1.0, huge]).all()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("n_nodes", [1, 130, 4_096, 9_001])
def test_the_kernel_finds_the_blocks_of_numpy(kernel, monkeypatch, n_nodes, seed):
    monkeypatch.setattr(block_max_writer, "SHORT", (50, 1_000)[seed % 2])
    rng, n_fields = np.random.default_rng(seed), 1 + seed % 6
    own = [np.flatnonzero(rng.random(n_nodes) < rng.choice([0, 0.001, 0.1, 0.9])) for _ in range(n_fields)]
    ids = np.concatenate(own).astype(np.uint32)
    tf = rng.integers(1, 9, len(ids)).astype(np.uint32)
    lengths = rng.integers(1, 99, (n_fields, n_nodes)).astype(np.uint32)
    parts = rng.random((3, n_fields)) + 0.01
    forms = [BlockMaxForm(*parts, together=together, levels=COARSE) for together in (False, True, False)]
    text_lengths = rounded_lengths(lengths.sum(axis=0, dtype=np.uint32))  # some are 0
    sizes = np.array([len(one) for one in own], np.int64)

    class Lists:
        def lists(self, begin, end):
            assert (begin, end) == (7 * n_fields, 8 * n_fields)
            return sizes, ids, tf

    reader = block_max_writer.BlockReader(Lists(), lengths, text_lengths, forms)
    found = reader.blocks(7)
    wanted = block_max_writer.block_maxima_numpy(sizes, ids, tf, lengths, text_lengths, forms)
    for one, other in zip(found, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("k1", [1e-300, 1e-16, 1e-15, 1e-14, 1.2])
def test_shares_that_rounding_puts_out_of_order_lose_no_entity(build, monkeypatch, kernel, k1):
    # x / (k1 + x) is 1, or a little less, in no order of x.
    for name, value in (("MIN_POSTINGS", 1), ("FIRST_BLOCKS", 1)):
        monkeypatch.setattr(topk, name, value)
    monkeypatch.setattr(block_max_writer, "MIN_NODES", 1)
    monkeypatch.setattr(block_max_writer, "COMMON", 20)
    rng = np.random.default_rng(0)
    for names in (["title"], ["title", "body"], ["title", "body", "notes"]):
        counts = rng.choice([0, 1, 2, 3, 5], (2000, len(names))), rng.integers(0, 9, (2000, len(names)))
        texts = {
            e: {name: "aa " * aa + "x " * x for name, aa, x in zip(names, *row, strict=True)}
            for e, row in enumerate(zip(*(column.tolist() for column in counts), strict=True))
        }
        index = build(texts, [IndexedField(name, 1.0, 0.75, "unstemmed") for name in names], n_nodes=2000)
        for text in ("aa", "aa^3", "x"):
            query = TextQuery(text, model="bm25f", arguments=(("k1", k1),))
            ids, scores = index.score_all(query)
            for k in (1, 2, 5, 10):
                wanted, found = best(ids, scores, k, None), index.topk(query, k)
                assert [column.tobytes() for column in found] == [column.tobytes() for column in wanted]
