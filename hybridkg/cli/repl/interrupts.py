"""Ctrl-C between the prompts of a session: every press interrupts the input that Enter began, whenever it comes.

Python's own handler of SIGINT raises KeyboardInterrupt wherever the main thread is: in the line editor while it gives
the terminal back, between two `try` blocks, and inside the Python code of `threading`, whose locks then stay locked.
This one raises it only inside the work of an input, and keeps any other press until it can.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, Self

P = ParamSpec("P")


class Interrupts:
    """The handler of SIGINT inside its `with` block, in the main thread.

    Attributes:
        pressed: whether a press is kept.
        on_press: called for each press that is kept, for a prompt that shall take it.

    >>> with Interrupts() as interrupts:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupts.take(), interrupts.take()
    (True, False)
    """

    def __init__(self) -> None:
        self.pressed = False
        self.on_press: Callable[[], None] | None = None
        self._raises = False

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._handle), sys.unraisablehook
        sys.unraisablehook = self._keep_dropped
        return self

    def __exit__(self, *_: object) -> None:
        handler, sys.unraisablehook = self._before
        signal.signal(signal.SIGINT, handler)

    def _keep_dropped(self, dropped: sys.UnraisableHookArgs) -> None:
        """Keeps a press that was raised in a finalizer, whose exceptions Python prints and drops."""
        if dropped.exc_type is KeyboardInterrupt:
            self.pressed = True
        else:
            self._before[1](dropped)

    def _handle(self, *_: object) -> None:
        if self._raises:
            raise KeyboardInterrupt
        self.press()

    def press(self) -> None:
        """Keeps a press."""
        self.pressed = True
        if self.on_press is not None:
            self.on_press()

    def take(self) -> bool:
        """Whether a press is kept, which is then forgotten."""
        pressed, self.pressed = self.pressed, False
        return pressed

    def run(self, work: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Calls the work, which each press interrupts; one that is kept does so as it begins, or ends.

        Raises:
            KeyboardInterrupt: there was a press. After the return presses are kept.
        """
        # Python handles signals after calls and backward jumps, so none comes between `finally` and the assignment.
        try:
            self._raises = True
            if self.take():
                raise KeyboardInterrupt
            work(*args, **kwargs)
            if self.take():
                raise KeyboardInterrupt
        finally:
            self._raises = False

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Keeps presses inside its block, which looks at `pressed` itself.

        Raises:
            KeyboardInterrupt: there was a press, at the end of the block.
        """
        raises, self._raises = self._raises, False
        try:
            yield
        finally:
            self._raises = raises
            if self.take():
                raise KeyboardInterrupt from None
