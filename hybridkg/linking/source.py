"""Link source of a MATCH: explicit links, a file, or the linker."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from hybridkg.config.model_parameters import find_file
from hybridkg.entities.extraction import TextDocuments
from hybridkg.entities.passage_texts import entity_texts
from hybridkg.entities.profile.profile import Profile
from hybridkg.errors import TextQueryError
from hybridkg.interfaces.graph_store import GraphStore
from hybridkg.interfaces.links import EntityLink, LinkedNode
from hybridkg.interfaces.text_index import Ids, TextIndex
from hybridkg.linking.given import links_from, parse_links
from hybridkg.linking.link_file import LinkFile, read_link_file
from hybridkg.linking.linker import NameLinker
from hybridkg.linking.names import NodeNames, name_fields
from hybridkg.linking.uri_index import Entities, UriIndex
from hybridkg.rdf.terms import Node

MAX_FILES = 8
"""Maximum number of cached link files."""

_EXCLUDED = re.compile(r'(?:^|(?<=[\s(]))(?:-|(?:AND\s+)?NOT\s+[+-]?)(?:[^\W\d]\w*(?:-\w+)*:)?(?:"[^"]*"|[^\s"()]+)')
_JOINED = re.compile(r'(?<=\s)(?:AND|OR)(?=[\s("])')
_FIELD = re.compile(r"(?:^|(?<=[\s(+]))[^\W\d]\w*(?:-\w+)*:(?=\S)")


class NamedEntities(Entities, Protocol):
    """NodeTable in both directions."""

    def nodes(self, ids: Ids) -> list[Node]:
        """Node of each id."""


class LinkSource:
    """Links for the texts of queries, over one state of a knowledge base; safe to use from many threads.

    Args:
        graph, entities, text, profile, documents: of the knowledge base.
        folders: searched for the files that queries name; nothing outside them is read.
        inverse: as for UriIndex.
    """

    def __init__(
        self,
        graph: GraphStore,
        entities: NamedEntities,
        text: TextIndex,
        profile: Profile,
        documents: TextDocuments | None = None,
        *,
        folders: Sequence[Path] = (Path(),),
        inverse: bool = False,
    ):
        self._graph, self._entities, self._text = graph, entities, text
        self._profile, self._documents, self._folders = profile, documents, folders
        self.uris = UriIndex(graph, entities, inverse=inverse)
        self._files: dict[Path, tuple[tuple[int, int], LinkFile]] = {}
        self._lock = threading.Lock()

    def linked(
        self, text: str, given: str | Iterable[object] | None = None, *, language: str = "", syntax: bool = True
    ) -> tuple[LinkedNode, ...]:
        """Nodes that a text mentions, with their fields in the graph.

        Args:
            text: of a MATCH.
            given: the links (for `parse_links` or `links_from`), or `@` and the name of a link file; None for the
                linker.
            language: tag of the text, for the linker.
            syntax: whether the text is a query string, whose excluded words mention nothing.

        Raises:
            TextQueryError: `given` is no list of links.
            LoadError: `given` names no file, or a malformed one; with the line.
            QueryLimitError: a linked node has too many neighbours.
        """
        return self.uris.linked(self.links(text, given, language=language, syntax=syntax))

    def links(
        self, text: str, given: str | Iterable[object] | None = None, *, language: str = "", syntax: bool = True
    ) -> tuple[EntityLink, ...]:
        """Links without the graph; arguments and errors as for `linked`."""
        if given is None:
            return self.linker.links(plain_words(text) if syntax else text, language)
        if not isinstance(given, str):
            return links_from(given)
        if given.startswith("@"):
            return self._file(given[1:]).of(text)
        return parse_links(given)

    @cached_property
    def linker(self) -> NameLinker:
        fields = name_fields(self._profile)
        profile = replace(self._profile, fields=fields) if fields else self._profile

        def texts(id: int) -> Sequence[tuple[str, str, str]]:
            node = self._entities.nodes(np.array([id], np.uint32))[0]
            return entity_texts(profile, self._graph, self._documents, node)

        return NameLinker(self._text, NodeNames(self._text, fields, self._entities.nodes, texts), self.uris)

    def _file(self, name: str) -> LinkFile:
        """A link file, read again after a change."""
        path = find_file(name, self._folders)
        if path is None:
            searched = " and ".join(repr(str(folder)) for folder in self._folders)
            raise TextQueryError(
                f"no file of links {name!r} in {searched}", hint="name it by a path inside one of these folders"
            )
        try:
            status = path.stat()
            stamp = (status.st_mtime_ns, status.st_size)
        except OSError:
            return read_link_file(path)  # raises the error
        cached = self._files.get(path)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        read = read_link_file(path)
        with self._lock:
            if len(self._files) >= MAX_FILES:
                self._files.clear()
            self._files[path] = (stamp, read)
        return read


def plain_words(text: str) -> str:
    """A query string without its excluded parts, field names, and AND and OR.

    >>> plain_words('+title:"red fish" -river -notes:"deep sea" net')
    '+"red fish"   net'
    """
    return _FIELD.sub("", _JOINED.sub("", _EXCLUDED.sub("", text)))
