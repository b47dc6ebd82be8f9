"""The contrastive loss by hand, and the batches of DPR and ANCE."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="no model packages: torch")
pytest.importorskip("tokenizers", reason="no model packages: tokenizers")

import torch

from hybridkg.vector.encoders.static_folder import StaticTable
from hybridkg.vector.training.bi_encoder import BiEncoderTask, NegativeSettings
from hybridkg.vector.training.contrastive import contrastive_loss
from hybridkg.vector.training.pairs import Questions, TrainingPairs, reciprocal_rank
from hybridkg.vector.training.static_trainable import StaticTrainable


def vectors(*rows):
    return torch.tensor(rows, dtype=torch.float32)


NONE = torch.zeros((2, 2), dtype=torch.bool)


def test_the_loss_by_hand():
    """Scores [[2, 0], [0, 2]] with scale 2: each loss is ln(e^2 + e^0) - 2 = ln(1 + e^-2) = 0.126928."""
    loss = contrastive_loss(vectors([1, 0], [0, 1]), vectors([1, 0], [0, 1]), torch.tensor([0, 1]), NONE, 2.0)
    assert float(loss) == pytest.approx(0.126928, abs=1e-6)


def test_the_gradient_by_hand():
    """The loss of scores [s, 0] is ln(1 + e^-s), its slope in s -1/(1 + e^s); a question alone, at s = 2: -0.119203."""
    question = torch.tensor([[1.0, 0.0]], requires_grad=True)
    masked = torch.zeros((1, 2), dtype=torch.bool)
    contrastive_loss(question, vectors([1, 0], [0, 1]), torch.tensor([0]), masked, 2.0).backward()
    assert question.grad[0].tolist() == pytest.approx([-0.238406, 0.238406], abs=1e-6)


def test_a_masked_document_counts_for_nothing():
    """The second question is as before; the first has no other document left, so its loss is 0."""
    masked = torch.tensor([[False, True], [False, False]])
    loss = contrastive_loss(vectors([1, 0], [0, 1]), vectors([1, 0], [0, 1]), torch.tensor([0, 1]), masked, 2.0)
    assert float(loss) == pytest.approx(0.126928 / 2, abs=1e-6)


def table(words):
    """A table of words, each with an axis of its own."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token=words[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokens = np.eye(len(words), dtype=np.float32)
    tokens[0] = 0
    return StaticTable(tokenizer.to_str(), tokens, 0)


WORDS = ["[UNK]", *"abcdefgh"]
DOCUMENTS = ["a b", "a c", "b c", "d e", "e f", "f g", "g h", "a h"]


def numbers(*rows):
    return [np.array(row) for row in rows]


def task(mined=0, given=0, *, batch=2, depth=100):
    rights = numbers([0], [0, 1], [3], [4, 5], [6])
    own = Questions(["a", "a c", "d", "f", "h"], rights, numbers(*([2, 3],) * 5) if given else ())
    held_out = Questions(["b", "z", "g"], numbers([2], [7], [6]))
    pairs = TrainingPairs(DOCUMENTS, own, held_out)
    negatives = NegativeSettings(mined, given, depth)
    return BiEncoderTask(StaticTrainable(table(WORDS)), pairs, negatives, batch=batch)


def value(one, batch):
    return float(one.loss(batch).detach())


def drawn(one, epoch=0):
    return one.batches(epoch, np.random.default_rng([0, epoch]))


def test_each_question_comes_once_in_an_epoch_with_a_right_document():
    one = task()
    batches = drawn(one)
    assert one.steps == len(batches["question"]) == 3
    questions, right = batches["question"].ravel(), batches["right"].ravel()
    assert sorted(questions.tolist()) == [-1, 0, 1, 2, 3, 4]
    rights = [[0], [0, 1], [3], [4, 5], [6]]
    assert all(d in rights[q] for q, d in zip(questions, right, strict=True) if q >= 0)
    assert batches["wrong"].shape == (3, 2, 0)


def test_hard_negatives_are_wrong_ones_among_the_first_of_the_live_model():
    one = task(mined=2, depth=3)
    for epoch in range(4):
        batches = drawn(one, epoch)
        for question, wrong in zip(batches["question"].ravel(), batches["wrong"].reshape(-1, 2), strict=True):
            if question == 0:  # "a": documents 0, 1 and 7 have the word, and 0 is right
                assert sorted(wrong.tolist()) == [1, 7]
            if question == 1:  # "a c": document 1 has both words; 0 is right too
                assert not set(wrong.tolist()) & {0, 1}


def test_hard_negatives_follow_the_model():
    one = task(mined=2, depth=3)
    assert {1, 7} <= set(drawn(one)["wrong"].ravel().tolist())
    tokens = one.parameters()["tokens"]
    with torch.no_grad():
        tokens[1] = tokens[4]  # "a" now means what "d" means
    one.loss({"question": np.array([0]), "right": np.array([0]), "wrong": np.array([[1]])})  # as a step does
    batches = drawn(one)
    (of_d,) = (w for q, w in zip(batches["question"].ravel(), batches["wrong"].reshape(-1, 2), strict=True) if q == 2)
    assert set(of_d.tolist()) & {0, 1, 7}


def test_given_negatives_are_drawn_too_and_missing_ones_are_left_out():
    batches = drawn(task(mined=1, given=3))
    for question, wrong in zip(batches["question"].ravel(), batches["wrong"].reshape(-1, 4), strict=True):
        if question >= 0:
            assert sorted(wrong[1:].tolist()) == [-1, 2, 3]


def test_the_loss_of_a_batch_masks_what_is_right_for_another_question():
    """Questions 0 and 1 with targets 0 and 1: document 0 is right for both, so question 1 has no wrong one."""
    one = task()
    batch = {"question": np.array([0, 1]), "right": np.array([0, 1]), "wrong": np.zeros((2, 0), np.int64)}
    # "a" against "a b" and "a c": both cosines are 1 / sqrt 2, so the first loss is ln 2, and the second 0.
    assert value(one, batch) == pytest.approx(math.log(2) / 2, abs=1e-6)


def test_the_same_document_for_two_questions_is_one_column():
    one = task()
    batch = {"question": np.array([0, 1]), "right": np.array([0, 0]), "wrong": np.zeros((2, 0), np.int64)}
    assert value(one, batch) == pytest.approx(0.0, abs=1e-6)


def test_padding_is_left_out():
    one = task(mined=1)
    whole = {"question": np.array([2]), "right": np.array([3]), "wrong": np.array([[4]])}
    padded = {"question": np.array([2, -1]), "right": np.array([3, -1]), "wrong": np.array([[4], [-1]])}
    assert value(one, whole) == value(one, padded)


def test_the_measure_is_the_mean_reciprocal_rank_by_hand():
    """Of "b" 2 is the second; "z" is unknown, so all are equal and 7 is the eighth; of "g" 6 is the second."""
    assert task().evaluate() == pytest.approx((1 / 2 + 1 / 8 + 1 / 2) / 3)


@pytest.mark.parametrize("seed", range(5))
def test_the_reciprocal_rank_is_that_of_the_sorted_list(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, 20).astype(np.float32)
    rights = np.sort(rng.choice(20, 3, replace=False))
    order = sorted(range(20), key=lambda i: (-scores[i], i))
    assert reciprocal_rank(scores, rights) == 1 / (1 + min(order.index(i) for i in rights))


def test_the_key_depends_on_all_that_the_training_depends_on():
    keys = [task().key, task(mined=1).key, task(given=1).key, task(batch=3).key]
    assert len(set(keys)) == 4
    assert task().key == keys[0]
