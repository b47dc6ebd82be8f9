"""How a knowledge base is changed: each call makes one new generation (hybridkg.writing), and moves on to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybridkg.errors import LoadError
from hybridkg.interfaces.progress import SILENT, Progress

if TYPE_CHECKING:
    import rdflib

    from hybridkg.entities.fields import Profile
    from hybridkg.interfaces.encoder import Agree
    from hybridkg.kb.snapshot import Snapshot
    from hybridkg.store.generations import Folder


class Writable:
    """Loading, indexing, moving and tidying up."""

    @property
    def _folder(self) -> Folder:
        """Where it is."""
        raise NotImplementedError

    @property
    def _snapshot(self) -> Snapshot:
        """The open state."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Moves on to the newest state."""
        raise NotImplementedError

    def _chosen_profile(self, name_or_path: str | Path | None) -> Profile:
        from hybridkg.entities.profile_reader import load_profile

        return load_profile(str(name_or_path or self._folder.config.profile))

    def profile(self, name_or_path: str | Path | None = None) -> Profile:
        """The profile that `index` would use: the one given, else the one in kb.toml; documents' fields included."""
        profile = self._chosen_profile(name_or_path)
        documents = self._snapshot.documents
        return profile.with_documents(documents.fields()) if documents else profile

    def load(
        self,
        *inputs: str | Path | rdflib.Graph,
        text: str | Path | Sequence[str | Path] = (),
        index: bool = False,
        profile: str | Path | None = None,
        progress: Progress = SILENT,
        agree: Agree | None = None,
    ) -> dict[str, Any]:
        """Adds RDF files, rdflib graphs and text documents: all of them, or nothing.

        Args:
            inputs: files of any supported format, or rdflib graphs.
            text: files of text documents that are not in the graph.
            index: build the text index in the same step; otherwise it is behind until the next `index`.
            profile: a name or a Turtle file, for the index.
            progress: told how far the work is.
            agree: whether many texts may be sent to the server of an encoder; None for no.

        Returns:
            Counts: statements read, triples new, documents, and `index` with those of `index()`.

        Raises:
            LoadError: nothing is given, or an input is malformed; names the file and the line.
            LockedError: somebody else is writing.
        """
        from hybridkg.writing import load, publish

        texts = [text] if isinstance(text, str | Path) else text
        if not inputs and not texts:
            raise LoadError("nothing to load", hint="give RDF files, rdflib graphs, or text=; index() builds the index")
        chosen = self._chosen_profile(profile) if index else None
        counts = load(self._folder, inputs, [Path(path) for path in texts], chosen, progress, agree)
        self._move_on(profile)
        if index:
            publish(self._folder)
            self._measure()
        return counts

    def index(
        self, profile: str | Path | None = None, *, progress: Progress = SILENT, agree: Agree | None = None
    ) -> dict[str, Any]:
        """Builds the text index anew from the graph and the documents.

        Args:
            profile: a name or a Turtle file; it becomes the profile of the knowledge base.
            progress: told how far the work is.
            agree: whether many texts may be sent to the server of an encoder; None for no.

        Returns:
            Counts: entities, fields, terms, postings, tokens, text_bytes; and `notes`, sentences about what of
            the profile found nothing.

        Raises:
            ProfileError: the profile is wrong; names the file and what to mend.
            LockedError: somebody else is writing.
        """
        from hybridkg.writing import index, publish

        counts = index(self._folder, self._chosen_profile(profile), progress, agree)
        self._move_on(profile)
        publish(self._folder)
        self._measure()
        return counts

    def migrate(self, to: str, *, progress: Progress = SILENT) -> dict[str, Any]:
        """Moves text and vectors to another place, with the same rows and scores; vectors are not encoded again.

        Args:
            to: `elasticsearch`, or `embedded` for back.
            progress: told how far the work is.

        Returns:
            What moved and what it cost (hybridkg.migrating).

        Raises:
            IndexMissingError: there is no index, or it is older than the graph.
            TextServerError: the server does not answer; nothing has changed.
            LockedError: somebody else is writing.
        """
        from hybridkg.migrating import migrate
        from hybridkg.writing import publish

        told = migrate(self._folder, to, progress)
        self.refresh()
        publish(self._folder)
        self._measure()
        return told

    def prune(self, remove: bool = False, *, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """What the text engine keeps outside the folder and no state on disk needs: leftovers of broken builds.

        Args:
            remove: whether to remove it, or only to tell.
            names: only those of these names.

        Returns:
            For each index `engine`, `name`, and what else is known of it.

        Raises:
            LockedError: somebody is writing.
            TextServerError: the server does not answer.
        """
        from hybridkg.pruning import prune

        return prune(self._folder, remove=remove, names=names)

    def _move_on(self, profile: str | Path | None) -> None:
        """Keeps the profile of what has been written, and opens it."""
        self._keep_profile(profile)
        self.refresh()

    def _measure(self) -> None:
        """Finds out what work costs on this machine, for the planner."""
        from hybridkg.measuring import measure

        measure(self._snapshot)

    def _keep_profile(self, name_or_path: str | Path | None) -> None:
        """Writes a profile that was asked for into kb.toml, so that the next index uses it as well."""
        if name_or_path is None:
            return
        path = Path(name_or_path)
        chosen = str(path.resolve()) if path.is_file() else str(name_or_path)
        self._folder.configure(replace(self._folder.config, profile=chosen))
