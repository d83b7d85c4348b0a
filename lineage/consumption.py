"""What a run was given, as pure arithmetic over the order: no log of samples is kept.

The words: a *step* is a step of the run, counted from 0 through all its epochs and resumes; a
checkpoint of step S holds what steps 0 to S - 1 were given; a *position* is one of an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lineage.batches import Batches
from lineage.digest import Digest
from lineage.errors import ConfigError, IntegrityError
from lineage.order import Order
from lineage.permutation import Int64s


@dataclass(frozen=True, slots=True)
class DocumentSpan:
    """Where a document, or a part of it, lies in the token stream of one shard.

    Attributes:
        shard: its number over all segments of the version.
        start: first token, counted from the start of the shard.
        num_tokens: 1 or more.
    """

    shard: int
    start: int
    num_tokens: int

    def tokens_of_rows(self, sample_tokens: int) -> tuple[Int64s, Int64s]:
        """The rows of the shard that hold the span, and how many of its tokens each holds."""
        stop = self.start + self.num_tokens
        first, last = self.start // sample_tokens, (stop - 1) // sample_tokens
        rows = np.arange(first, last + 1, dtype=np.int64)
        begins = np.maximum(rows * sample_tokens, self.start)
        ends = np.minimum((rows + 1) * sample_tokens, stop)
        return rows, ends - begins


@dataclass(frozen=True, slots=True)
class Given:
    """How much of a document a run was given.

    Attributes:
        times: epochs in which any part of it was given.
        num_tokens: of the document, over all times.
        first_step: the first step that was given any of it; None where none was. The first
            checkpoint that holds it is the first one of a step above this.
    """

    times: int
    num_tokens: int
    first_step: int | None


@dataclass(frozen=True, slots=True)
class EpochRange:
    """The positions of one epoch that were given: start to stop - 1, from step `first_step` on."""

    epoch: int
    start: int
    stop: int
    first_step: int


@dataclass(frozen=True, slots=True)
class Consumption:
    """Consecutive steps of a run that read one version with one seed and one global batch.

    A run that is resumed, or that changes its batch, has several, in the order of its steps.

    Attributes:
        version: the digest of the version's content manifest.
        seed: the order's, 0 to 2**64 - 1.
        num_samples: of the version.
        global_batch: samples a step over all ranks.
        drop_last: whether epochs end with their last full batch.
        epoch: in which the first step began.
        position: in that epoch at which the first step began.
        first_step: the run's number of the first step.
        num_steps: how many steps were given.

    Raises:
        ConfigError: a number is negative, or an epoch has no step.
    """

    version: Digest
    seed: int
    num_samples: int
    global_batch: int
    drop_last: bool
    epoch: int
    position: int
    first_step: int
    num_steps: int

    def __post_init__(self) -> None:
        for name in ("seed", "epoch", "position", "first_step", "num_steps"):
            if getattr(self, name) < 0:
                raise ConfigError(f"a consumption's {name} is {getattr(self, name)}", "0 or more")
        self.batches.check_rank(0, 1)

    @property
    def batches(self) -> Batches:
        """How its epochs are cut."""
        return Batches(self.num_samples, self.global_batch, self.drop_last)

    def until(self, step: int) -> Consumption:
        """What of it lies before a step of the run: what a checkpoint of that step was given."""
        return replace(self, num_steps=max(0, min(self.num_steps, step - self.first_step)))

    def followed_by(self, later: Consumption) -> bool:
        """Whether another one begins where this one ends, on the same data and in its order."""
        end = self.first_step + self.num_steps
        *_, last = replace(self, num_steps=self.num_steps + 1).epochs()
        position = last.start + (end - last.first_step) * self.global_batch
        return later == replace(
            self,
            epoch=last.epoch,
            position=position,
            first_step=end,
            num_steps=later.num_steps,
        )

    def epochs(self) -> Iterator[EpochRange]:
        """The positions given, epoch by epoch."""
        batches, left, step = self.batches, self.num_steps, self.first_step
        epoch, start = self.epoch, self.position
        while left:
            steps = min(left, batches.steps_from(start))
            stop = min(start + steps * self.global_batch, self.num_samples)
            if steps:
                yield EpochRange(epoch, start, stop, step)
            left, step, epoch, start = left - steps, step + steps, epoch + 1, 0

    def num_samples_given(self) -> int:
        """Samples given, those of every epoch counted."""
        return sum(part.stop - part.start for part in self.epochs())

    def num_tokens_given(self, sample_tokens: int) -> int:
        """Tokens given, fill and holes included."""
        return self.num_samples_given() * sample_tokens

    def given(
        self, spans: Sequence[DocumentSpan], sample_tokens: int, order: Callable[[int], Order]
    ) -> Given:
        """How much of a document these steps were given, and when first.

        Args:
            spans: where the document lies in the version.
            sample_tokens: tokens in a sample of the version.
            order: the version's order under this seed, for an epoch.

        Raises:
            ConfigError: a span lies outside the version.
        """
        times, tokens, first_step = 0, 0, None
        rows = [(span.shard, *span.tokens_of_rows(sample_tokens)) for span in spans]
        for part in self.epochs() if rows else ():
            inverse = order(part.epoch)
            places = np.concatenate([inverse.positions(shard, row) for shard, row, _ in rows])
            counts = np.concatenate([count for _, _, count in rows])
            within = (places >= part.start) & (places < part.stop)
            if within.any():
                step = (int(places[within].min()) - part.start) // self.global_batch
                first_step = part.first_step + step if first_step is None else first_step
                times, tokens = times + 1, tokens + int(counts[within].sum())
        return Given(times, tokens, first_step)

    def to_json(self) -> dict[str, str | int | bool]:
        """The members of a consumption statement's predicate."""
        return {
            "version": str(self.version),
            "seed": self.seed,
            "num_samples": self.num_samples,
            "global_batch": self.global_batch,
            "drop_last": self.drop_last,
            "epoch": self.epoch,
            "position": self.position,
            "first_step": self.first_step,
            "num_steps": self.num_steps,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, str | int | bool]) -> Consumption:
        """Reads `to_json`, also after canonical JSON, where integers are decimal strings.

        Raises:
            IntegrityError: a member is missing, or is no consumption.
        """
        numbers = ("seed", "num_samples", "global_batch", "epoch", "position")
        steps = ("first_step", "num_steps")
        try:
            if not isinstance(value["drop_last"], bool):
                raise ValueError("drop_last is neither true nor false")
            return cls(
                version=Digest.parse(str(value["version"])),
                drop_last=value["drop_last"],
                **{name: int(value[name]) for name in numbers + steps},
            )
        except (KeyError, ValueError, ConfigError, IntegrityError) as error:
            raise IntegrityError(f"a consumption cannot be read: {error}") from None


def joined(consumptions: Sequence[Consumption]) -> list[Consumption]:
    """The same, those made one that follow one another: a checkpoint cuts no epoch in two."""
    whole: list[Consumption] = []
    for part in consumptions:
        if whole and whole[-1].followed_by(part):
            whole[-1] = replace(whole[-1], num_steps=whole[-1].num_steps + part.num_steps)
        else:
            whole.append(part)
    return whole


def history(consumptions: Sequence[Consumption], step: int) -> list[Consumption]:
    """What a checkpoint of a step was given, where a run was resumed from earlier checkpoints.

    A consumption that begins at step s takes the place of whatever was given from s on before: that
    work was lost with the crash. What was given at all is the sum over all of them instead.

    Args:
        consumptions: of one run, in the order in which they began.
        step: the checkpoint's.

    Returns:
        Consumptions that follow one another; those without a step are left out.
    """
    kept: list[Consumption] = []
    for consumption in consumptions:
        kept = [earlier.until(consumption.first_step) for earlier in kept]
        kept.append(consumption.until(step))
    return [consumption for consumption in kept if consumption.num_steps]
