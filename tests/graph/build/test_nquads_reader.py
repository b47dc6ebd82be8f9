"""The reader of N-Quads: the kernel and its twin agree, on what Oxigraph writes and on what nobody should."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from projection_cases import quads, text_of
from sampling import examples

from hybridkg.graph.build.nquads_reader import KERNEL, CompiledReader, PlainReader, UnsupportedGraphError

pytestmark = pytest.mark.quick


def read(reader, parts, union):
    triples = []
    lines = [
        reader.read(np.frombuffer(bytearray(part), np.uint8), union, lambda t: triples.append(t.copy()))
        for part in parts
    ]
    terms = reader.terms()
    texts = [bytes(terms.letters[a:b]) for a, b in zip(terms.ends[:-1].tolist(), terms.ends[1:].tolist(), strict=True)]
    return (
        lines,
        np.concatenate(triples).tolist() if triples else [],
        [(terms.kind_names[kind], text) for kind, text in zip(terms.kinds.tolist(), texts, strict=True)],
        terms.predicates,
        terms.omitted,
    )


def outcome(reader, parts, union):
    try:
        return read(reader, parts, union)
    except UnsupportedGraphError:
        return "not understood"


@settings(max_examples=examples(6, 160), deadline=None)
@given(parts=st.lists(st.lists(quads, max_size=8), max_size=4), union=st.booleans())
def test_kernel_and_twin_number_the_same_terms(parts, union):
    texts = [text_of(part) for part in parts]
    found = read(PlainReader(), texts, union)
    assert read(CompiledReader(KERNEL.load()), texts, union) == found
    assert sum(found[0]) == sum(map(len, parts))


pieces = st.sampled_from(
    ["<e:a>", "<", ">", "_:b", "_:", '"x"', '"', "\\", "\\u0041", "\\uD800", "\\U00110000", "\\q", "@en", "@",
     "^^<e:t>",
     "^^", " ", ".", "\n", " .\n", "<<( ", " )>>", "<e:a> <p:p> <e:b> .\n", "\0", "é"]
)  # fmt: skip


@settings(max_examples=examples(60, 600), deadline=None)
@given(st.lists(pieces, max_size=14).map("".join))
def test_what_the_kernel_cannot_read_stops_it_without_harm(text):
    outcome(CompiledReader(KERNEL.load()), [text.encode()], True)


@settings(max_examples=examples(60, 600), deadline=None)
@given(st.lists(quads, min_size=1, max_size=2), st.data())
def test_a_statement_that_is_cut_short_is_refused(statements, data):
    text = text_of(statements).rstrip(b"\n")
    text = text[: data.draw(st.integers(1, 3))] if data.draw(st.booleans()) else text[:-1]
    assert outcome(CompiledReader(KERNEL.load()), [text], True) == "not understood"
    assert outcome(PlainReader(), [text], True) == "not understood"


@pytest.mark.parametrize("reader", ["compiled", "plain"])
def test_tables_grow_with_terms_predicates_and_languages(reader):
    made = CompiledReader(KERNEL.load()) if reader == "compiled" else PlainReader()
    text = "".join(f'<e:{i}> <p:{i % 3000}> "{i}"@l{i % 700} .\n' for i in range(40_000))
    lines, triples, terms, predicates, _ = read(made, [text.encode()], False)
    assert (lines, len(triples), len(terms), len(predicates)) == ([40_000], 40_000, 80_000, 3000)
    assert terms[2 * 39_999 + 1] == (b"@l99", b"39999")


@settings(max_examples=examples(18, 30), deadline=None)
@given(st.lists(st.binary(max_size=40), unique=True, max_size=300), st.integers(0, 40))
def test_the_kernel_sorts_strings_by_their_bytes(strings, common):
    from hybridkg.graph.build.numbering import KERNEL as TERMS

    strings = [b"p" * common + s for s in strings]
    lengths = np.array([len(s) for s in strings], np.uint32)
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    order = np.arange(len(strings), dtype=np.uint32)
    if strings:
        letters = np.frombuffer(b"".join(strings) or b"x", np.uint8)
        TERMS.load().sort_strings(letters, starts, lengths, order, 0, len(strings))
    assert [strings[i] for i in order.tolist()] == sorted(strings)
