"""The trainer: interrupted or not, the same bytes; the best epoch is kept."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="no model packages: torch")

import torch

from hybridkg.errors import ConfigError, StorageError, TrainingError
from hybridkg.vector.training.checkpoint import NAME, REMOVE
from hybridkg.vector.training.schedule import OptimizerSettings
from hybridkg.vector.training.trainer import train

STEPS, EPOCHS = 3, 3


class Line:
    """y = w x + b with dropout; parameter `unused` gets no gradient, and `rare` only from some batches."""

    key, steps = "line", STEPS

    def __init__(self, values=None):
        self.w, self.rare, self.unused = (torch.full((4,), 0.5, requires_grad=True) for _ in range(3))
        self.values = iter(values) if values is not None else None
        self.seen = []

    def parameters(self):
        return {"w": self.w, "rare": self.rare, "unused": self.unused}

    def batches(self, epoch, rng):
        return {"x": rng.integers(1, 9, (STEPS, 4)), "mined": np.full((STEPS, 1), int(self.w.sum() * 1000))}

    def loss(self, batch):
        self.seen.append((batch["x"].tolist(), batch["mined"].tolist()))
        x = torch.nn.functional.dropout(torch.from_numpy(batch["x"]).float(), 0.3)
        out = x @ self.w + (x @ self.rare if batch["x"][0] % 2 else 0.0)
        return (out - 3.0) ** 2

    def evaluate(self):
        return next(self.values) if self.values is not None else -float((self.w.sum() - 1.0) ** 2)

    def numbers(self):
        return [value.detach().numpy().tobytes() for value in self.parameters().values()]


class Interrupting:
    """A progress that interrupts after some steps in all."""

    def __init__(self, after):
        self.left = after

    def start(self, label, total):
        pass

    def advance(self, done, items):
        self.left -= items
        if self.left == 0:
            raise KeyboardInterrupt

    def done(self, items):
        pass


SETTINGS = OptimizerSettings(epochs=EPOCHS, rate=0.1, warmup=0.2, seed=7)


@pytest.mark.parametrize("after", range(1, STEPS * EPOCHS + 1))
def test_an_interrupted_training_goes_on_to_the_same_bytes(tmp_path, after):
    whole = Line()
    want = train(whole, SETTINGS, folder=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        train(Line(), SETTINGS, folder=tmp_path / "work", progress=Interrupting(after))
    resumed = Line()
    got = train(resumed, SETTINGS, folder=tmp_path / "work")
    assert resumed.numbers() == whole.numbers()
    assert (got.values, got.losses, got.best) == (want.values, want.losses, want.best)
    assert got.steps == want.steps - after
    assert resumed.seen == whole.seen[after:]
    assert not (tmp_path / "work").exists()


def test_many_interruptions_in_a_row_change_nothing(tmp_path):
    whole = Line()
    train(whole, SETTINGS)
    for _ in range(STEPS * EPOCHS):
        with pytest.raises(KeyboardInterrupt):
            train(Line(), SETTINGS, folder=tmp_path, progress=_NextStep())
    resumed = Line()
    train(resumed, SETTINGS, folder=tmp_path)
    assert resumed.numbers() == whole.numbers()


class _NextStep(Interrupting):
    """Interrupts after one step; those before an interruption are reported at once, and do not count."""

    def __init__(self):
        super().__init__(-1)

    def advance(self, done, items):
        self.left += 1
        if self.left == 1:
            raise KeyboardInterrupt


def test_a_place_that_cannot_be_written_to_is_an_error_before_the_first_step(tmp_path):
    (tmp_path / "file").write_text("")
    task = Line()
    with pytest.raises(StorageError, match="cannot write"):
        train(task, SETTINGS, folder=tmp_path / "file" / "work")
    assert task.seen == []


def test_a_checkpoint_that_is_cut_off_says_what_to_do(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        train(Line(), SETTINGS, folder=tmp_path, progress=Interrupting(1))
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ConfigError) as caught:
        train(Line(), SETTINGS, folder=tmp_path)
    assert caught.value.hint == REMOVE


def test_an_interruption_inside_a_loss_keeps_the_steps_before_it(tmp_path):
    class Stopping(Line):
        def loss(self, batch):
            if len(self.seen) == 4:
                raise KeyboardInterrupt
            return super().loss(batch)

    whole, resumed = Line(), Line()
    train(whole, SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        train(Stopping(), SETTINGS, folder=tmp_path)
    assert train(resumed, SETTINGS, folder=tmp_path).steps == STEPS * EPOCHS - 4
    assert resumed.numbers() == whole.numbers()


def test_another_seed_draws_other_batches():
    one, other = Line(), Line()
    train(one, SETTINGS)
    train(other, OptimizerSettings(epochs=EPOCHS, rate=0.1, seed=8))
    assert one.seen[0] != other.seen[0]


@pytest.mark.parametrize(("values", "best"), [([1, 2, 4, 3], 2), ([5, 2, 4, 3], 0), ([1, 2, 2, 2], 1)])
def test_the_first_best_epoch_is_kept_and_the_untrained_model_is_one_of_them(values, best):
    task, copies = Line(values), []
    evaluate = task.evaluate
    task.evaluate = lambda: (copies.append(task.numbers()), evaluate())[1]
    outcome = train(task, SETTINGS)
    assert (outcome.best, outcome.values) == (best, tuple(map(float, values)))
    assert task.numbers() == copies[best]


def test_the_first_update_is_adams_by_hand():
    """The first update is the rate times the sign of the gradient; the loss is (4w - 3)^2 = 1 at w = 0.5."""

    class One(Line):
        steps = 1

        def batches(self, epoch, rng):
            return {"x": np.array([[1, 1, 1, 1]])}

        def loss(self, batch):
            return (self.w.sum() - 3.0) ** 2

    task = One([0, 1])
    outcome = train(task, OptimizerSettings(epochs=1, rate=0.1, warmup=0.0, decay=0.0))
    assert outcome.losses == (1.0,)
    np.testing.assert_allclose(task.w.detach().numpy(), [0.6] * 4, rtol=1e-5)
    assert task.unused.tolist() == [0.5] * 4


def test_a_loss_that_is_no_number_is_an_error():
    class Broken(Line):
        def loss(self, batch):
            return super().loss(batch) * float("nan")

    with pytest.raises(TrainingError, match="the loss of step 1 is nan"):
        train(Broken(), SETTINGS)


def interrupted(folder):
    with pytest.raises(KeyboardInterrupt):
        train(Line(), SETTINGS, folder=folder, progress=Interrupting(4))
    return folder / NAME


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path):
    path = interrupted(tmp_path)
    with pytest.raises(ConfigError, match="other data or settings"):
        train(Line(), OptimizerSettings(epochs=EPOCHS, rate=0.2, seed=7), folder=tmp_path)
    other = Line()
    other.key = "another"
    with pytest.raises(ConfigError, match="other data or settings"):
        train(other, SETTINGS, folder=tmp_path)
    assert path.exists()


def test_a_damaged_checkpoint_is_an_error_or_the_same_checkpoint(tmp_path):
    path = interrupted(tmp_path)
    content = path.read_bytes()
    whole = Line()
    train(whole, SETTINGS)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(80):
        damaged = bytearray(content)
        for at in rng.integers(0, len(content), 2):
            damaged[at] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        task = Line()
        try:
            train(task, SETTINGS, folder=tmp_path)
            assert task.numbers() == whole.numbers()
        except ConfigError:
            refused += 1
    assert refused > 70


def test_torch_keeps_its_threads_and_random_numbers():
    threads, before = torch.get_num_threads(), torch.get_rng_state().tolist()
    train(Line(), SETTINGS)
    assert (torch.get_num_threads(), torch.get_rng_state().tolist()) == (threads, before)
