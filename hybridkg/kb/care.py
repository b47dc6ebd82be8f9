"""The care of a knowledge base: check, dump, backup and restoration, as methods of KnowledgeBase."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.kb.exploring import ExplorableKnowledgeBase
from hybridkg.store.generations.place import checked_path

if TYPE_CHECKING:
    from hybridkg.kb.write.care_reports import BackupReport, CheckReport, DumpReport


class Care(ExplorableKnowledgeBase):
    """The methods of care; KnowledgeBase adds opening and writing."""

    def check(self, full: bool = False, repair: bool = False, *, progress: Progress = SILENT) -> CheckReport:
        """Compares the newest generation with its checksums, and its indexes with the graph and the documents.

        A knowledge base that is too damaged to be opened is checked by `hybridkg check`.

        Args:
            full: text and vectors of all entities are compared, not of a sample of 1,000.
            repair: builds the indexes again where one is bad or behind, and checks the result.
            progress: receives the progress.

        Raises:
            LockedError: another writer has the lock, and something is to be repaired.
        """
        from hybridkg.kb.write.checking import check

        report = check(self._folder, full=full, repair=repair, progress=progress)
        if report.repaired:
            self.refresh()
        return report

    def dump(self, path: str | Path, text: str | Path | None = None, *, progress: Progress = SILENT) -> DumpReport:
        """Writes the graph to a file, and with `text` the documents to another, which `load` reads back.

        The format follows from the name: .nq, .trig, .nt or .ttl, plain or with .gz, .bz2, .xz; `-` is N-Quads on
        standard output. Quads come in the store's order, which follows from the quads alone. Both files are written
        whole or not at all.

        Raises:
            LoadError: the name of a file tells no format.
            UserError: the graph lies at an endpoint, or has named graphs and the format has none.
            StorageError: a file cannot be written.
        """
        from hybridkg.kb.write.dumping import dump

        return dump(self._snapshot, Path(path), None if text is None else Path(text), progress)

    def backup(self, folder: str | Path, *, progress: Progress = SILENT) -> BackupReport:
        """Copies the newest generation, beside writers, into a new or an empty folder, which opens as any other.

        Files are hard links on the same disk. What lies on a server is not in it, and the report says so.

        Raises:
            NotAKnowledgeBaseError: the folder is not empty.
            CorruptError: a file of the knowledge base is damaged.
            StorageError: the folder cannot be written; it is as it was before.
        """
        from hybridkg.kb.write.backups import backup

        return backup(self._folder, checked_path(folder), progress)

    @staticmethod
    def restore(folder: str | Path, path: str | Path, *, progress: Progress = SILENT) -> BackupReport:
        """Makes a knowledge base at `path`, a new or an empty folder, of a backup.

        Raises:
            NotAKnowledgeBaseError: `folder` is no backup, or `path` is not empty.
            CorruptError: a file of the backup is damaged; nothing has been made.
            StorageError: `path` cannot be written; it is as it was before.
        """
        from hybridkg.kb.write.backups import restore

        return restore(checked_path(folder), checked_path(path), progress)
