"""Steps that follow the build of an index, or a commit, once the new generation is open."""

from __future__ import annotations

from contextlib import suppress

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.progress import Progress
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.await_kernels import await_kernels
from hybridkg.kb.write.calibrate import measure
from hybridkg.kb.write.configured import has_remote_index
from hybridkg.kb.write.prune import prune
from hybridkg.kb.write.transaction import publish
from hybridkg.store.generations.folder import Folder


def after_commit(folder: Folder) -> None:
    """Publishes the text index, and removes the indexes on servers that no generation names any more: each commit makes
    one. Those that cannot be removed now are removed after another commit, or by `prune`.

    Raises:
        TextServerError: the server of the text index does not answer.
    """
    publish(folder)
    if has_remote_index(folder):
        with suppress(HybridkgError):
            prune(folder, remove=True)


def after_index(folder: Folder, snapshot: Snapshot, progress: Progress) -> None:
    """Publishes the text index, waits a while for kernels that were missed, and calibrates unit costs.

    Raises:
        TextServerError: the server of the text index does not answer.
    """
    publish(folder)
    await_kernels(progress)
    measure(snapshot)
