"""A real HTTP server on this machine that speaks OpenAI's embeddings and chat, and breaks down as it is told."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer

import numpy as np
from local_server import LocalHandler

DIMENSIONS = 8


def vector(text: str) -> list[float]:
    """The same for the same text: counts of its letters, eight sorts of them."""
    found = np.zeros(DIMENSIONS)
    for letter in text.lower():
        found[ord(letter) % DIMENSIONS] += 1.0
    return found.tolist()


class Served:
    """What was asked, and what is answered next.

    Args:
        url: up to and with the version.
    """

    def __init__(self, url: str):
        self.url = url
        self.asked: list[tuple[str, dict, dict]] = []
        """(path, headers, body) of each request."""
        self.faults: list[Callable | None] = []
        """For each coming request what answers it instead, given the handler; None for nothing."""
        self.score: Callable[[str, str], float] = lambda question, text: 0.5
        """What the language model thinks of a text."""
        self.say: Callable[[list[float]], str] = lambda scores: json.dumps({"scores": scores})
        """How it says so."""

    @property
    def texts(self) -> list[str]:
        """That were sent to be embedded, one after the other."""
        return [text for path, _, body in self.asked if path.endswith("/embeddings") for text in body["input"]]

    def answer(self, path: str, body: dict) -> dict:
        if path == "/v1/embeddings":
            data = [{"index": i, "embedding": vector(text)} for i, text in enumerate(body["input"])]
            return {"object": "list", "data": data[::-1], "model": body["model"]}
        given = json.loads(body["messages"][1]["content"])
        scores = [self.score(given["question"], record["text"]) for record in given["candidates"]]
        return {"choices": [{"message": {"role": "assistant", "content": self.say(scores)}}]}


@contextmanager
def model_server():
    """A Served, as long as it is needed."""

    class Handler(LocalHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((self.path, dict(self.headers), body))
            fault = served.faults.pop(0) if served.faults else None
            if fault is None:
                send(self, 200, json.dumps(served.answer(self.path, body)))
            else:
                self.close_connection = True
                fault(self)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served = Served(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler, status: int, text: str, headers: dict | None = None, length: int | None = None) -> None:
    content = text.encode()
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(content) if length is None else length))
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.end_headers()
    with suppress(OSError):  # the other side has heard enough
        handler.wfile.write(content)


def status(code: int, said: str = "not now", **headers: str) -> Callable:
    """An error, as OpenAI says it; names of headers with _ for -."""
    named = {re.sub("_", "-", name): value for name, value in headers.items()}
    return lambda handler: send(handler, code, json.dumps({"error": {"message": said, "code": "x"}}), named)


def content(text: str, length: int | None = None) -> Callable:
    """200 with this body, whatever it is; with a length, that is what the header says."""
    return lambda handler: send(handler, 200, text, length=length)


def changed(served: Served, change: Callable[[dict], object]) -> Callable:
    """The right answer, changed."""

    def fault(handler):
        path, _, body = served.asked[-1]
        answer = served.answer(path, body)
        send(handler, 200, json.dumps(change(answer) or answer))

    return fault


def dripping(seconds: float) -> Callable:
    """A byte now and then, for so long."""

    def fault(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until:
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.02)
        except OSError:
            pass

    return fault


def huge(size: int) -> Callable:
    """So many bytes without an end."""

    def fault(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(size))
        handler.end_headers()
        try:
            for _ in range(size >> 16):
                handler.wfile.write(b" " * (1 << 16))
        except OSError:
            pass

    return fault
