"""Work for tests/compute/test_worker_process.py; in a module that a process of its own finds."""

from __future__ import annotations

import os
import sys


def count(emit, end, noise=""):
    for i in range(end):
        sys.stdout.write(noise)
        emit((i, os.getpid()))
    return end * 10


def refuse(emit, error):
    emit(1)
    raise error


def die(emit, status):
    emit(1)
    os._exit(status)
