"""The demo's training: a small language model in numpy, on what the feed gives.

The model predicts a token from the one before it: an embedding, a matrix, a softmax.
It is small enough for seconds on one core, and its loss really falls.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shardline.feed.feed import ShardFeed
from shardline.feed.samples import Batch
from shardline.run import training_run

_WIDTH = 32
_PAIRS = 512
_RATE = 1.0


class PairModel:
    """Predicts the next token from one token.

    Args:
        num_ids: rows of the embedding.
        seed: of the first weights and of the pairs that each step looks at.
    """

    def __init__(self, num_ids: int, seed: int) -> None:
        self._chance = np.random.default_rng(seed)
        self.inward = self._chance.normal(0, 0.1, (num_ids, _WIDTH)).astype(np.float32)
        self.outward = np.zeros((_WIDTH, num_ids), np.float32)

    def step(self, batch: Batch) -> float:
        """One step of gradient descent; gives the mean loss in nats a token.

        Looks at `_PAIRS` pairs of neighbours whose second token counts for the loss.
        """
        ids = batch.input_ids.astype(np.int64)
        counts = np.argwhere(batch.loss_mask[:, 1:])
        rows, places = self._chance.choice(counts, _PAIRS).T
        before, after = ids[rows, places], ids[rows, places + 1]
        hidden = self.inward[before]
        logits = hidden @ self.outward
        logits -= logits.max(axis=1, keepdims=True)
        chances = np.exp(logits)
        chances /= chances.sum(axis=1, keepdims=True)
        loss = -np.log(chances[np.arange(_PAIRS), after] + 1e-9).mean()
        chances[np.arange(_PAIRS), after] -= 1
        chances /= _PAIRS
        back = chances @ self.outward.T
        self.outward -= _RATE * (hidden.T @ chances) * _WIDTH
        np.add.at(self.inward, before, -_RATE * back * _WIDTH)
        return float(loss)

    def save(self, path: Path) -> None:
        """Writes the weights."""
        np.savez(path, inward=self.inward, outward=self.outward)


def train(workspace: Path, version: str, checkpoint: Path) -> tuple[str, list[float]]:
    """Trains one epoch and records the checkpoint; gives the run's id and the losses."""
    losses = []
    with training_run(version, model="demo", seed=7, workspace=workspace) as run:
        model = PairModel(run.num_ids, seed=7)
        for batch in ShardFeed(run, batch_size=16):
            losses.append(model.step(batch))
        model.save(checkpoint)
        run.checkpoint(checkpoint)
    return run.id, losses
