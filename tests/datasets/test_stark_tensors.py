"""Tensors of torch, read without it, against torch where it is installed."""

from __future__ import annotations

import pickle
import struct
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from benchmarks.stark_made import save_tensor, save_with_torch
from hybridkg.datasets.stark import tensors
from hybridkg.datasets.stark.tensors import read_tensor
from hybridkg.errors import LoadError

NUMBERS = np.arange(30, dtype=np.int64).reshape(3, 10) * 1_000_000_007


@pytest.mark.parametrize("part", [slice(0, 2), slice(0, 3), 0, 2])
def test_the_archives_written_by_hand_are_those_of_torch(tmp_path, part):
    save_tensor(tmp_path / "a.pt", NUMBERS, part)
    assert np.array_equal(read_tensor(tmp_path / "a.pt"), NUMBERS[part])
    pytest.importorskip("torch")
    save_with_torch(tmp_path / "b.pt", NUMBERS, part)
    assert np.array_equal(read_tensor(tmp_path / "b.pt"), NUMBERS[part])


@pytest.mark.parametrize("zipped", [True, False])
def test_views_and_types_of_torch(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    whole = torch.from_numpy(NUMBERS.copy())
    views = [whole, whole[:2], whole[2], whole.t(), whole[:, ::3], whole[:, 4:5], whole[0, :0], torch.zeros(0).long()]
    views += [torch.arange(7).to(kind) for kind in (torch.int32, torch.int16, torch.int8, torch.uint8)]
    for view in views:
        torch.save(view, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
        found = read_tensor(tmp_path / "x.pt")
        assert np.array_equal(found, view.numpy())
        assert found.dtype == view.numpy().dtype
        assert not found.flags.writeable
    for other, message in (
        (torch.zeros(3), "'torch.FloatStorage', which is not plain data"),
        (torch.tensor(5), "other than one or two dimensions"),
        (torch.zeros(2, 2, 2).long(), "other than one or two dimensions"),
        ({"a": 1}, "not a tensor"),
        (torch.nn.Linear(2, 2), "'torch.nn.modules.linear.Linear', which is not plain data"),
    ):
        torch.save(other, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
        with pytest.raises(LoadError, match=message):
            read_tensor(tmp_path / "x.pt")


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def described(
    *,
    kind: bytes = b"LongStorage",
    key: bytes = text("0"),
    numbers: bytes = b"K\x06",
    offset: bytes = b"K\0",
    shape: bytes = b"K\2K\3\x86",
    strides: bytes = b"K\3K\1\x86",
    more: bytes = b"",
) -> bytes:
    storage = b"(" + text("storage") + b"ctorch\n" + kind + b"\n" + key + text("cpu") + numbers + more + b"tQ"
    hooks = b"\x89ccollections\nOrderedDict\n)R"
    return b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage + offset + shape + strides + hooks + b"tR."


def archive(path: Path, data: bytes, storage: bytes = bytes(48), **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/data.pkl", data)
        file.writestr("a/data/0", storage)
        for name, content in files.items():
            file.writestr(f"a/{name}", content)
    return path


def test_the_file_made_here_is_a_tensor(tmp_path):
    numbers = np.arange(6).astype(">i8").tobytes()
    found = read_tensor(archive(tmp_path / "x.pt", described(), numbers, byteorder=b"big"))
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


BIG = b"\x8a\x07" + (1 << 50).to_bytes(7, "little")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": b"FloatStorage"}, "the pickle asks for 'torch.FloatStorage'"),
        ({"kind": b"LongStorage.__init__"}, "which is not plain data"),
        ({"key": text("../../etc/passwd")}, "the key of a storage is not a number"),
        ({"key": text("1")}, "the archive has no 'a/data/1'"),
        ({"key": b"K\0"}, "the key of a storage is not a number"),
        ({"numbers": b"K\x07"}, "a storage of 48 bytes in place of 7 numbers"),
        ({"numbers": BIG}, "the length of a storage is invalid"),
        ({"numbers": b"J\xff\xff\xff\xff"}, "the length of a storage is invalid"),
        ({"offset": b"K\1"}, "larger than its storage"),
        ({"offset": b"J\xff\xff\xff\xff"}, "the shape of a tensor is invalid"),
        ({"offset": b"G" + bytes(8)}, "the shape of a tensor is invalid"),
        ({"strides": b"K\4K\1\x86"}, "larger than its storage"),
        ({"strides": b"J\xff\xff\xff\xffK\1\x86"}, "the shape of a tensor is invalid"),
        ({"strides": b"K\1\x85"}, "other than one or two dimensions"),
        ({"shape": BIG + BIG + b"\x86", "strides": b"K\0K\0\x86"}, "the shape of a tensor is invalid"),
        ({"shape": b"J\xff\xff\xff\x7fK\1\x86", "strides": b"K\0K\0\x86"}, "larger than its storage"),
        ({"shape": b"NN\x86"}, "the shape of a tensor is invalid"),
        ({"more": b"K\1"}, "a storage of an unsupported type"),
        ({"more": b"NN"}, "a persistent id is not a storage"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, change, message):
    with pytest.raises(LoadError, match=message) as e:
        read_tensor(archive(tmp_path / "x.pt", described(**change)))
    assert str(tmp_path / "x.pt") in e.value.place


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.pt"
    for content, message in (
        (b"", "ends too early"),
        (b"PK\3\4 no archive", "is not a tensor of torch"),
        (b"hello", "not a pickle of protocol 2 to 5"),
        (pickle.dumps([1]), "does not begin with its magic number"),
        (pickle.dumps(tensors.LEGACY_MAGIC, 2), "ends too early"),
    ):
        path.write_bytes(content)
        with pytest.raises(LoadError, match=message):
            read_tensor(path)
    with pytest.raises(LoadError, match="no such file"):
        read_tensor(tmp_path / "nowhere.pt")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a/other", b"")
    with pytest.raises(LoadError, match="the archive has no data"):
        read_tensor(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", described())
        file.writestr("a/data/0", bytes(48))
    with pytest.raises(LoadError, match="is packed, or larger"):
        read_tensor(path)


def test_a_call_in_place_of_a_tensor_is_refused(tmp_path):
    run = b"\x80\x02cposix\nsystem\n" + text(f"touch {tmp_path / 'made'}") + b"\x85R."
    legacy = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}."
    for content in (run, legacy + run):
        (tmp_path / "x.pt").write_bytes(content)
        with pytest.raises(LoadError, match=r"the pickle asks for 'posix\.system'"):
            read_tensor(tmp_path / "x.pt")
    with pytest.raises(LoadError, match=r"the pickle asks for 'posix\.system'"):
        read_tensor(archive(tmp_path / "y.pt", run))
    assert not (tmp_path / "made").exists()


@settings(max_examples=examples(45, 150), deadline=None)
@given(st.data())
def test_damage_is_an_error_of_ours_or_numbers(tmp_path_factory, data):
    path = archive(tmp_path_factory.mktemp("t") / "x.pt", described())
    broken = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(broken)
    with suppress(LoadError):
        assert read_tensor(path).size <= 48
