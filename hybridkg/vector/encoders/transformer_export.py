"""Export of a sentence-transformers model into ONNX, with a comparison of both. Imports torch."""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from hybridkg.errors import EncoderError
from hybridkg.extras import needs_extra
from hybridkg.interfaces.encoder import ModelChoice, Texts
from hybridkg.storage.arrays import Writer
from hybridkg.vector.encoders.lsa import unit
from hybridkg.vector.encoders.model_folder import ModelFolder
from hybridkg.vector.encoders.static_folder import MODULE as STATIC
from hybridkg.vector.encoders.transformer import LAYOUT, MODEL, TOKENIZER, TransformerEncoder, opened_session

MAX_DIFFERENCE = 1e-4
"""Maximum difference between a number of a vector of the model and of its copy."""

KNOWN_MODULES = ("Transformer", "Pooling", "Dense", "Dropout", "LayerNorm", "Normalize")
"""Classes of sentence-transformers that the copy supports; the first one comes first."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")

PASSAGE_PROMPTS = ("document", "passage", "corpus")
"""Names of prompts; the library uses the first that a model has."""

OUT_OF_MEMORY = ("allocate memory", "not enough memory", "could not allocate", "bad_alloc")
"""Messages of torch, pybind and C++ in errors that are no MemoryError."""

OPSET = 17
"""ONNX opset; the first with layer normalisation."""

TEXTS_COMPARED = 8
"""Texts of the knowledge base that are compared, besides SAMPLE."""

SAMPLE = (
    "",
    "a",
    "Where is the Musée d'Orsay?  東京 \U0001f600 naïve\n\tx²",
    "many words " * 5,
    "a long text " * 3_000,
)


class _Whole(torch.nn.Module):  # type: ignore[misc]  # torch is not read by mypy
    """All modules of a model as one function of the token ids."""

    def __init__(self, model: Any, names: Sequence[str]):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *inputs: Any) -> Any:
        features = dict(zip(self.names, inputs, strict=True))
        for module in self.model:
            features = module(features)
        return features["sentence_embedding"]


def export(source: ModelFolder, folder: Path, name: str, choice: ModelChoice, texts: Texts) -> None:
    """Writes the copy of a model, its tokenizer and settings, into an empty folder.

    Raises:
        EncoderError: the model cannot be loaded, has parts that cannot be copied, or the copy gives other vectors.
    """
    with without_output(), as_encoder_error(source):
        model = loaded(source, "cpu", choice)
        inputs = inputs_of(source, model)
        query_prompt, passage_prompt = prompts(model, choice)
        tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
        tokenizer.no_padding()
        tokenizer.enable_truncation(model.max_seq_length, direction=model.tokenizer.truncation_side)
        tokenizer.save(str(folder / TOKENIZER), pretty=False)
        _trace(model, inputs, folder)
        about = {"query_prompt": query_prompt, "passage_prompt": passage_prompt, "max_length": model.max_seq_length}
        dimensions = int(model.encode(["a"]).shape[1])
        Writer(LAYOUT, folder).finish({"name": name, "dimensions": dimensions, **about})
        _compare(source, model, TransformerEncoder(folder), texts)


def loaded(source: ModelFolder, device: str, choice: ModelChoice) -> Any:
    """The model in float32, with `choice.max_length` tokens, or its own limit."""
    model = SentenceTransformer(
        str(source.path),
        device=device,
        local_files_only=True,
        model_kwargs={"attn_implementation": "eager", "dtype": torch.float32, "use_safetensors": True},
    ).eval()
    modules = [type(module).__name__ for module in model]
    unsupported = [name for name in modules if name not in KNOWN_MODULES]
    if unsupported or modules[0] != KNOWN_MODULES[0]:
        raise EncoderError(
            f"the model {source.name!r} has a module {unsupported[0]!r}, which cannot be copied"
            if unsupported
            else f"the model {source.name!r} begins with a module {modules[0]!r}, not with {KNOWN_MODULES[0]!r}",
            hint=f"a static model is read by model2vec:{source.path}"
            if modules[0] == STATIC
            else f"known modules: {', '.join(KNOWN_MODULES)}",
        )
    own = model.max_seq_length
    limit = choice.max_length or own
    if not limit or (own and limit > own):
        raise EncoderError(
            f"the model {source.name!r} reads at most {own:,} tokens" if own else f"{source.name!r} sets no max_length",
            hint="set max_length in the table [vectors] of kb.toml",
        )
    model.max_seq_length = limit
    return model


def prompts(model: Any, choice: ModelChoice) -> tuple[str, str]:
    """Prompts of queries and of passages: as set, or the library's defaults."""
    own = dict(model.prompts)
    default = own.get(model.default_prompt_name or "", "")
    passage = next((own[name] for name in PASSAGE_PROMPTS if name in own), default)
    return choice.query_prompt or own.get("query", default) or "", choice.passage_prompt or passage or ""


def inputs_of(source: ModelFolder, model: Any) -> list[str]:
    """Names of the inputs of a model, once its parts are known to be supported."""
    if model.truncate_dim:
        raise EncoderError(f"the model {source.name!r} truncates its vectors, which cannot be copied")
    if any(getattr(module, "include_prompt", True) is False for module in model):
        raise EncoderError(f"the model {source.name!r} excludes the prompt from its pooling, which cannot be copied")
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        raise EncoderError(f"the model {source.name!r} has no fast tokenizer, which queries need")
    features = model.preprocess(["a text"])
    return [name for name in INPUTS if name in features]


def _trace(model: Any, inputs: list[str], folder: Path) -> None:
    """Writes the optimised graph, and its weights next to it."""
    features = model.preprocess(["a text of some words"])
    raw = folder / "raw"
    raw.mkdir()
    torch.onnx.export(
        _Whole(model, inputs),
        tuple(features[name] for name in inputs),
        str(raw / MODEL),
        input_names=inputs,
        output_names=["vector"],
        dynamic_axes={name: {1: "tokens"} for name in inputs},
        opset_version=OPSET,
        dynamo=False,
    )
    opened_session(raw / MODEL, optimised=folder / MODEL)
    shutil.rmtree(raw)


def _compare(source: ModelFolder, model: Any, copy: TransformerEncoder, texts: Texts) -> None:
    own = [text for batch in islice(texts(), 1) for text in batch[:TEXTS_COMPARED]]
    sample = [*SAMPLE, *own]
    for prompt, encoded in ((copy.query_prompt, copy.queries), (copy.passage_prompt, copy.passages)):
        wanted = unit(np.asarray(model.encode(sample, prompt=prompt), np.float32))
        difference = float(np.abs(encoded(sample) - wanted).max())
        if not difference <= MAX_DIFFERENCE:
            raise EncoderError(
                f"the copy of the model {source.name!r} gives other vectors than the model: {difference:.2g} off",
                hint="this model cannot be used; please report it",
            )


@contextlib.contextmanager
def without_output() -> Iterator[None]:
    """Suppresses the warnings and progress bars of torch and transformers, and limits torch to one thread.

    Our own threads share the work: torch's wait for each other at every step, which takes ten times as long when other
    work shares the cores.
    """
    with needs_extra("models", "encoder 'sentence-transformers'"):
        from transformers.utils import logging as transformers_logging

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    shows_bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    previous = {name: logging.getLogger(name).level for name in ("transformers", "sentence_transformers", "torch.onnx")}
    for name in previous:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)
        for name, level in previous.items():
            logging.getLogger(name).setLevel(level)
        if shows_bars:
            transformers_logging.enable_progress_bar()


@contextlib.contextmanager
def as_encoder_error(source: ModelFolder, *, doing: str = "copied into ONNX") -> Iterator[None]:
    """Raises errors of the libraries as EncoderError."""
    try:
        yield
    except EncoderError:
        raise
    except (MemoryError, torch.OutOfMemoryError) as e:
        raise _out_of_memory(source, doing) from e
    except Exception as e:  # a model may fail in its own ways, in one of five libraries
        if any(sign in str(e).lower() for sign in OUT_OF_MEMORY):
            raise _out_of_memory(source, doing) from e
        first = next(iter(str(e).strip().splitlines()), "") or type(e).__name__
        raise EncoderError(f"the model {source.name!r} cannot be {doing}: {first}") from e


def _out_of_memory(source: ModelFolder, doing: str) -> EncoderError:
    return EncoderError(
        f"out of memory while the model {source.name!r} was being {doing}",
        hint="set a smaller batch or max_length in the table [vectors] of kb.toml, or take a smaller model",
    )
