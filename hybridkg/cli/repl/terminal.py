"""The session in a terminal; the only module that imports prompt_toolkit."""

from __future__ import annotations

import fcntl
import os
import sys
import termios
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import split_lines
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyBindings, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from hybridkg.cli.repl.colours import pieces
from hybridkg.cli.repl.command_completion import suggest_in_session
from hybridkg.cli.repl.completion import NAME
from hybridkg.cli.repl.interrupts import Interrupts
from hybridkg.cli.repl.session import Session, is_complete
from hybridkg.kb import cancellation
from hybridkg.resources import cache_dir
from hybridkg.results.formats.table import is_plain

if TYPE_CHECKING:
    from hybridkg.cli.repl.running import InterruptibleRunner

PROMPT = "hq> "
CONTINUATION = "  | "

HISTORY_FILE = "repl-history"
MAX_HISTORY = 1_000_000
"""Bytes of the history file above which its oldest part is removed when a session starts."""

INDENT = "  "

STYLE = Style.from_dict(
    {
        "prompt": "bold",
        "hq.keyword": "bold ansiblue",
        "hq.command": "bold ansiblue",
        "hq.variable": "ansicyan",
        "hq.iri": "ansigreen",
        "hq.string": "ansiyellow",
        "hq.number": "ansimagenta",
        "hq.name": "ansimagenta",
        "hq.comment": "italic ansibrightblack",
        "hq.error": "underline ansired",
    }
)


def converse(session: Session, workers: InterruptibleRunner, interrupts: Interrupts) -> None:
    """Reads and runs inputs until the user ends the session; Ctrl-C never does."""
    prompt = _prompt(session, interrupts)
    with interrupts:
        while not session.done:
            session.names_later(workers.start)
            try:
                text = _read(prompt, interrupts)
            except EOFError:
                return
            except KeyboardInterrupt:
                continue
            try:
                interrupts.run(session.run, text)
            except KeyboardInterrupt:
                is_running = workers.busy() or cancellation.count_orphans()
                note = "; the store is still at work on it in the background" if is_running else ""
                session.screen.say(f"\ncancelled{note}")
            except Exception:
                session.screen.say(traceback.format_exc())
                session.screen.say("this is a bug in hybridkg; the session continues")


def _read(prompt: PromptSession[str], interrupts: Interrupts) -> str:
    """The next input.

    The terminal gives Ctrl-C to the prompt as a key, and to everything else as a signal. The prompt clears its input at
    either; what comes after its Enter, as a key or as a signal, goes to `interrupts`.

    Raises:
        KeyboardInterrupt: Ctrl-C cleared the input.
        EOFError: Ctrl-D on an empty line.
    """
    app = prompt.app

    def begin() -> None:
        interrupts.take()  # it came when the work before had ended: there is nothing to interrupt

    def clear() -> None:
        if not app.is_done and interrupts.take():
            app.key_processor.send_sigint()

    def tell() -> None:
        if app.loop is not None:
            app.loop.call_soon_threadsafe(clear)

    interrupts.on_press = tell
    # The signal handler of prompt_toolkit drops what comes after Enter, and the one it restores raises where it likes.
    text = prompt.prompt(pre_run=begin, handle_sigint=False)
    keys = [*get_typeahead(app.input), *_unread_keys(app.input)]
    pressed = [place for place, key in enumerate(keys) if key.key == Keys.ControlC]
    if pressed:
        interrupts.press()
        keys = keys[pressed[-1] + 1 :]  # the terminal, too, drops what was typed before Ctrl-C
    store_typeahead(app.input, keys)
    return text


def _unread_keys(source: Input) -> list[KeyPress]:
    """The keys that came before the prompt gave the terminal back; from now on Ctrl-C is a signal."""
    keys: list[KeyPress] = []
    number = source.fileno()
    with _unbuffered(number), suppress(OSError):
        while int.from_bytes(fcntl.ioctl(number, termios.FIONREAD, bytes(4)), sys.byteorder):
            keys += source.read_keys()
    return keys


@contextmanager
def _unbuffered(number: int) -> Iterator[None]:
    """Makes single characters readable, as the prompt does, while Ctrl-C remains a signal."""
    try:
        before, settings = termios.tcgetattr(number), termios.tcgetattr(number)
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        settings[6][termios.VMIN] = 1
        termios.tcsetattr(number, termios.TCSANOW, settings)
    except termios.error:  # no terminal
        yield
        return
    try:
        yield
    finally:
        with suppress(termios.error):
            termios.tcsetattr(number, termios.TCSANOW, before)


def _prompt(session: Session, interrupts: Interrupts) -> PromptSession[str]:
    return PromptSession(
        [("class:prompt", PROMPT)],
        multiline=True,
        prompt_continuation=_continuation,
        key_bindings=_keys(interrupts),
        completer=_Completer(session),
        complete_while_typing=True,
        lexer=_Colours(),
        style=None if is_plain(os.environ) else STYLE,
        include_default_pygments_style=False,
        history=history(),
        reserve_space_for_menu=6,
    )


def _continuation(width: int, _line: int, wrapped: int) -> StyleAndTextTuples:
    return [("class:prompt", (" " * len(CONTINUATION) if wrapped else CONTINUATION)[:width])]


def _keys(interrupts: Interrupts) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def interrupt(event: KeyPressEvent) -> None:
        reading = event.app.future
        if reading is None or reading.done():  # the key came with Enter, which has ended the input
            interrupts.press()
        else:
            event.app.exit(exception=KeyboardInterrupt, style="class:aborting")

    @keys.add("enter")
    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.complete_state = None  # the text has the chosen suggestion already
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            newline(event)

    @keys.add("c-j")
    @keys.add("escape", "enter")
    def newline(event: KeyPressEvent) -> None:
        line = event.current_buffer.document.current_line_before_cursor
        deeper = INDENT if line.rstrip().endswith(("{", "(")) else ""
        event.current_buffer.insert_text("\n" + line[: len(line) - len(line.lstrip())] + deeper)

    @keys.add("}")
    def close(event: KeyPressEvent) -> None:
        line = event.current_buffer.document.current_line_before_cursor
        if line.endswith(INDENT) and not line.strip():
            event.current_buffer.delete_before_cursor(len(INDENT))
        event.current_buffer.insert_text("}")

    return keys


class _Colours(Lexer):
    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        fragments: StyleAndTextTuples = [
            (f"class:hq.{category}" if category else "", text) for category, text in pieces(document.text)
        ]
        lines = [list(line) for line in split_lines(fragments)]
        return lambda number: lines[number] if number < len(lines) else []


class _Completer(Completer):
    def __init__(self, session: Session):
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Suggestions at the cursor; without Tab only within a token, or for a name."""
        before = document.text_before_cursor
        for suggestion in suggest_in_session(self._session, before, document.text_after_cursor):
            begun = suggestion.start < len(before)
            if begun or complete_event.completion_requested or suggestion.kind == NAME:
                yield Completion(
                    suggestion.text,
                    suggestion.start - len(before),
                    display=suggestion.text.strip(),
                    display_meta=suggestion.note,
                )


def history() -> History:
    """The inputs of earlier sessions; in memory only if no file can be written."""
    folder = cache_dir()
    if folder is None:
        return InMemoryHistory()
    path = folder / HISTORY_FILE
    try:
        _cut(path)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return _SafeHistory(str(path))


def _cut(path: Path) -> None:
    if not path.exists() or path.stat().st_size <= MAX_HISTORY:
        return
    data = path.read_bytes()[-MAX_HISTORY // 2 :]
    temporary = path.with_suffix(f".{os.getpid()}")
    temporary.write_bytes(data[data.find(b"\n\n# ") + 1 :])
    temporary.replace(path)


class _SafeHistory(FileHistory):
    """A history file that may vanish or fill its disk; the history is then in memory only."""

    def load_history_strings(self) -> Iterable[str]:
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        try:
            super().store_string(string)
        except (OSError, ValueError):
            return
