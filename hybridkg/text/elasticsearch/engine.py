"""The engine of text indexes in Elasticsearch: each build makes a new index, named by an alias when it goes live."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from hybridkg.config.settings import Config
from hybridkg.errors import CorruptError, HybridkgError, TextServerError
from hybridkg.interfaces.progress import Progress
from hybridkg.interfaces.text_engine import NativeAnalysis, TextChange, TextSource
from hybridkg.interfaces.text_index import Ids
from hybridkg.remote.elasticsearch.names import alias_of, check_alias, owner_of
from hybridkg.remote.elasticsearch.orphans import FILE as LEFT
from hybridkg.remote.elasticsearch.orphans import Left
from hybridkg.remote.elasticsearch.server import Server
from hybridkg.text.elasticsearch.builder import ElasticTextBuilder, add_all
from hybridkg.text.elasticsearch.follower import ElasticTextFollower
from hybridkg.text.elasticsearch.header import IndexIdentity, identity_in
from hybridkg.text.elasticsearch.index import ElasticTextIndex

NAMES_AT_ONCE = 20
"""Names per request: they are in its URL, which has at most 4,096 bytes."""

UNIT_COSTS: Mapping[str, float] = {
    "us_per_text_question": 6_000.0,
    "us_per_text_scoring": 5_000.0,
    "us_per_posting": 1.0,
    "us_per_hit": 60.0,
    "us_per_scored_posting": 16.0,
    "us_per_scored_candidate": 0.4,
    "us_per_masked_candidate": 0.4,
    "us_per_look": 1_500.0,
}
"""A warm server on the same machine: Elasticsearch 8.19 with 512 MB and the graph of benchmarks/hybrid (25,000 papers,
1.7 million words), planner/calibration/remote_calibration.py. A request is a round trip or two. A posting passes
through a script, which bounds its score; a hit is JSON that is read, and scored again locally. A candidate is a number
in a `terms` filter; one that matches costs a scored posting as well, a row of JSON. A look includes the difference to a
complete relation: 4.8 ms for ten matches that are looked up at Oxigraph's server, where a complete relation of as many
takes 2.9 (benchmarks/planner/servers.py, tuning half)."""


class ElasticTextEngine:
    """The engine of one knowledge base, on the server that kb.toml, or the environment, names."""

    title = "Elasticsearch"
    is_remote = True
    section = "elasticsearch"
    unit_costs: ClassVar[Mapping[str, float]] = UNIT_COSTS
    vector_index = "elasticsearch"
    native_analysis: ClassVar[NativeAnalysis | None] = NativeAnalysis(
        'analysis = "native"', 'analysis = "hybridkg" in the table [elasticsearch]'
    )

    stores_filters = True
    follows_fields = False

    @classmethod
    def analyzes_natively(cls, config: Config) -> bool:
        return config.elasticsearch.analysis == "native"

    @classmethod
    def follows(cls, config: Config) -> bool:
        """As kb.toml says. With native analysis only the server has the terms, so nothing could check its counts."""
        return config.elasticsearch.follow == "commit" and not cls.analyzes_natively(config)

    def __init__(self, folder: Path, config: Config):
        self._server, self._config = Server(config.elasticsearch), config
        self._owner, self._alias = owner_of(folder), alias_of(folder, config.elasticsearch)
        self._built = ""

    def ready(self) -> None:
        """Checks that the server answers, is new enough, and has no other use for the alias.

        Raises:
            ConfigError: the alias is no valid name in Elasticsearch.
            TextServerError: a check fails.
        """
        check_alias(self._server, self._alias)

    def build(self, folder: Path, source: TextSource, progress: Progress) -> dict[str, int]:
        """Builds a new index after `ready`; a failure removes it again, if the server can be reached.

        Raises:
            TextServerError: the server does not answer or refuses.
        """
        extracted = source.extract()
        entities = len(extracted.nodes)
        builder = ElasticTextBuilder(
            self._server, folder, source.fields, entities, alias=self._alias, owner=self._owner,
            filters=source.filters, union_default_graph=source.union_default_graph,
        )  # fmt: skip
        self._built = builder.index
        try:
            progress.start("indexing text", entities)
            add_all(builder.add, extracted, len(source.fields), source.filters, progress)
            counts = builder.finish(entities)
        except BaseException:
            builder.abandon()
            raise
        progress.done(entities)
        return counts

    def follow(self, previous: Path, folder: Path, change: TextChange, progress: Progress) -> dict[str, int]:
        """Clones the earlier index, and replaces the changed documents; a failure removes the clone, if possible."""
        self.ready()
        follower = ElasticTextFollower(self._server, previous, folder, change, alias=self._alias, owner=self._owner)
        self._built = follower.index
        try:
            return follower.run(progress)
        except BaseException:
            follower.abandon()
            raise

    def open(self, folder: Path, rank: Callable[[Ids], Ids] | None = None, *, fresh: bool = True) -> ElasticTextIndex:
        """Opens the index of a folder; the first query sends the first request."""
        union = self._config.default_graph == "union"
        same_graph = identity_in(folder).union_default_graph == union
        return ElasticTextIndex(self._server, folder, rank, fresh=fresh and same_graph)

    def name_of(self, folder: Path) -> str:
        return f"elasticsearch index {_index_of(folder)}"

    def publish(self, folder: Path) -> None:
        """Moves the alias to the index of the folder, atomically."""
        identity = _identity(folder)
        if identity is None:
            return  # the index has been rebuilt by another engine
        actions = [
            {"remove": {"index": f"{identity.alias}-*", "alias": identity.alias, "must_exist": False}},
            {"add": {"index": identity.index, "alias": identity.alias, "is_write_index": False}},
        ]
        try:
            self._server.ask("moving the alias", lambda client: client.indices.update_aliases(actions=actions))
        except TextServerError as e:
            e.hint = (
                f"the new index is live and queries use it; only the alias {identity.alias!r}, by which other programs "
                f"find it, has not moved\n{e.hint}"
            )
            raise

    def discard(self) -> None:
        """Removes the index of an abandoned generation, if the server can be reached."""
        with suppress(HybridkgError):  # `prune` lists what cannot be removed now
            self._delete([self._built] if self._built else [], again=False)

    def unused(self, live: Sequence[Path]) -> list[dict[str, Any]]:
        """Indexes that this knowledge base made and no generation on disk names: name, created, documents, bytes."""
        live_names = set()
        for folder in live:
            with suppress(CorruptError):  # another engine's, or damaged
                live_names.add(_index_of(folder))
        indexes = self._server.ask(
            "listing indexes",
            lambda client: client.indices.get(index="*", expand_wildcards="open", filter_path="*.mappings._meta"),
        )
        unused = sorted(
            name
            for name, about in indexes.items()
            if name not in live_names and about["mappings"]["_meta"].get("owner") == self._owner
        )
        if not unused:
            return []
        stats: dict[str, Any] = {}
        for start in range(0, len(unused), NAMES_AT_ONCE):
            names = ",".join(unused[start : start + NAMES_AT_ONCE])
            stats |= self._server.ask("reading sizes", partial(_sizes_of, names))["indices"]
        return [
            {
                "name": name,
                "created": indexes[name]["mappings"]["_meta"].get("created", ""),
                "documents": int(stats.get(name, {}).get("primaries", {}).get("docs", {}).get("count", 0)),
                "bytes": int(stats.get(name, {}).get("primaries", {}).get("store", {}).get("size_in_bytes", 0)),
            }
            for name in unused
        ]

    def remove(self, names: Sequence[str]) -> None:
        self._delete(names, again=True)

    def _delete(self, names: Sequence[str], *, again: bool) -> None:
        for name in names:
            self._server.ask("removing an index", partial(_delete_index, name), again=again)


def _delete_index(name: str, client: Any) -> Any:
    # An earlier request that timed out here may still have removed the index there.
    return client.options(ignore_status=404).indices.delete(index=name, ignore_unavailable=True)


def _sizes_of(names: str, client: Any) -> Any:
    return client.indices.stats(index=names, metric=["store", "docs"])


def _identity(folder: Path) -> IndexIdentity | None:
    try:
        return identity_in(folder)
    except CorruptError:
        return None  # the embedded engine's, or damaged


def _index_of(folder: Path) -> str:
    return Left.read(folder).index if (folder / LEFT).exists() else identity_in(folder).index
