"""The modules of kernels that an installation compiles once, in the order in which a first load needs them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """A module of kernels.

    Args:
        name: what it does, for people.
        module: dotted name; importing it compiles its kernels.
        needs: the modules of KERNELS that it imports; they are compiled before, so that nothing is compiled twice.
    """

    name: str
    module: str
    needs: tuple[str, ...] = ()


_GRAPH, _TEXT, _VECTORS = "hybridkg.graph.build.", "hybridkg.text.index.", "hybridkg.vector.index."

_LOGARITHM = "hybridkg.text.models.logarithm_kernel"
_INTERNING = f"{_GRAPH}interning_kernel"
_PACKING = f"{_TEXT}codec.packing_kernel"
_RESTRICT, _LOOK_UP = f"{_TEXT}topk.restrict_kernel", f"{_TEXT}topk.word_lookup_kernel"
_FEW, _WORDS_TO_RANKS = f"{_TEXT}topk.small_kernel", f"{_TEXT}topk.single_call_kernel"

KERNELS: tuple[Kernel, ...] = (
    Kernel("words of texts", f"{_TEXT}build.words_kernel"),
    Kernel("strings of a graph", _INTERNING),
    Kernel("statements of a graph", f"{_GRAPH}nquads_kernel", (_INTERNING,)),
    Kernel("sorting of postings", f"{_TEXT}build.merging_kernel"),
    Kernel("packed postings", _PACKING),
    Kernel("edits of postings", f"{_TEXT}build.list_edits_kernel", (_PACKING,)),
    Kernel("sorting of terms", f"{_GRAPH}terms_kernel"),
    Kernel("neighbours in a graph", f"{_GRAPH}adjacency_kernel"),
    Kernel("joins in a graph", "hybridkg.graph.match.neighbours_kernel"),
    Kernel("texts of terms", "hybridkg.rdf.gather_kernel"),
    Kernel("groups of rows", "hybridkg.operators.columns_kernel"),
    Kernel("logarithm", _LOGARITHM),
    Kernel("ranking of few postings", _FEW, (_PACKING, _LOGARITHM)),
    Kernel("ranking with pruning", f"{_TEXT}topk.block_max_kernel", (_PACKING, _LOGARITHM)),
    Kernel("ranking of candidates", _RESTRICT, (_PACKING,)),
    Kernel("changed block maxima", f"{_TEXT}topk.changed_blocks_kernel", (_PACKING, _RESTRICT)),
    Kernel("look-up of words", _LOOK_UP),
    Kernel("ranking of rare words", _WORDS_TO_RANKS, (_PACKING, _LOGARITHM, _FEW, _LOOK_UP)),
    Kernel(
        "ranking of all postings",
        f"{_TEXT}topk.windowed_kernel",
        (_PACKING, _LOGARITHM, _FEW, _RESTRICT, _LOOK_UP, _WORDS_TO_RANKS),
    ),
    Kernel("phrases", f"{_TEXT}positions.phrases_kernel", (_PACKING,)),
    Kernel("codes of vectors", f"{_VECTORS}codes_kernel"),
    Kernel("products of vectors", f"{_VECTORS}similarity_kernel"),
    Kernel("tuning", "hybridkg.evaluation.tuning.kernels", (_LOGARITHM,)),
)
