"""Training of the encoder of a knowledge base from judged topics: DPR and ANCE.

The documents are the texts that `hybridkg index` encodes. The best epoch by MRR on held-out topics is kept; the result
is a folder that `--encoder` takes, and what an interruption leaves beside it is continued.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hybridkg.errors import IndexMissingError, ParameterError, StorageError, TrainingError
from hybridkg.evaluation.qrels import Qrels
from hybridkg.evaluation.ranking import rank
from hybridkg.evaluation.topics import Topics
from hybridkg.evaluation.tuning.collection import node_of
from hybridkg.evaluation.tuning.recipes import EncoderRecipe, recipe_of
from hybridkg.extras import needs_extra
from hybridkg.interfaces.encoder import ModelChoice
from hybridkg.interfaces.progress import SILENT, Progress
from hybridkg.interfaces.text_index import FieldChoice, TextQuery
from hybridkg.kb import KnowledgeBase
from hybridkg.kb.snapshot import snapshot_of
from hybridkg.rdf.terms import NamedNode, Node
from hybridkg.storage.whole_file import whole_file
from hybridkg.vector.encoders.model_folder import find_model
from hybridkg.vector.encoders.static import static_table
from hybridkg.vector.encoders.static_folder import is_static
from hybridkg.vector.training.pairs import Questions, TrainingPairs

if TYPE_CHECKING:
    from hybridkg.vector.training.bi_encoder import TrainableEncoder

FEATURE = "training an encoder"
REPORT = "training.json"
STATIC_BASE = "static"
DISTILLED, TRANSFORMER = "model2vec", "sentence-transformers"

HELD_OUT = 10
"""Without held-out topics, every tenth topic is held out, by the hash of its id."""

READ_AT_ONCE = 500


@dataclass(frozen=True)
class EncoderTraining:
    """A finished training.

    Args:
        folder: of the model.
        encoder: the value of `--encoder` that uses it.
        values: MRR on the held-out topics: of the base, and after each epoch.
        losses: mean loss of each epoch.
        best: the epoch whose model was written.
        topics: numbers of topics that were learned from, and held out.
        left_out: topics without a right document.
        unknown: candidates that are no entity with text.
        documents: their number.
        steps: of this call.
        seconds: of this call.
    """

    folder: Path
    encoder: str
    values: tuple[float, ...]
    losses: tuple[float, ...]
    best: int
    topics: tuple[int, int]
    left_out: int
    unknown: int
    documents: int
    steps: int
    seconds: float


class EncoderTuning:
    """Examples of a training, read from a knowledge base.

    Args:
        kb: an indexed knowledge base.
        topics: those that are learned from.
        qrels: judgements of all topics; grades of 1 and more are right.
        held_out: topics that choose the epoch; None holds out every tenth of `topics`.
        candidates: ids of the documents; None for all entities with text.
        progress: counts documents.

    Raises:
        IndexMissingError: there is no text index.
        ParameterError: a topic is learned from and held out, or no topic has a right document.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        topics: Topics,
        qrels: Qrels,
        *,
        held_out: Topics | None = None,
        candidates: Sequence[str] | None = None,
        progress: Progress = SILENT,
    ):
        self._kb, self._qrels, self._progress = kb, qrels, progress
        self._nodes, self._texts = self._read(candidates)
        self.unknown = len(set(candidates)) - len(self._nodes) if candidates is not None else 0
        if not self._nodes and candidates:
            raise ParameterError(
                f"no candidate is an entity with text; the first one is {candidates[0]!r}",
                hint="candidates are IRIs of entities, one a line",
            )
        self._number = {document_of(node): i for i, node in enumerate(self._nodes)}
        if held_out is not None:
            both = next((topic for topic in held_out.texts if topic in topics.texts), None)
            if both is not None:
                raise ParameterError(f"the topic {both!r} is learned from, and held out")
        judged = [self._with_rights(part) for part in (topics, held_out or Topics({}))]
        self.left_out = len(topics) + len(held_out or ()) - sum(map(len, judged))
        if held_out is None:
            judged = list(_split(judged[0]))
        self._training, self._held_out = judged
        for part, what in ((self._training, "to learn from"), (self._held_out, "that is held out")):
            if not len(part):
                example = next((d for own in qrels.grades.values() for d in own), "")
                hint = f"documents are IRIs of entities; the first one judged is {example!r}"
                if held_out is None and len(self._training):
                    hint = "give more topics, or the ones that are held out: --held-out FILE"
                raise ParameterError(
                    f"no topic {what} has a right document: one with text and a grade of 1 or more", hint=hint
                )

    def train(
        self, out: Path, *, base: str, method: str = "dpr", recipe: str = "small",
        fixed: dict[str, float | str] | None = None, seed: int = 0,
    ) -> EncoderTraining:  # fmt: skip
        """Trains, and writes the best model.

        Args:
            out: the folder of the model, which must not exist; OUT.training has the checkpoint until the end.
            base: `static`, `model2vec:MODEL` or a model of sentence-transformers.
            method: a name of METHODS.
            recipe: a name of RECIPES.
            fixed: settings that replace those of the recipe.
            seed: of all random draws.

        Raises:
            MissingExtraError: torch is not installed.
            TrainingError: no epoch is better than the base.
            ConfigError, EncoderError: the base cannot be used, or the checkpoint is that of another training.
            KeyboardInterrupt: the checkpoint is written; the same call continues.
        """
        if out.exists():
            raise ParameterError(f"{str(out)!r} exists already", hint="remove it, or write to another folder")
        with needs_extra("models", FEATURE):
            from hybridkg.vector.training.bi_encoder import BiEncoderTask, NegativeSettings
            from hybridkg.vector.training.trainer import train

        settings, encoder, kind = self._base(base, method, recipe, fixed or {})
        pairs = TrainingPairs(
            self._texts,
            self._questions(self._training, self._found(settings.depth) if settings.bm25 else None),
            self._questions(self._held_out, None),
        )
        task = BiEncoderTask(
            encoder, pairs, NegativeSettings(settings.mined, settings.bm25, settings.depth),
            batch=settings.batch, scale=settings.scale, progress=self._progress,
        )  # fmt: skip
        outcome = train(task, settings.optimizer(seed), folder=checkpoint_folder(out), progress=self._progress)
        if not outcome.best:
            after = max(outcome.values[1:])
            raise TrainingError(
                f"no epoch is better than the untrained model: MRR {outcome.values[0]:.4f}, at best {after:.4f} after",
                hint="more topics, another rate (--fixed rate=...), or hard negatives (--method ance) may help",
            )
        about = {
            "method": method, "base": base, "recipe": recipe, "settings": asdict(settings), "seed": seed,
            "topics": len(self._training), "held_out": len(self._held_out), "documents": len(self._texts),
            "mrr": list(outcome.values), "loss": list(outcome.losses), "epoch": outcome.best,
        }  # fmt: skip
        _write(out, encoder, about)
        return EncoderTraining(
            out, f"{kind}:{out.resolve()}", outcome.values, outcome.losses, outcome.best,
            (len(self._training), len(self._held_out)), self.left_out, self.unknown, len(self._texts),
            outcome.steps, outcome.seconds,
        )  # fmt: skip

    def _base(
        self, base: str, method: str, recipe: str, fixed: dict[str, float | str]
    ) -> tuple[EncoderRecipe, TrainableEncoder, str]:
        """Settings, the encoder before the training, and the kind of encoder that reads the result."""
        with needs_extra("models", FEATURE):
            from hybridkg.vector.training.static_trainable import StaticTrainable, table_of_words
            from hybridkg.vector.training.transformer_trainable import TransformerTrainable

        kind, colon, name = base.partition(":")
        if not colon or kind not in (DISTILLED, TRANSFORMER):
            kind, name = TRANSFORMER, base
        if base == STATIC_BASE:
            settings = recipe_of(recipe, method, fixed, is_static=True)
            table = table_of_words(lambda: iter([self._texts]), len(self._texts), self._progress)
            return settings, StaticTrainable(table, settings.tokens), DISTILLED
        if not name:
            raise ParameterError("the base has no model", hint=f"--base {STATIC_BASE}, or the folder of a model")
        choice = ModelChoice(name, device="cpu")
        model = find_model(choice)
        if kind == DISTILLED or is_static(model):
            settings = recipe_of(recipe, method, fixed, is_static=True)
            return settings, StaticTrainable(static_table(model, choice), settings.tokens), DISTILLED
        settings = recipe_of(recipe, method, fixed, is_static=False)
        return settings, TransformerTrainable(model, settings.tokens), TRANSFORMER

    def _read(self, candidates: Sequence[str] | None) -> tuple[list[Node], list[str]]:
        """The documents that have text, as `hybridkg index` encodes it."""
        state = snapshot_of(self._kb)
        if state.nodes is None:
            raise IndexMissingError("the knowledge base has no text index", hint="build it: hybridkg index KB")
        ids = np.arange(len(state.nodes), dtype=np.uint32)
        if candidates is not None:
            found = state.nodes.find_many([node_of(one) for one in dict.fromkeys(candidates)])
            ids = np.sort(found[found >= 0]).astype(np.uint32)
        fields = {name.strip() for name in state.config.encoding.fields.split(",")} - {""}
        nodes: list[Node] = []
        texts: list[str] = []
        self._progress.start("reading texts", len(ids))
        for first in range(0, len(ids), READ_AT_ONCE):
            some = state.nodes.nodes(ids[first : first + READ_AT_ONCE])
            for node, own in zip(some, state.texts(some), strict=True):
                values = [text for name, text, _ in own if not fields or name in fields]
                if values:
                    nodes.append(node)
                    texts.append("\n".join(values))
            self._progress.advance(len(some), len(some))
        self._progress.done(len(texts))
        return nodes, texts

    def _with_rights(self, topics: Topics) -> Topics:
        """The topics that have a right document."""
        return Topics({topic: text for topic, text in topics.texts.items() if len(self._rights(topic))})

    def _rights(self, topic: str) -> list[int]:
        return sorted({self._number[one] for one in self._qrels.relevant(topic) if one in self._number})

    def _questions(self, topics: Topics, given: dict[str, list[int]] | None) -> Questions:
        rights = [np.array(self._rights(topic), np.int64) for topic in topics.texts]
        wrong = []
        for topic, own in zip(topics.texts, rights, strict=True):
            if given is not None:
                wrong.append(np.array(sorted(set(given[topic]) - set(own.tolist())), np.int64))
        return Questions(list(topics.texts.values()), rights, wrong)

    def _found(self, depth: int) -> dict[str, list[int]]:
        """The first documents of BM25 for the topics that are learned from, in the encoded fields."""
        state = snapshot_of(self._kb)
        names = [name.strip() for name in state.config.encoding.fields.split(",") if name.strip()]
        query = TextQuery("", syntax=False, fields=tuple(FieldChoice(name) for name in names))
        run = rank(self._kb, self._training, query, k=depth)
        return {
            topic: [self._number[document] for document, _ in ranking if document in self._number]
            for topic, ranking in run.rankings.items()
        }


def checkpoint_folder(out: Path) -> Path:
    """The folder beside that of a model that has the checkpoint of its training until it ends."""
    return out.with_name(f"{out.name}.training")


def document_of(node: Node) -> str:
    """The id of an entity in judgements: an IRI, or `_:label`."""
    return node.value if isinstance(node, NamedNode) else f"_:{node.value}"


def _split(topics: Topics) -> Iterator[Topics]:
    """(training, held out): the topics whose hashes are lowest are held out, whatever other topics there are."""
    order = sorted(topics.texts, key=lambda topic: hashlib.sha256(topic.encode()).hexdigest())
    chosen = set(order[: max(1, len(order) // HELD_OUT)]) if len(order) > 1 else set()
    for is_held_out in (False, True):
        yield Topics({topic: text for topic, text in topics.texts.items() if (topic in chosen) == is_held_out})


def _write(out: Path, encoder: TrainableEncoder, about: dict[str, Any]) -> None:
    """Writes the model into a new folder, which gets its name when it is whole."""
    part = out.with_name(f".{out.name}.part")
    try:
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        encoder.save(part)
        with whole_file(part / REPORT) as file:
            file.write(json.dumps(about, indent=2) + "\n")
        part.rename(out)
    except OSError as e:
        raise StorageError(f"cannot write {str(out)!r}: {e.strerror or e}") from e
    finally:
        shutil.rmtree(part, ignore_errors=True)
