"""Safetensors files: what is written is read, and a hostile header is an error before memory is taken."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hybridkg.errors import ConfigError
from hybridkg.storage.tensor_file import TensorFile, write_tensors

MIB = 1 << 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tensors")


def tensor(dtype, **numbers):
    return arrays.arrays(dtype, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4), **numbers)


TENSORS = tensor(np.float32, elements=st.floats(width=32, allow_nan=False, allow_infinity=False)) | tensor(np.int64)


@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name != "__metadata__"), TENSORS, max_size=4))
def test_what_is_written_is_read(folder, tensors):
    path = folder / "some.safetensors"
    write_tensors(path, tensors, {"about": "x"})
    file = TensorFile.open(path, max_bytes=MIB)
    assert file.metadata == {"about": "x"}
    assert set(file.entries) == set(tensors)
    for name, values in tensors.items():
        assert file.read(name).dtype == values.dtype
        assert file.read(name).tobytes() == values.tobytes()
        assert file.read(name).shape == values.shape


def test_the_library_reads_what_is_written_and_the_other_way_round(tmp_path):
    library = pytest.importorskip("safetensors.numpy", reason="no package safetensors")
    tensors = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.array([-1, 1 << 40])}
    write_tensors(tmp_path / "ours", tensors)
    for name, values in library.load_file(tmp_path / "ours").items():
        assert (values == tensors[name]).all()
    library.save_file(tensors, tmp_path / "theirs")
    file = TensorFile.open(tmp_path / "theirs", max_bytes=MIB)
    assert {name: file.read(name).tolist() for name in tensors} == {n: v.tolist() for n, v in tensors.items()}


def test_the_same_tensors_are_the_same_bytes(tmp_path):
    a, b = np.ones(3, np.float32), np.zeros(2, np.int64)
    write_tensors(tmp_path / "1", {"a": a, "b": b}, {"x": "1", "y": "2"})
    write_tensors(tmp_path / "2", {"b": b, "a": a}, {"y": "2", "x": "1"})
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def written(path, header, numbers=b"\0" * 8, length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + numbers)
    return path


def entry(dtype="F32", shape=(2,), at=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(at)}


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a": 1, "a": 2}', "twice"),
        ([], "not a table"),
        ({"a": 1}, "is not described"),
        ({"a": entry() | {"more": 1}}, "is not described"),
        ({"a": entry("F33")}, "unknown type"),
        ({"a": entry(shape=(-2,))}, "no shape"),
        ({"a": entry(shape=(True, 2))}, "no shape"),
        ({"a": entry(shape=(1,) * 9)}, "no shape"),
        ({"a": entry(shape=(1 << 60,))}, "no shape"),
        ({"a": entry(shape=(1 << 40, 1 << 40))}, "another size"),
        ({"a": entry(shape=(3,))}, "another size"),
        ({"a": entry(at=(8, 0))}, "another size"),
        ({"a": entry(at=(-8, 0))}, "another size"),
        ({"a": entry(shape=(1,), at=(0, 4))}, "end at byte"),
        ({"a": entry(shape=(4,), at=(0, 16))}, "end at byte"),
        ({"a": entry(), "b": entry()}, "does not begin"),
        ({"a": entry(at=(4, 12))}, "does not begin"),
        ({}, "end at byte"),
        ({"a": entry(), "__metadata__": {"x": 1}}, "not all strings"),
        ({"a": entry(), "__metadata__": []}, "not all strings"),
    ],
)
def test_a_hostile_header_is_an_error(tmp_path, header, problem):
    path = written(tmp_path / "x", header)
    with pytest.raises(ConfigError, match=problem) as caught:
        TensorFile.open(path, max_bytes=MIB)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("length", [1 << 63, 1 << 30, 10**6, 200])
def test_the_length_of_a_header_takes_no_memory(tmp_path, length):
    path = written(tmp_path / "x", {"a": entry()}, length=length)
    tracemalloc.start()
    with pytest.raises(ConfigError, match="the length of its header"):
        TensorFile.open(path, max_bytes=MIB)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_files_that_are_too_short_too_large_or_absent(tmp_path):
    (tmp_path / "short").write_bytes(b"1234")
    for name, problem in (("short", "the length of its header"), ("absent", "cannot read")):
        with pytest.raises(ConfigError, match=problem):
            TensorFile.open(tmp_path / name, max_bytes=MIB)
    with pytest.raises(ConfigError, match="at most 100 are read"):
        TensorFile.open(written(tmp_path / "large", {"a": entry()}, b"\0" * 100), max_bytes=100)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_an_error(tmp_path, value):
    path = written(tmp_path / "x", {"a": entry()}, np.array([1, value], "<f4").tobytes())
    with pytest.raises(ConfigError, match="not finite"):
        TensorFile.open(path, max_bytes=MIB).read("a")


def test_names_and_shapes_are_those_expected(tmp_path):
    file = TensorFile.open(written(tmp_path / "x", {"a": entry()}), max_bytes=MIB)
    file.expect({"a": (2,)})
    for shapes, problem in (
        ({"a": (1, 2)}, r"is F32\[2\], not F32\[1, 2\]"),
        ({"a": (2,), "b": ()}, "no tensor 'b'"),
        ({}, "a tensor 'a' that its settings do not imply"),
    ):
        with pytest.raises(ConfigError, match=problem):
            file.expect(shapes)
    other = TensorFile.open(written(tmp_path / "y", {"a": entry("F16", (4,))}), max_bytes=MIB)
    with pytest.raises(ConfigError, match="has the type F16"):
        other.read("a")


def test_other_types_are_not_written(tmp_path):
    with pytest.raises(ValueError, match="not float32 or int64"):
        write_tensors(tmp_path / "x", {"a": np.zeros(2)})
