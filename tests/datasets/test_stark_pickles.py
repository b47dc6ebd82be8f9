"""The reader of pickles: what plain data gives, and that nothing in a hostile file runs or fills the memory."""

from __future__ import annotations

import math
import os
import pickle
import struct
import sys
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from hybridkg.datasets.recipe import RecipeTriples
from hybridkg.datasets.stark import documents, pickles, size_limits
from hybridkg.datasets.stark.documents import StarkNode
from hybridkg.datasets.stark.pickles import PickleReader
from hybridkg.datasets.stark.scalars import NUMPY
from hybridkg.errors import LoadError

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=300) | st.binary()
keys = st.text(max_size=9) | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none()
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=40,
)
protocols = st.sampled_from([3, 4, 5])


def read(data: bytes) -> object:
    return PickleReader(data, "x.pkl", NUMPY).value()


# --- what plain data gives ----------------------------------------------------------


@settings(max_examples=examples(12, 300), deadline=None)
@given(plain, protocols)
def test_plain_data_comes_back(value, protocol):
    found = read(pickle.dumps(value, protocol=protocol))
    assert found == value
    assert repr(found) == repr(value)  # 1, 1.0 and True are equal


@settings(max_examples=examples(5, 100), deadline=None)
@given(st.dictionaries(st.integers(), plain, max_size=5), protocols)
def test_entries_come_one_by_one_in_their_order(table, protocol):
    assert list(PickleReader(pickle.dumps(table, protocol=protocol), "x").items()) == list(table.items())


def test_more_entries_than_pickle_writes_at_once_share_values():
    shared, many = ["one", "list"], "a text " * 100
    table = {i: {"same": shared, "text": many, "own": [i]} for i in range(3500)}
    for protocol in (2, 3, 4, 5):
        found = list(PickleReader(pickle.dumps(table, protocol=protocol), "x").items())
        assert found == list(table.items())
        assert found[0][1]["same"] is found[3000][1]["same"]


def test_only_what_is_used_twice_is_kept():
    data = pickle.dumps({i: f"text {i}" for i in range(100)} | {"twice": ["a" * 9] * 2})
    reader = PickleReader(data, "x")
    assert len(reader._shared()) == 1


def test_a_text_that_is_no_unicode_has_replacement_characters():
    assert read(pickle.dumps("a\ud800b")) == "a\ufffdb"


@pytest.mark.parametrize("module", ["numpy.core.multiarray", "numpy._core.multiarray"])
def test_numbers_and_texts_of_numpy_are_those_of_python(module):
    values = [
        np.str_("é€𝄞"),
        np.str_(""),
        np.int64(-3),
        np.float64(1.5),
        np.bool_(True),
        np.uint8(200),
        np.float32(0.5),
    ]
    own = b"numpy._core.multiarray" if np.__version__ >= "2" else b"numpy.core.multiarray"
    data = pickle.dumps(values, protocol=4)
    assert own in data
    old, new = (bytes([len(name)]) + name for name in (own, module.encode()))
    data = data[:2] + data[11:].replace(old, new)  # without its frame, whose length has changed
    found = read(data)
    assert found == ["é€𝄞", "", -3, 1.5, True, 200, 0.5]
    assert [type(x) for x in found] == [str, str, int, float, bool, int, float]


def test_numbers_of_the_other_byte_order():
    value = np.array([7], ">i4")[0]
    assert read(pickle.dumps([value, np.dtype(">U2").type("ab")])) == [7, "ab"]


# --- nothing runs -------------------------------------------------------------------


class Call:
    """Pickled as a call of anything."""

    def __init__(self, function: object, *arguments: object):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


def text(value: str) -> bytes:
    return b"\x8c" + bytes([len(value)]) + value.encode()


def touch(path: Path) -> str:
    return f"touch {path}"


def hostile(path: Path) -> dict[str, bytes]:
    """Pickles that would make the file, if they could."""
    call, command = Call(os.system, touch(path)), touch(path).encode()
    system = os.system.__module__.encode()
    return {
        "reduce 4": pickle.dumps(call, protocol=4),
        "reduce 2": pickle.dumps(call, protocol=2),
        "reduce 0": pickle.dumps(call, protocol=0),
        "nested": pickle.dumps({0: {"details": [1, {"x": (2, call)}]}}, protocol=4),
        "a key": pickle.dumps({"ok": 1, "bad": Call(print, call)}, protocol=5),
        "eval": pickle.dumps(Call(eval, f"__import__('os').system('touch {path}')"), protocol=4),
        "open": pickle.dumps(Call(open, str(path), "w"), protocol=4),
        "through getattr": pickle.dumps(Call(getattr, Call(__import__, "os"), "system"), protocol=4),
        "stack global": b"\x80\x04" + text("os") + text("system") + b"\x93" + text(touch(path)) + b"\x85R.",
        "dots in a name": b"\x80\x04" + text("numpy") + text("os.system") + b"\x93" + text(touch(path)) + b"\x85R.",
        "instance": b"\x80\x02(X" + struct.pack("<I", len(command)) + command + b"i" + system + b"\nsystem\n.",
        "object": b"\x80\x02(c" + system + b"\nsystem\nX" + struct.pack("<I", len(command)) + command + b"o.",
        "new object": b"\x80\x02c" + system + b"\nsystem\nX" + struct.pack("<I", len(command)) + command + b"\x85\x81.",
        "reduce with an own name": b"\x80\x04cnumpy\ndtype\nc" + system + b"\nsystem\n\x85R.",
    }


@pytest.fixture
def events():
    """What Python reports while the list is open: imports, calls of the system, opened files."""
    found: list[str] = []
    watching = [False]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching[0]:
            found.append(event)

    sys.addaudithook(hook)  # stays until the process ends, and does nothing from then on

    class Watch:
        def __enter__(self):
            watching[0] = True
            return found

        def __exit__(self, *_):
            watching[0] = False

    return Watch()


def test_the_hostile_pickles_would_run_if_they_were_loaded(tmp_path):
    for name in ("reduce 4", "stack global", "instance", "object"):
        path = tmp_path / name.replace(" ", "-")
        pickle.loads(hostile(path)[name])  # noqa: S301 - made above, to show that they are no dummies
        assert path.exists(), name


@pytest.mark.parametrize("name", sorted(hostile(Path("x"))))
@pytest.mark.parametrize("entries", [False, True])
def test_nothing_that_a_pickle_names_is_run(tmp_path, events, name, entries):
    data = hostile(tmp_path / "made")[name]
    reader = PickleReader(data, "/data/node_info.pkl", NUMPY)
    with pytest.raises(LoadError) as e, events as seen:
        list(reader.items()) if entries else reader.value()
    assert not (tmp_path / "made").exists()
    assert set(seen) <= {"object.__getattr__"}
    assert e.value.place.startswith("/data/node_info.pkl, byte ")
    assert "nothing that the file names was executed" in e.value.hint


def test_the_error_names_what_was_asked_for():
    for protocol, value in ((4, Call(os.system, "x")), (2, {1: [Call(os.system, "x")]})):
        with pytest.raises(LoadError, match=rf"the pickle asks for '{os.system.__module__}\.system'"):
            read(pickle.dumps(value, protocol=protocol))
    with pytest.raises(LoadError, match=r"'pathlib.*Path', which is not plain data"):
        read(pickle.dumps({0: {"name": Path("x")}}))
    with pytest.raises(LoadError, match=r"'collections\.OrderedDict', which is not plain data"):
        read(pickle.dumps(OrderedDict(a=1)))
    with pytest.raises(LoadError, match=r"'numpy\._?core\.multiarray\._reconstruct'"):
        read(pickle.dumps(np.arange(3)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends too early"),
        (b"\x80", "ends too early"),
        (b"\x80\x04", "ends too early"),
        (b"(lp0\n.", "not a pickle of protocol 2 to 5"),
        (b"\x80\x00N.", "not a pickle of protocol 2 to 5"),
        (b"\x80\x06N.", "not a pickle of protocol 2 to 5"),
        (b"PK\3\4", "not a pickle of protocol 2 to 5"),
        (b"\x80\x02\x82\x01.", r"b'\\x82' is not one"),  # EXT1, EXT2, EXT4
        (b"\x80\x02\x83\x01\x00.", r"b'\\x83' is not one"),
        (b"\x80\x02\x84\x01\x00\x00\x00.", r"b'\\x84' is not one"),
        (b"\x80\x02P0\n.", "b'P' is not one"),
        (b"\x80\x02NQ.", "a persistent id"),
        (b"\x80\x02N0.", "b'0' is not one"),  # POP, POP_MARK, DUP
        (b"\x80\x02(1.", "b'1' is not one"),
        (b"\x80\x02N2.", "b'2' is not one"),
        (b"\x80\x04\x8f.", r"b'\\x8f' is not one"),  # EMPTY_SET
        (b"\x80\x05\x97.", r"b'\\x97' is not one"),  # NEXT_BUFFER
        (b"\x80\x02\x8b\xff\xff\xff\x7f1.", r"b'\\x8b' is not one"),  # LONG4
        (b"\x80\x02I1\n.", "b'I' is not one"),
        (b"\x80\x02N)\x81.", "an object of a class"),
        (b"\x80\x02N)}\x92.", "an object of a class"),
        (b"\x80\x02}}b.", "the state of an object"),
        (b"\x80\x04cnumpy\ndtype\n}b.", "the state of an object"),
        (b"\x80\x02}N\x85R.", "a call of a name that is not callable"),
        (b"\x80\x02NN\x85R.", "a call of a name that is not callable"),
        (b"\x80\x02cnumpy\ndtype\nNR.", "a call of a name that is not callable"),
        (b"\x80\x02cnumpy\ndtype\n)R.", "a damaged pickle|ends too early"),
        (b"\x80\x02cnumpy\ndtype\nX\x01\x00\x00\x00O\x85R.", "'O' is not a type of numbers or text"),
        (b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00M8\x85R.", "'M8' is not a type"),
        (b"\x80\x02cnumpy\ndtype\nX\x02\x00\x00\x00i8\x85RNb.", "without the order of its bytes"),
        (b"\x80\x02cnumpy.core.multiarray\nscalar\nNN\x86R.", "a value of numpy without its type"),
        (b"\x80\x02cnumpy\ndtype\ncnumpy.core.multiarray\nscalar\nX\x02\x00\x00\x00i8\x85R.", "a damaged pickle"),
        (b"\x80\x02c" + b"a" * 500 + b"\nb\n.", "a name has no end"),
        (b"\x80\x02c\xff\n\xfe\n.", "an invalid name of a function"),
        (b"\x80\x04NN\x93.", "an invalid name of a function"),
        (b"\x80\x04" + text("os\n") + text("system") + b"\x93.", "an invalid name of a function"),
        (b"\x80\x04\x95" + b"\xff" * 8 + b"N.", "a frame is longer than the file"),
        (b"\x80\x04\x8d" + b"\xff" * 8 + b"abc", "ends too early"),
        (b"\x80\x02X\xff\xff\xff\xffabc.", "ends too early"),
        (b"\x80\x04B\xff\xff\xff\x7f.", "ends too early"),
        (b"\x80\x02h\x00.", "is read before it is set"),
        (b"\x80\x02j\xff\xff\xff\xff.", "is read before it is set"),
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "the memo has 0 values, and the next is put at 2,147,483,647"),
        (b"\x80\x02Nq\x05.", "the next is put at 5"),
        (b"\x80\x04\x94.", "damaged"),
        (b"\x80\x04N\x94h\x00h\x00.", "a damaged pickle"),  # three values at the end
        (b"\x80\x04.", "a damaged pickle"),
        (b"\x80\x04u.", "ends too early, or is damaged"),
        (b"\x80\x04s.", "damaged"),
        (b"\x80\x04e.", "damaged"),
        (b"\x80\x04a.", "damaged"),
        (b"\x80\x04N\x86.", "a tuple without its members"),
        (b"\x80\x04NNa.", "members without a list"),
        (b"\x80\x04}(Nu.", "entries without a dictionary"),
        (b"\x80\x04](NNu.", "entries without a dictionary"),
        (b"\x80\x04}]Ns.", "a key that is neither a text nor a number"),
        (b"\x80\x04})Ns.", "a key that is neither a text nor a number"),
        (b"\x80\x02X\x01\x00\x00\x00\xff.", "a damaged pickle"),
    ],
)  # fmt: skip
def test_what_is_no_plain_data_is_refused(data, message):
    with pytest.raises(LoadError, match=message):
        read(data)


def test_a_registered_extension_is_refused_although_it_was_used_before(tmp_path):
    import copyreg

    copyreg.add_extension(os.system.__module__, "system", 240)
    try:
        data = pickle.dumps(Call(os.system, touch(tmp_path / "a")), protocol=2)
        assert b"\x82\xf0" in data
        pickle.loads(data)  # noqa: S301 - fills the cache that find_class of an Unpickler never sees
        assert (tmp_path / "a").exists()
        data = pickle.dumps(Call(os.system, touch(tmp_path / "b")), protocol=2)
        with pytest.raises(LoadError, match=r"the instruction b'\\x82'"):
            read(data)
        assert not (tmp_path / "b").exists()
    finally:
        copyreg.remove_extension(os.system.__module__, "system", 240)
        copyreg.clear_extension_cache()


def test_only_a_dictionary_has_entries():
    for value in ([1], "x", None, [{1: 2}]):
        with pytest.raises(LoadError, match="this is not a dictionary"):
            list(PickleReader(pickle.dumps(value), "x").items())


# --- nothing grows without bounds ------------------------------------------------------


def test_a_list_that_holds_itself_and_one_that_doubles_end_where_they_are_walked(monkeypatch):
    for module in (documents, size_limits):
        monkeypatch.setattr(module, "MAX_PARTS", 1 << 16)
        monkeypatch.setattr(module, "MAX_TEXT", 1 << 22)
    endless: list[object] = ["a"]
    endless.append(endless)
    laughs: list[object] = ["ha"]
    for _ in range(40):
        laughs = [laughs, laughs]
    for value in (endless, laughs, {"x": laughs}, ["a" * 1000] * 60_000):
        found = read(pickle.dumps(value))
        node = StarkNode(RecipeTriples(), "mag", 0, "paper", {"title": found})
        with pytest.raises(LoadError, match="too large, or contain themselves"):
            node.put("title", found)
        with pytest.raises(LoadError, match="too large, or contain themselves"):
            size_limits.check_size("x:1", {"title": found})
    size_limits.check_size("x:1", {"title": ["a" * 1000] * 100, "more": {"a": [{"b": (1, 2.5, None)}]}})


def test_lists_in_lists_in_lists_are_no_danger():
    deep = b"\x80\x04" + b"]" * 200_000 + b"a" * 199_999 + b"."
    node = StarkNode(RecipeTriples(), "mag", 0, "paper", {})
    with pytest.raises(LoadError, match="contain themselves"):
        node.put("x", read(deep))
    with pytest.raises(LoadError, match="contain themselves"):
        size_limits.check_size("x:1", {"x": read(deep)})
    with pytest.raises(LoadError, match="a key that is neither"):
        read(b"\x80\x04})" + b"\x85" * 300_000 + b"Ns.")  # its hash would need a stack of 300,000


def test_instructions_are_counted(monkeypatch):
    monkeypatch.setattr(pickles, "MAX_STEPS", 8000)
    data = pickle.dumps({i: {"a": i} for i in range(3000)})
    assert len(list(PickleReader(data, "x").items())) == 3000  # a thousand entries at a time
    monkeypatch.setattr(pickles, "MAX_STEPS", 4000)
    with pytest.raises(LoadError, match="more than 4,000 instructions for 1,000 entries"):
        list(PickleReader(data, "x").items())


def test_what_is_kept_for_being_used_again_is_counted(monkeypatch):
    monkeypatch.setattr(pickles, "MAX_CACHED", 10_000)
    same = ["x"]
    alone = pickle.dumps({i: {"a": ["x"]} for i in range(3000)})
    assert len(list(PickleReader(alone, "x").items())) == 3000
    with pytest.raises(LoadError, match="whose values are used again"):
        list(PickleReader(pickle.dumps({i: {"a": same} for i in range(3000)}), "x").items())
    monkeypatch.setattr(pickles, "MAX_SHARED", 10)
    texts = [f"text {i}" for i in range(20)]
    with pytest.raises(LoadError, match="more than 10 values are used twice"):
        read(pickle.dumps(texts + texts))


# --- whatever a file holds, it is data or an error ----------------------------------------


VALID = pickle.dumps(
    {0: {"a": "text" * 80, "b": [1, 2.5, None, True, -7, 1 << 70], "c": ("x", {"y": b"z"})}, 1: {"d": np.str_("é")}},
    protocol=4,
)


@settings(max_examples=examples(36, 400), deadline=None)
@given(st.data())
def test_damage_is_an_error_of_ours(data):
    broken = bytearray(VALID)
    for _ in range(data.draw(st.integers(1, 4))):
        broken[data.draw(st.integers(0, len(broken) - 1))] = data.draw(st.integers(0, 255))
    for entries in (True, False):
        reader = PickleReader(bytes(broken), "x", NUMPY)
        with suppress(LoadError):
            list(reader.items()) if entries else reader.value()


def test_every_cut_is_an_error_of_ours():
    for stop in range(len(VALID)):
        with pytest.raises(LoadError):
            read(VALID[:stop])


@settings(max_examples=examples(36, 400), deadline=None)
@given(
    st.lists(st.sampled_from([*pickles.FIXED, *pickles.COUNTED, pickles.GLOBAL]), max_size=40), st.binary(max_size=20)
)
def test_instructions_at_random_are_an_error_of_ours_or_data(ops, tail):
    for separator in (b"", b"\0", b"\1"):
        with suppress(LoadError):
            read(b"\x80\x04" + separator.join(bytes([op]) for op in ops) + tail + b".")


def test_nan_is_read():
    assert math.isnan(read(pickle.dumps(float("nan"))))
