"""Steps that follow the build of an index, or a commit, once the new generation is open."""

from __future__ import annotations

from contextlib import suppress

from hybridkg.errors import HybridkgError
from hybridkg.interfaces.encoder import NO_ENCODER
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import TEXT_ENGINES
from hybridkg.kb.snapshot import Snapshot
from hybridkg.kb.write.await_kernels import await_kernels
from hybridkg.kb.write.calibrate import measure
from hybridkg.kb.write.configured import has_remote_index
from hybridkg.kb.write.prune import prune
from hybridkg.kb.write.transaction import publish
from hybridkg.store.generations.folder import Folder


def remove_earlier(folder: Folder) -> None:
    """Removes the generations before the live one that nobody reads; what cannot be removed is left to the next writer.

    Where an engine keeps something on a server, the generation before stays until the next write, as its index does.
    """
    with suppress(HybridkgError, OSError):
        if not folder.engines():
            folder.remove_unread()


def after_commit(folder: Folder, earlier: str) -> None:
    """Publishes the text index, and removes the indexes on servers that no generation names any more: each commit makes
    one. Those that cannot be removed now are removed after another commit, or by `prune`. A server whose indexes stay
    the same is not asked.

    Args:
        folder: of the knowledge base.
        earlier: the manifest's name of the text index before the commit.

    Raises:
        TextServerError: the server of the text index does not answer.
    """
    config, now = folder.config, folder.manifest().engines.get("text", "")
    is_new = now != earlier
    if is_new or not TEXT_ENGINES.get(config.text).is_remote:
        publish(folder)
    if has_remote_index(folder) and (is_new or config.encoder != NO_ENCODER):
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
