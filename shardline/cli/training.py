"""The demo's training: a small language model in numpy, on what the feed gives.

The model predicts a token from the one before it: an embedding, a matrix, a softmax.
It is small enough for seconds on one core, and its loss really falls.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from shardline.feed.feed import ShardFeed
from shardline.feed.samples import Batch
from shardline.run import training_run

Floats = npt.NDArray[np.float32]
_WIDTH = 32
_PAIRS = 256
_RATE = 0.3


class PairModel:
    """Predicts the next token from one token; learns by AdaGrad (Duchi et al. 2011).

    Args:
        num_ids: rows of the embedding.
        seed: of the first weights and of the pairs that each step looks at.
    """

    def __init__(self, num_ids: int, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self.inward = self._chance.normal(0, 0.1, (num_ids, _WIDTH)).astype(np.float32)
        self.outward = np.zeros((_WIDTH, num_ids), np.float32)
        self.bias = np.zeros(num_ids, np.float32)
        self._squares = [np.full_like(part, 1e-8) for part in self._weights]

    @property
    def _weights(self) -> tuple[Floats, Floats, Floats]:
        return self.inward, self.outward, self.bias

    def step(self, batch: Batch) -> float:
        """One step of gradient descent; gives the mean loss in nats a token.

        Looks at `_PAIRS` pairs of neighbours whose second token counts for the loss.
        """
        ids = batch.input_ids.astype(np.int64)
        counts = np.argwhere(batch.loss_mask[:, 1:])
        rows, places = self._chance.choice(counts, _PAIRS).T
        before, after = ids[rows, places], ids[rows, places + 1]
        hidden = self.inward[before]
        logits = hidden @ self.outward + self.bias
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log(chances[np.arange(_PAIRS), after] + 1e-9).mean()
        chances[np.arange(_PAIRS), after] -= 1
        inward = np.zeros_like(self.inward)
        np.add.at(inward, before, chances @ self.outward.T)
        self._learn(inward, hidden.T @ chances, chances.sum(axis=0))
        return float(loss)

    def _learn(self, *gradients: Floats) -> None:
        for weights, squares, gradient in zip(self._weights, self._squares, gradients, strict=True):
            squares += gradient**2
            weights -= _RATE * gradient / np.sqrt(squares)

    def save(self, path: Path) -> None:
        """Writes the weights."""
        np.savez(path, inward=self.inward, outward=self.outward, bias=self.bias)


def train(workspace: Path, version: str, checkpoint: Path) -> tuple[str, list[float]]:
    """Trains one epoch and records the checkpoint; gives the run's id and the losses."""
    with training_run(version, model="demo", seed=7, workspace=workspace) as run:
        model = PairModel(run.num_ids, seed=7)
        losses = [model.step(batch) for batch in ShardFeed(run, batch_size=16)]
        model.save(checkpoint)
        run.checkpoint(checkpoint)
    return run.id, losses
