"""Steps that follow the build of an index, once the new generation is open."""

from __future__ import annotations

from hybridkg.interfaces.progress import Progress
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.await_kernels import await_kernels
from hybridkg.kb.write.calibrate import measure
from hybridkg.kb.write.transaction import publish
from hybridkg.store.generations.folder import Folder


def after_index(folder: Folder, snapshot: Snapshot, progress: Progress) -> None:
    """Publishes the text index, waits a while for kernels that were missed, and calibrates unit costs.

    Raises:
        TextServerError: the server of the text index does not answer.
    """
    publish(folder)
    await_kernels(progress)
    measure(snapshot)
