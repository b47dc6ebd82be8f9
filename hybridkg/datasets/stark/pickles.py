"""Safe reading of pickles of plain data, without executing anything.

A pickle is a program: `pickle.load` imports and calls whatever the file names. This reader interprets only the
instructions for texts, numbers, lists, tuples and dictionaries; a name must be an entry of the caller's table. It does
not use `pickle.Unpickler`, which even with another `find_class` calls whatever is on its stack, takes extension codes
past `find_class`, and makes a memo as large as a file says.

Input may be hostile, so steps and memory are bounded by the constants below; the result may contain itself, so its
consumers must count. Large dictionaries are read entry by entry: a first pass finds the values that the file uses
again, and only these are kept.

Source: CPython, `Lib/pickletools.py`. tests/datasets/test_stark_pickles.py compares with `pickle.dumps`.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from struct import unpack
from typing import Any, NoReturn, TypeAlias

from hybridkg.errors import LoadError

MAX_STEPS = 1 << 24
"""Instructions per 1,000 entries, the batch of pickle; 1,000 of Amazon's products have some 500,000."""

MAX_CACHED = 1 << 26
"""Instructions of all batches that share a list or dictionary with others, and are therefore kept."""

MAX_SHARED = 1 << 24
"""Values that a file uses more than once."""

MAX_NAME_LENGTH = 200
"""Bytes of the name of a module or of its member."""

Buffer: TypeAlias = bytes | mmap.mmap


class Built:
    """The result of a call, which the instruction BUILD completes."""

    def build(self, state: object) -> None:
        """Takes the state. Raises ValueError: it is invalid."""
        raise NotImplementedError


@dataclass(frozen=True)
class PickledName:
    """An allowed name in a pickle; `make` is its call (ValueError for bad arguments), None if it is not callable."""

    name: str
    make: Callable[[tuple[Any, ...]], object] | None = None


Names: TypeAlias = Mapping[str, PickledName]
"""Allowed names, such as "numpy.dtype"."""

Persistent: TypeAlias = Callable[[object], object]
"""Maps a persistent id to its value."""

MARK, STOP, NONE, NEWTRUE, NEWFALSE = b"(.N\x88\x89"
BININT, BININT1, BININT2, LONG1, BINFLOAT = b"JKM\x8aG"
BINUNICODE, SHORT_BINUNICODE, BINUNICODE8 = b"X\x8c\x8d"
BINBYTES, SHORT_BINBYTES, BINBYTES8 = b"BC\x8e"
EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT = b"])}"
APPEND, APPENDS, SETITEM, SETITEMS = b"aesu"
TUPLE, TUPLE1, TUPLE2, TUPLE3 = b"t\x85\x86\x87"
BINGET, LONG_BINGET, BINPUT, LONG_BINPUT, MEMOIZE = b"hjqr\x94"
GLOBAL, STACK_GLOBAL, REDUCE, BUILD, BINPERSID = b"c\x93RbQ"
PROTO, FRAME = b"\x80\x95"
NEWOBJ, NEWOBJ_EX = b"\x81\x92"
"""Refused only when they are reached, so that the error names the class before them."""

PUTS, GETS, ENTRIES, MEMBERS = b"qr\x94", b"hj", b"us", b"ea"
INTEGERS, TEXTS, TUPLES, BOOLEANS = b"JM", b"X\x8d", b"t\x85\x86\x87", b"\x88\x89"
"""Groups of equivalent instructions."""

FIXED = {
    **dict.fromkeys((MARK, STOP, NONE, NEWTRUE, NEWFALSE, EMPTY_LIST, EMPTY_TUPLE, EMPTY_DICT, APPEND, APPENDS), 0),
    **dict.fromkeys((SETITEM, SETITEMS, TUPLE, TUPLE1, TUPLE2, TUPLE3, MEMOIZE), 0),
    **dict.fromkeys((STACK_GLOBAL, REDUCE, BUILD, BINPERSID, NEWOBJ, NEWOBJ_EX), 0),
    **dict.fromkeys((BININT1, BINGET, BINPUT, PROTO), 1),
    **dict.fromkeys((BININT, LONG_BINGET, LONG_BINPUT), 4),
    **{BININT2: 2, BINFLOAT: 8, FRAME: 8},
}
"""Bytes of the argument of an instruction."""

COUNTED = {
    **dict.fromkeys((SHORT_BINUNICODE, SHORT_BINBYTES, LONG1), 1),
    **dict.fromkeys((BINUNICODE, BINBYTES), 4),
    **dict.fromkeys((BINUNICODE8, BINBYTES8), 8),
}
"""Bytes of the length of an argument."""

PLAIN_KEYS = frozenset({str, int, float, bool, type(None)})
"""Types of keys, without tuples, whose nested hash needs a stack of the same depth."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_SURROGATES = re.compile("[\ud800-\udfff]")


class PickleReader:
    """A pickle of protocol 2 to 5, in memory or in a mapped file.

    Args:
        data: the bytes.
        place: the file, for errors.
        names: allowed names.
        persistent: maps persistent ids to values; None refuses them.
        start: offset of the pickle.

    >>> import pickle
    >>> PickleReader(pickle.dumps({"a": [1, 2.5, None]}), "x.pkl").value()
    {'a': [1, 2.5, None]}
    """

    def __init__(
        self, data: Buffer, place: str, names: Names | None = None, persistent: Persistent | None = None, start: int = 0
    ):
        self.data, self.place, self.start = data, place, start
        self.names = names or {}
        self.persistent = persistent
        self.end = start
        """Offset of the end of the pickle, set when it has been read."""

    def value(self) -> Any:
        """The value of the pickle. Raises LoadError: it is damaged, too large, or has more than plain data."""
        entries: list[tuple[object, object]] = list(self._safely(False))
        return entries[0][1]

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Entries of a pickled dictionary, also of repeated keys. Raises LoadError: as `value`, or no dictionary."""
        return self._safely(True)

    # --- the first pass -------------------------------------------------------

    def _shared(self) -> set[int]:
        """Places in the memo that are read; this pass makes no values, so a refusal costs nothing."""
        data, at, puts = self.data, self.start, 0
        shared: set[int] = set()
        if data[at] != PROTO or not 2 <= data[at + 1] <= 5:
            self._refuse(at, "this is not a pickle of protocol 2 to 5")
        while True:
            op = data[at]
            size = FIXED.get(op)
            if size is not None:
                if op == STOP:
                    return shared
                if op == MEMOIZE:
                    puts += 1
                elif op in GETS:
                    place = int.from_bytes(data[at + 1 : at + 1 + size], "little")
                    if place >= puts:
                        self._refuse(at, f"a value of the memo, {place:,}, is read before it is set")
                    shared.add(place)
                    if len(shared) > MAX_SHARED:
                        self._refuse(at, f"more than {MAX_SHARED:,} values are used twice")
                elif op in PUTS:
                    place = int.from_bytes(data[at + 1 : at + 1 + size], "little")
                    if place != puts:
                        self._refuse(at, f"the memo has {puts:,} values, and the next is put at {place:,}")
                    puts += 1
                elif op == FRAME and int.from_bytes(data[at + 1 : at + 9], "little") > len(data) - at - 9:
                    self._refuse(at, "a frame is longer than the file")
                at += 1 + size
            elif (width := COUNTED.get(op)) is not None:
                at += 1 + width + int.from_bytes(data[at + 1 : at + 1 + width], "little")
            elif op == GLOBAL:
                at += sum(map(len, self._lines(at + 1))) + 3
            else:
                self._refuse(at, f"the instruction {bytes([op])!r} is not one of plain data")

    def _lines(self, at: int) -> tuple[bytes, bytes]:
        """Module and name after GLOBAL."""
        lines = self.data[at : at + 2 * MAX_NAME_LENGTH + 2].split(b"\n")
        if len(lines) < 3:
            self._refuse(at, "a name has no end")
        return lines[0], lines[1]

    # --- the second pass ------------------------------------------------------

    def _safely(self, entries: bool) -> Iterator[tuple[Any, Any]]:
        """Errors of a damaged file as LoadError."""
        try:
            yield from self._run(entries, self._shared())
        except IndexError as e:
            raise LoadError("the file ends too early, or is damaged", place=self.place) from e
        except (TypeError, ValueError, OverflowError, ArithmeticError) as e:
            raise LoadError(f"a damaged pickle: {e}", place=self.place) from e

    def _run(self, entries: bool, shared: set[int]) -> Iterator[tuple[Any, Any]]:
        data, at, puts, steps, cached = self.data, self.start, 0, 0, 0
        memo: dict[int, Any] = {}
        stack: list[Any] = []
        marks: list[int] = []
        root: dict[Any, Any] | None = None
        linked = False
        push = stack.append
        while True:
            op = data[at]
            at += 1
            steps += 1
            if steps > MAX_STEPS:
                self._refuse(at, f"more than {MAX_STEPS:,} instructions for 1,000 entries")
            if op == SHORT_BINUNICODE:
                stop = at + 1 + data[at]
                push(_text(data[at + 1 : stop]))
                at = stop
            elif op in PUTS:
                at += FIXED[op]
                if puts in shared:
                    memo[puts] = value = stack[-1]
                    linked = linked or type(value) in (list, dict, tuple)
                puts += 1
            elif op in GETS:
                stop = at + FIXED[op]
                push(value := memo[int.from_bytes(data[at:stop], "little")])
                linked = linked or type(value) in (list, dict, tuple)
                at = stop
            elif op == BININT1:
                push(data[at])
                at += 1
            elif op in INTEGERS:
                stop = at + FIXED[op]
                push(int.from_bytes(data[at:stop], "little", signed=op == BININT))
                at = stop
            elif op == BINFLOAT:
                push(unpack(">d", data[at : at + 8])[0])
                at += 8
            elif op == MARK:
                marks.append(len(stack))
            elif op in ENTRIES:
                first = marks.pop() if op == SETITEMS else len(stack) - 2
                keys, values = stack[first::2], stack[first + 1 :: 2]
                del stack[first:]
                target = stack[-1]
                if type(target) is not dict or len(keys) != len(values):
                    self._refuse(at, "entries without a dictionary")
                if not PLAIN_KEYS.issuperset(map(type, keys)):
                    self._refuse(at, "a key that is neither a text nor a number")
                if target is not root:
                    target.update(zip(keys, values, strict=True))
                    continue
                cached += steps if linked else 0
                if cached > MAX_CACHED:
                    self._refuse(at, f"more than {MAX_CACHED:,} instructions whose values are used again")
                steps, linked = 0, False
                yield from zip(keys, values, strict=True)
            elif op == EMPTY_DICT:
                push({})
                if entries and root is None and len(stack) == 1 and not marks:
                    root = stack[0]
            elif op in TEXTS:
                begin = at + COUNTED[op]
                stop = begin + int.from_bytes(data[at:begin], "little")
                push(_text(data[begin:stop]))
                at = stop
            elif op in MEMBERS:
                first = marks.pop() if op == APPENDS else len(stack) - 1
                added = stack[first:]
                del stack[first:]
                if type(stack[-1]) is not list:
                    self._refuse(at, "members without a list")
                stack[-1].extend(added)
            elif op == STOP:
                self.end = at
                if entries and (root is None or stack != [root]):
                    self._refuse(at, "this is not a dictionary")
                if not entries:
                    (value,) = stack
                    yield None, value
                return
            else:
                at = self._rare(op, at, stack, marks)

    def _rare(self, op: int, at: int, stack: list[Any], marks: list[int]) -> int:
        """Executes an infrequent instruction; returns the offset of the next one."""
        if op == NONE:
            stack.append(None)
        elif op in BOOLEANS:
            stack.append(op == NEWTRUE)
        elif op == EMPTY_LIST:
            stack.append([])
        elif op == EMPTY_TUPLE:
            stack.append(())
        elif op in TUPLES:
            first = marks.pop() if op == TUPLE else len(stack) - (op - TUPLE1 + 1)
            if first < 0:
                self._refuse(at, "a tuple without its members")
            stack[first:] = [tuple(stack[first:])]
        elif op in COUNTED:
            begin = at + COUNTED[op]
            stop = begin + int.from_bytes(self.data[at:begin], "little")
            content = self.data[begin:stop]
            stack.append(int.from_bytes(content, "little", signed=True) if op == LONG1 else content)
            return stop
        elif op == GLOBAL:
            module, name = self._lines(at)
            stack.append(self._named(at, module.decode(errors="replace"), name.decode(errors="replace")))
            return at + len(module) + len(name) + 2
        elif op == STACK_GLOBAL:
            last, before = stack.pop(), stack.pop()
            stack.append(self._named(at, before, last))
        elif op == REDUCE:
            arguments, called = stack.pop(), stack.pop()
            if not isinstance(called, PickledName) or called.make is None or type(arguments) is not tuple:
                self._refuse(at, "a call of a name that is not callable")
            stack.append(called.make(arguments))
        elif op == BUILD:
            state, target = stack.pop(), stack.pop()
            if not isinstance(target, Built):
                self._refuse(at, "the state of an object, which is not plain data")
            target.build(state)
            stack.append(target)
        elif op == BINPERSID:
            if self.persistent is None:
                self._refuse(at, "a persistent id, which only another program can resolve")
            stack.append(self.persistent(stack.pop()))
        elif op in (NEWOBJ, NEWOBJ_EX):
            self._refuse(at, "an object of a class, which is not plain data")
        else:
            return at + FIXED[op]  # PROTO and FRAME, checked by _shared
        return at

    def _named(self, at: int, module: object, name: object) -> PickledName:
        full = f"{module}.{name}" if type(module) is str and type(name) is str else ""
        if len(full) > MAX_NAME_LENGTH or _NAME.fullmatch(full) is None:
            self._refuse(at, "an invalid name of a function")
        if (allowed := self.names.get(full)) is None:
            self._refuse(at, f"the pickle asks for {full!r}, which is not plain data")
        return allowed

    def _refuse(self, at: int, message: str) -> NoReturn:
        raise LoadError(
            message,
            hint="only texts, numbers, lists and dictionaries are read; nothing that the file names was executed",
            place=f"{self.place}, byte {at:,}",
        )


def _text(data: bytes) -> str:
    """Text from pickle's UTF-8, with lone surrogates as U+FFFD."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATES.sub("\ufffd", data.decode("utf-8", "surrogatepass"))
